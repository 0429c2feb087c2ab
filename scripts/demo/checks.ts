/** The checks of the demo, as anybody would create them through the API. */
import type { TargetPorts } from './targets.ts';

interface DemoCheck {
  /** Of the routes of its type. */
  pathPart: string;
  body: { name: string } & Record<string, unknown>;
}

export const demoTag = 'demo';
export const privateSlug = 'demo-network';
export const dataCenter = 'eu-central-1';
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
  const common = {
    ...{ frequency: 0, frequencyOffset: 10, doubleCheck: false },
    ...{ tags: [demoTag], privateLocations: [privateSlug] },
  };
  /** Everybody is to see what a failure looks like. */
  const onPurpose = { tags: [demoTag, 'on-purpose'] };
  const everyMinute = { frequency: 1, frequencyOffset: 1 };
  const site = `http://127.0.0.1:${ports.http}`;
  const scripted = {
    ...everyMinute,
    environmentVariables: [
      { key: 'SHOP_URL', value: `${site}/shop` },
      { key: 'SERVICE_SECRET_COUPON', value: 'half-price-4711', secret: true },
    ],
  };
  const has = (source: string, target: string, comparison = 'EQUALS', property = '') => ({
    ...{ source, comparison, target },
    ...(property === '' ? {} : { property }),
  });
  const check = (pathPart: string, name: string, fields: Record<string, unknown>): DemoCheck => ({
    pathPart,
    body: { ...common, name, ...fields },
  });
  return [
    check('url', 'healthy website', {
      locations: [dataCenter],
      request: { url: `${site}/healthy`, assertions: [has('STATUS_CODE', '200')] },
    }),
    check('url', 'slow website', {
      ...{ ...onPurpose, degradedResponseTime: 200, maxResponseTime: 2000 },
      request: { url: `${site}/slow` },
    }),
    check('url', 'failing website', {
      ...onPurpose,
      retryStrategy: { type: 'FIXED', baseBackoffSeconds: 1, maxRetries: 1 },
      request: { url: `${site}/failing` },
    }),
    check('url', 'flapping website', {
      ...{ ...onPurpose, request: { url: `${site}/flapping` } },
      triggerIncident: {
        ...{ serviceId, severity: 'MAJOR', name: 'The website does not answer' },
        ...{ description: 'We are looking into it.', notifySubscribers: true },
      },
    }),
    check('tcp', 'echo server', {
      request: {
        ...{ hostname: '127.0.0.1', port: ports.tcp, data: 'hello' },
        assertions: [has('RESPONSE_DATA', 'hello', 'CONTAINS')],
      },
    }),
    check('dns', 'name server', {
      ...{ heartbeat: {}, script: '' },
      request: {
        ...{ query: 'shop.demo', recordType: 'A', nameServer: '127.0.0.1', port: ports.dns },
        assertions: [has('JSON_ANSWER', '192.0.2.10', 'EQUALS', '$.Answer[0].data')],
      },
    }),
    check('icmp', 'loopback ping', { request: { hostname: '127.0.0.1', pingCount: 3 } }),
    check('ssl', 'certificate (SSL)', {
      ...everyMinute,
      request: { sslConfig: { hostname: 'localhost', port: ports.tls, skipChainValidation: true } },
    }),
    check('grpc', 'health of a gRPC server', {
      request: { url: '127.0.0.1', port: ports.grpc, grpcConfig: { mode: 'HEALTH', tls: false } },
    }),
    check('traceroute', 'way to the echo server', {
      ...{ ...everyMinute, request: { url: '127.0.0.1', port: ports.tcp } },
    }),
    check('api', 'signed request (API)', {
      environmentVariables: [
        { key: 'SERVICE_SECRET_KEY', value: 'a-key-of-the-demo', secret: true },
      ],
      localSetupScript: signScript,
      request: {
        ...{ url: `${site}/shop/orders`, method: 'POST', bodyType: 'JSON' },
        body: '{"product": "chair", "note": "{{$UUID}}"}',
        assertions: [has('STATUS_CODE', '201'), has('JSON_BODY', 'chair', 'EQUALS', '$.product')],
      },
    }),
    check('multistep', 'order in two steps', { ...scripted, script: orderScript }),
    check('browser', browserName, { ...scripted, script: shopScript }),
    check('browser', brokenBrowserName, { ...scripted, ...onPurpose, script: checkoutScript }),
    {
      pathPart: 'heartbeat',
      body: {
        ...{ name: heartbeatName, tags: [demoTag] },
        heartbeat: { period: 30, periodUnit: 'seconds', grace: 10, graceUnit: 'seconds' },
      },
    },
  ];
}
