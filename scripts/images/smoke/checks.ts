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

/** The monitors. `hasIcmp`: whether echo requests are expected to work. */
export function monitorChecks(location: string, slowUrl: string, hasIcmp: boolean): SmokeCheck[] {
  const check = (path: string, request: object, more: object = {}): SmokeCheck => ({
    path,
    body: {
      ...{ name: path, frequency: 0, frequencyOffset: 10, doubleCheck: false },
      ...{ privateLocations: [location], request, ...more },
    },
  });
  const everyMinute = { frequency: 1, frequencyOffset: 1 };
  const sslConfig = {
    ...{ hostname: 'localhost', port: targetPorts.tls, skipChainValidation: true },
  };
  const grpcConfig = { mode: 'HEALTH', tls: false };
  const local = { nameServer: '127.0.0.1', port: targetPorts.dns };
  return [
    check('url', { url: shop }),
    check('url', { url: `${slowUrl}/${location}` }, { name: 'slow' }),
    check('tcp', { hostname: 'localhost', port: targetPorts.tcp, data: 'hello' }),
    check('traceroute', { url: '127.0.0.1', port: targetPorts.tcp }, { frequencyOffset: 30 }),
    check('ssl', { sslConfig }, everyMinute),
    check('grpc', { url: '127.0.0.1', port: targetPorts.grpc, grpcConfig }),
    check('dns', { query: 'shop.demo', recordType: 'A', ...local }, { heartbeat: {}, script: '' }),
    { ...check('icmp', { hostname: '127.0.0.1', pingCount: 2 }), endsInError: !hasIcmp },
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
  return `${multiStepScript}
test('the runtime is ${id}', () => {
  expect(process.version.split('.')[0]).toBe('${nodeJsVersion?.split('.')[0] ?? ''}');
  expect(require('uuid/package.json').version).toBe('${dependencies?.['uuid'] ?? ''}');
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
  const check = (path: string, name: string, more: object): SmokeCheck => ({
    path,
    body: { name, frequency: 1, doubleCheck: false, privateLocations: [location], ...more },
  });
  const suites = [
    plainSuite(browserScript),
    ...(hasPackageManagers ? managedSuites(multiStepScript) : []),
  ];
  const uploaded = await Promise.all(
    suites.map(async (suite) => {
      const codeBundlePath = await uploadSuite(suite, world);
      const { name, installCommand } = suite;
      const made = check('playwright', name, { codeBundlePath, installCommand });
      return { ...made, endsInError: !isTmpExec };
    }),
  );
  return [
    check('api', 'api', {
      localSetupScript: "request.headers['x-smoke'] = '1';",
      request: { method: 'GET', url: shop },
    }),
    ...runtimes.flatMap((runtimeId) => [
      {
        ...check('browser', `browser ${runtimeId}`, { runtimeId, script: browserScript }),
        hasVideo: true,
      },
      check('multistep', `multi-step ${runtimeId}`, { runtimeId, script: onRuntime(runtimeId) }),
    ]),
    ...uploaded,
  ];
}
