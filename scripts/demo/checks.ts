/** The checks of the demo, as anybody would create them through the API. */
import type { TargetPorts } from './targets.ts';

export interface DemoCheck {
  /** Of the routes of its type. */
  pathPart: string;
  body: { name: string } & Record<string, unknown>;
}

export const demoTag = 'demo';
export const privateSlug = 'demo-network';
export const dataCenter = 'eu-central-1';
/** Everybody is to see what a failure looks like. */
const onPurposeTag = 'on-purpose';
export const heartbeatName = 'nightly job (heartbeat)';
export const browserName = 'shop in a browser';
export const brokenBrowserName = 'checkout in a browser';

const shopScript = `
import { test, expect } from '@playwright/test';

test('a visitor finds the shop', async ({ page }) => {
  await page.goto(process.env.SHOP_URL);
  await expect(page.getByRole('heading', { name: 'Demo shop' })).toBeVisible();
  await page.getByRole('button', { name: 'Add to basket' }).click();
  await expect(page.getByTestId('basket')).toHaveText('1 item');
  await page.screenshot({ path: 'shop.png' });
});
`;

const checkoutScript = `
import { test, expect } from '@playwright/test';

test('a visitor pays', async ({ page }) => {
  await page.goto(process.env.SHOP_URL);
  await page.getByRole('button', { name: 'Add to basket' }).click();
  await page.getByRole('link', { name: 'Checkout' }).click();
  await expect(page.getByRole('heading')).toHaveText('Thank you', { timeout: 2000 });
});
`;

const orderScript = `
import { test, expect } from '@playwright/test';

test('an order', async ({ request }) => {
  const order = await test.step('place it', async () => {
    const response = await request.post(process.env.SHOP_URL + '/orders', {
      data: { product: 'lamp', coupon: process.env.SERVICE_SECRET_COUPON },
    });
    expect(response.status()).toBe(201);
    return response.json();
  });
  await test.step('read it back', async () => {
    const response = await request.get(process.env.SHOP_URL + '/orders/' + order.id);
    expect((await response.json()).product).toBe('lamp');
  });
});
`;

const signScript = `
const { createHmac } = require('node:crypto');
request.headers['x-signature'] = createHmac('sha256', process.env.SERVICE_SECRET_KEY)
  .update(request.body)
  .digest('hex');
`;

/** `serviceId` is what the flapping website reports to. */
export function demoChecks(ports: TargetPorts, serviceId: string): DemoCheck[] {
  const everyTenSeconds = { frequency: 0, frequencyOffset: 10 };
  const common = {
    ...everyTenSeconds,
    tags: [demoTag],
    privateLocations: [privateSlug],
    doubleCheck: false,
  };
  const website = (path: string) => ({ url: `http://127.0.0.1:${ports.http}${path}` });
  const scripted = {
    ...common,
    frequency: 1,
    frequencyOffset: 1,
    environmentVariables: [
      { key: 'SHOP_URL', value: website('/shop').url },
      { key: 'SERVICE_SECRET_COUPON', value: 'half-price-4711', secret: true },
    ],
  };
  const isOk = { source: 'STATUS_CODE', comparison: 'EQUALS', target: '200' };
  return [
    {
      pathPart: 'url',
      body: {
        ...common,
        name: 'healthy website',
        locations: [dataCenter],
        request: { ...website('/healthy'), assertions: [isOk] },
      },
    },
    {
      pathPart: 'url',
      body: {
        ...common,
        name: 'slow website',
        tags: [demoTag, onPurposeTag],
        degradedResponseTime: 200,
        maxResponseTime: 2000,
        request: website('/slow'),
      },
    },
    {
      pathPart: 'url',
      body: {
        ...common,
        name: 'failing website',
        tags: [demoTag, onPurposeTag],
        retryStrategy: { type: 'FIXED', baseBackoffSeconds: 1, maxRetries: 1 },
        request: website('/failing'),
      },
    },
    {
      pathPart: 'url',
      body: {
        ...common,
        name: 'flapping website',
        tags: [demoTag, onPurposeTag],
        request: website('/flapping'),
        triggerIncident: {
          serviceId,
          severity: 'MAJOR',
          name: 'The website does not answer',
          description: 'We are looking into it.',
          notifySubscribers: true,
        },
      },
    },
    {
      pathPart: 'tcp',
      body: {
        ...common,
        name: 'echo server',
        request: {
          hostname: '127.0.0.1',
          port: ports.tcp,
          data: 'hello',
          assertions: [{ source: 'RESPONSE_DATA', comparison: 'CONTAINS', target: 'hello' }],
        },
      },
    },
    {
      pathPart: 'dns',
      body: {
        ...common,
        name: 'name server',
        heartbeat: {},
        script: '',
        request: {
          query: 'shop.demo',
          recordType: 'A',
          nameServer: '127.0.0.1',
          port: ports.dns,
          assertions: [
            {
              source: 'JSON_ANSWER',
              property: '$.Answer[0].data',
              comparison: 'EQUALS',
              target: '192.0.2.10',
            },
          ],
        },
      },
    },
    {
      pathPart: 'icmp',
      body: { ...common, name: 'loopback ping', request: { hostname: '127.0.0.1', pingCount: 3 } },
    },
    {
      pathPart: 'traceroute',
      body: {
        ...common,
        name: 'way to the echo server',
        ...{ frequency: 1, frequencyOffset: 1 },
        request: { url: '127.0.0.1', port: ports.tcp },
      },
    },
    {
      pathPart: 'api',
      body: {
        ...common,
        name: 'signed request (API)',
        environmentVariables: [
          { key: 'SERVICE_SECRET_KEY', value: 'a-key-of-the-demo', secret: true },
        ],
        localSetupScript: signScript,
        request: {
          ...website('/shop/orders'),
          method: 'POST',
          bodyType: 'JSON',
          body: '{"product": "chair", "note": "{{$UUID}}"}',
          assertions: [
            { source: 'STATUS_CODE', comparison: 'EQUALS', target: '201' },
            {
              source: 'JSON_BODY',
              property: '$.product',
              comparison: 'EQUALS',
              target: 'chair',
            },
          ],
        },
      },
    },
    {
      pathPart: 'multistep',
      body: { ...scripted, name: 'order in two steps', script: orderScript },
    },
    { pathPart: 'browser', body: { ...scripted, name: browserName, script: shopScript } },
    {
      pathPart: 'browser',
      body: {
        ...scripted,
        tags: [demoTag, onPurposeTag],
        name: brokenBrowserName,
        script: checkoutScript,
      },
    },
    {
      pathPart: 'heartbeat',
      body: {
        name: heartbeatName,
        tags: [demoTag],
        heartbeat: { period: 30, periodUnit: 'seconds', grace: 10, graceUnit: 'seconds' },
      },
    },
  ];
}
