/** One check of every type that an image can run, as an operator would create it. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { targetPorts, type World } from './world.ts';

export interface SmokeCheck {
  path: string;
  body: { name: string } & Record<string, unknown>;
  /** ICMP where the container may not send echo requests. */
  endsInError?: boolean;
}

const shop = `http://127.0.0.1:${targetPorts.http}/shop`;

const everyTenSeconds = { frequency: 0, frequencyOffset: 10, doubleCheck: false };
const everyMinute = { frequency: 1, doubleCheck: false };

/** The monitors. `hasIcmp`: whether echo requests are expected to work. */
export function monitorChecks(location: string, slowUrl: string, hasIcmp: boolean): SmokeCheck[] {
  const common = { ...everyTenSeconds, privateLocations: [location] };
  const dns = {
    query: 'shop.demo',
    recordType: 'A',
    nameServer: '127.0.0.1',
    port: targetPorts.dns,
  };
  return [
    { path: 'url', body: { ...common, name: 'url', request: { url: shop } } },
    {
      path: 'url',
      body: { ...common, name: 'slow', request: { url: `${slowUrl}/${location}` } },
    },
    {
      path: 'tcp',
      body: {
        ...common,
        name: 'tcp',
        request: { hostname: 'localhost', port: targetPorts.tcp, data: 'hello' },
      },
    },
    { path: 'dns', body: { ...common, name: 'dns', heartbeat: {}, script: '', request: dns } },
    {
      path: 'icmp',
      body: { ...common, name: 'icmp', request: { hostname: '127.0.0.1', pingCount: 2 } },
      endsInError: !hasIcmp,
    },
  ];
}

const browserScript = `
import { test, expect } from '@playwright/test';
test('a visitor finds the shop', async ({ page }) => {
  await page.goto('${shop}');
  await page.getByRole('button', { name: 'Add to basket' }).click();
  await expect(page.getByTestId('basket')).toHaveText('1 item');
  await page.screenshot({ path: 'shop.png' });
});`;

const multiStepScript = `
import { test, expect } from '@playwright/test';
test('the shop answers', async ({ request }) => {
  expect((await request.get('${shop}')).status()).toBe(200);
});`;

/** A Playwright suite; the packages of the image stand in for those that an installation would bring. */
async function uploadSuite({ baseUrl, apiKey }: World): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'smoke-suite-'));
  try {
    writeFileSync(join(folder, 'package.json'), '{"name":"suite","private":true}');
    writeFileSync(
      join(folder, 'playwright.config.js'),
      'module.exports = { testDir: ".", use: { video: "on" } };',
    );
    writeFileSync(join(folder, 'shop.spec.js'), browserScript);
    const bundle = join(folder, 'suite.tgz');
    const files = ['package.json', 'playwright.config.js', 'shop.spec.js'];
    execFileSync('tar', ['czf', bundle, '-C', folder, ...files]);
    const response = await fetch(`${baseUrl}/v1/code-bundles`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/gzip' },
      body: readFileSync(bundle),
    });
    if (!response.ok) throw new Error(`the suite was refused: ${await response.text()}`);
    return ((await response.json()) as { codeBundlePath: string }).codeBundlePath;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What needs the full image: code, browsers, and every runtime that it carries. */
export async function codeChecks(
  location: string,
  world: World,
  runtimes: readonly string[],
): Promise<SmokeCheck[]> {
  const common = { ...everyMinute, privateLocations: [location] };
  const codeBundlePath = await uploadSuite(world);
  return [
    {
      path: 'api',
      body: {
        ...common,
        name: 'api',
        localSetupScript: "request.headers['x-smoke'] = '1';",
        request: { method: 'GET', url: shop },
      },
    },
    ...runtimes.flatMap((runtimeId) => [
      {
        path: 'browser',
        body: { ...common, name: `browser ${runtimeId}`, runtimeId, script: browserScript },
      },
      {
        path: 'multistep',
        body: { ...common, name: `multi-step ${runtimeId}`, runtimeId, script: multiStepScript },
      },
    ]),
    {
      path: 'playwright',
      body: {
        ...common,
        name: 'suite',
        codeBundlePath,
        installCommand: 'ln -s /opt/monitor-agent/node_modules node_modules',
      },
    },
  ];
}
