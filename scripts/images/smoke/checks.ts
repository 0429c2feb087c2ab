/** One check of every type that an image can run, as an operator would create it. */
import { runtimes as runtimeCatalogue } from '@monitor/shared/contract/runtime-catalogue.ts';
import { managedSuites, plainSuite, uploadSuite } from './suites.ts';
import { targetPorts, type World } from './world.ts';

export interface SmokeCheck {
  path: string;
  body: { name: string } & Record<string, unknown>;
  /** ICMP where the container may not send echo requests, suites where `/tmp` is noexec. */
  endsInError?: boolean;
  hasVideo?: boolean;
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
test.use({ video: 'on' });
test('a visitor finds the shop', async ({ page }) => {
  await page.goto('${shop}');
  await page.getByRole('button', { name: 'Add to basket' }).click();
  await expect(page.getByTestId('basket')).toHaveText('1 item');
  await page.screenshot({ path: 'shop.png' });
});`;

/** What an image carries for code. */
export interface CodeOfImage {
  runtimes: readonly string[];
  /** Besides npm, with compilers. */
  hasPackageManagers: boolean;
}

const multiStepScript = `
import { test, expect } from '@playwright/test';
test('the shop answers', async ({ request }) => {
  expect((await request.get('${shop}')).status()).toBe(200);
});`;

/** Proves besides that the Node and the packages are those of the runtime. */
function onRuntime(id: string): string {
  const { nodeJsVersion, dependencies } = runtimeCatalogue.find(({ name }) => name === id) ?? {};
  const uuid = dependencies?.['uuid'] ?? '';
  return `${multiStepScript}
test('the runtime is ${id}', () => {
  expect(process.version.split('.')[0]).toBe('${nodeJsVersion?.split('.')[0] ?? ''}');
  expect(require('uuid/package.json').version).toBe('${uuid}');
  expect(require('lodash').chunk([1, 2, 3], 2)).toEqual([[1, 2], [3]]);
});`;
}

/** What needs the full image: code, browsers, and every runtime that it carries. */
export async function codeChecks(
  location: string,
  world: World,
  { runtimes, hasPackageManagers }: CodeOfImage,
  isTmpExec: boolean,
): Promise<SmokeCheck[]> {
  const common = { ...everyMinute, privateLocations: [location] };
  const { registryUrl, playwrightVersion } = world;
  const suites = [
    plainSuite(browserScript),
    ...(hasPackageManagers ? managedSuites(multiStepScript, registryUrl, playwrightVersion) : []),
  ];
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
        hasVideo: true,
      },
      {
        path: 'multistep',
        body: {
          ...common,
          name: `multi-step ${runtimeId}`,
          runtimeId,
          script: onRuntime(runtimeId),
        },
      },
    ]),
    ...(await Promise.all(
      suites.map(async (suite) => ({
        path: 'playwright',
        body: {
          ...common,
          name: suite.name,
          codeBundlePath: await uploadSuite(suite, world),
          installCommand: suite.installCommand,
        },
        endsInError: !isTmpExec,
      })),
    )),
  ];
}
