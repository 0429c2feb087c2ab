/** The command line that teams bring runs checks of a project and stored checks, and waits for their results. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { promisify, stripVTControlCharacters } from 'node:util';
import { openTarget, System, temporaryFolder } from '../support/system.ts';

const versions = ['8.23.2', '9.5.0'];
const checks = 20;

const { version: playwright } = JSON.parse(
  readFileSync(
    join(import.meta.dirname, '../../node_modules/playwright-core/package.json'),
    'utf8',
  ),
) as { version: string };

/** As new projects of these clients are: the address of the site stands in the configuration of the client. */
const configOf = (url: string): string => `const { defineConfig } = require('checkly');
module.exports = defineConfig({
  projectName: 'Shop', logicalId: 'shop', repoUrl: 'https://git.example/shop',
  checks: { checkMatch: 'checks/**/*.check.js', playwrightConfigPath: './playwright.config.ts',
    playwrightConfig: { use: { baseURL: '${url}' } }, browserChecks: { testMatch: 'checks/**/*.spec.js' } },
});
`;

const checksOf = (url: string): string => `
const { UrlMonitor, ApiCheck, CheckGroupV2, AssertionBuilder } = require('checkly/constructs');
const group = new CheckGroupV2('g', { name: 'Group', environmentVariables: [{ key: 'A', value: 'b' }] });
for (let i = 0; i < ${checks - 1}; i += 1)
  new UrlMonitor('u' + i, { name: 'Url ' + i, request: { url: '${url}/ok' } });
new ApiCheck('api', {
  name: 'Orders', group, setupScript: { content: "console.log('set up with', process.env.A)" },
  request: { method: 'GET', url: '${url}/bad', assertions: [AssertionBuilder.statusCode().equals(200)] },
});
`;

const home = `const { test, expect } = require('@playwright/test');
test('home', async ({ page }) => { expect((await page.goto('/ok')).status()).toBe(200); });
`;

const suite = `import { test, expect } from '@playwright/test';
test('adds', () => { console.log('in the test'); expect(1 + 1).toBe(2); });
test('fails', () => { expect(1 + 1).toBe(3); });
`;

interface Ran {
  code: number;
  text: string;
}

async function setUp(folder: string, version: string, url: string): Promise<string> {
  const project = join(folder, 'project');
  for (const below of ['checks', 'tests']) mkdirSync(join(project, below), { recursive: true });
  const write = (name: string, content: string): void => {
    writeFileSync(join(project, name), content);
  };
  const devDependencies = { checkly: version, '@playwright/test': playwright };
  write('package.json', JSON.stringify({ name: 'shop', version: '1.0.0', devDependencies }));
  write('checkly.config.js', configOf(url));
  write('checks/home.spec.js', home);
  write('checks/web.check.js', checksOf(url));
  write(
    'playwright.config.ts',
    "import { defineConfig } from '@playwright/test';\nexport default defineConfig({ testDir: './tests', projects: [{ name: 'chromium' }] });\n",
  );
  write('tests/shop.spec.ts', suite);
  await promisify(execFile)('npm', ['install', '--no-audit', '--no-fund'], {
    ...{ cwd: project, env: { ...process.env, PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD: '1' } },
  });
  return project;
}

for (const version of versions) {
  test(`checkly ${version} tests and triggers checks, and sees their results`, async () => {
    using folder = temporaryFolder();
    await using target = await openTarget();
    await using system = await System.start(folder.path);
    const key = await system.makeLocation('office');
    // Suites install their packages as npm does here.
    const { NODE_EXTRA_CA_CERTS: authorities } = process.env;
    await using agent = system.startAgent(
      'office',
      key,
      authorities === undefined ? {} : { NODE_EXTRA_CA_CERTS: authorities },
    );
    await agent.log('checked in');
    await system.api('POST', '/v1/checks/url', {
      ...{ name: 'stored', tags: ['web'], privateLocations: ['office'], frequency: 10 },
      request: { url: `${target.url}/ok` },
    });
    const project = await setUp(folder.path, version, target.url);
    const settings = {
      ...{ CHECKLY_ENV: 'local', CHECKLY_API_URL: system.baseUrl },
      ...{ CHECKLY_MQTT_URL: system.baseUrl.replace('http', 'ws') },
      ...{ CHECKLY_API_KEY: system.apiKey, CHECKLY_ACCOUNT_ID: system.accountId },
      ...{ CHECKLY_REPO_SHA: 'f00d', CHECKLY_REPO_BRANCH: 'main', CI: 'true' },
    };
    const program = join(project, 'node_modules', '.bin', 'checkly');
    const run = (...words: string[]): Promise<Ran> =>
      new Promise((resolve) => {
        const environment = { ...process.env, ...settings };
        const options = { cwd: project, env: environment, maxBuffer: 16_777_216 };
        const child = execFile(process.execPath, [program, ...words], options, (_, out, err) => {
          resolve({ code: child.exitCode ?? 0, text: stripVTControlCharacters(out + err) });
        });
      });
    const office = ['--private-location', 'office', '--record'];

    const triggered = await run('trigger', ...office, '--tags', 'web', '--verbose');
    assert.match(triggered.text, /1 passed, 1 total/);
    assert.equal(triggered.code, 0);
    const none = await run('trigger', ...office, '--tags', 'none', '--fail-on-no-matching');
    assert.match(none.text, /No matching checks were found/);

    const tested = await run('test', ...office);
    assert.equal(tested.code, 1, tested.text);
    // The suite is one more check, and fails too.
    const total = new RegExp(`2 failed, ${checks} passed, ${checks + 2} total`);
    assert.match(tested.text, total);
    assert.match(tested.text, /status code equals target "200". Received: 500/);
    assert.match(tested.text, /set up with b/);
    assert.match(tested.text, /✔ home\.spec\.js/);

    const suiteRun = await run('pw-test', ...office);
    assert.match(suiteRun.text, /\[[\d:.]+\] \[test\] in the test/, suiteRun.text);
    assert.match(suiteRun.text, /1 of 2 tests failed/);

    const list = await run('test-sessions', 'list', '--output', 'json');
    const sessions = await system.api<{ entries: { id: string; provider: string }[] }>(
      'GET',
      '/v1/test-sessions',
    );
    assert.equal(sessions.entries.length, 3);
    for (const { id } of sessions.entries) assert.ok(list.text.includes(id), list.text);
    const { id } = sessions.entries.find(({ provider }) => provider === 'API') ?? { id: '' };
    const shown = await run('test-sessions', 'get', id, '--watch');
    assert.match(shown.text, /branch: main/);
    const { results } = await system.api<{
      results: { testSessionResultId: string; hasFailures: boolean }[];
    }>('GET', `/v1/test-sessions/${id}`);
    const failed = results.find(({ hasFailures }) => hasFailures)?.testSessionResultId ?? '';
    const result = await run('test-sessions', 'get', id, '--result', failed);
    assert.match(result.text, /Result type: +FINAL/);
  });
}
