// Own process: it starts browsers.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import test from 'node:test';
import yauzl from 'yauzl';
import { systemClock } from '@monitor/shared/clock.ts';
import { playwrightCheckResult } from '@monitor/shared/contract/check-result.ts';
import { AgentError } from '../../../../agent/errors.ts';
import { processesWith } from '../../../../agent/runners/playwright/processes-of-run.ts';
import { runPlaywright } from '../../../../agent/runners/playwright/run-playwright.ts';
import { foundBrowser } from '../../../support/found-browser.ts';
import { proxyServer } from '../../../support/proxy-server.ts';
import { installCommand, openSuiteWorld, suiteOf } from '../../../support/suite-context.ts';
import { httpServer } from '../../../support/servers.ts';

const manifest = JSON.stringify({ name: 'suite', private: true });

const shop = (seen: (url: string) => void = () => undefined) =>
  httpServer((request, response) => {
    seen(request.url ?? '');
    response.setHeader('content-type', 'text/html');
    response.end('<title>shop</title><h1>shop</h1>');
  });

function namesInZip(file: string): Promise<string[]> {
  return new Promise((resolve, reject) => {
    yauzl.open(file, { lazyEntries: false }, (error, zip) => {
      if (error) {
        reject(error);
        return;
      }
      const names: string[] = [];
      zip.on('entry', (entry: { fileName: string }) => names.push(entry.fileName));
      zip.on('end', () => {
        resolve(names);
      });
      zip.on('error', reject);
    });
  });
}

test('a suite runs with the browser of this machine, every test is listed, and no file of the machine is handed out', async () => {
  let visits = 0;
  await using target = await shop((url) => {
    if (url !== '/favicon.ico') visits += 1;
  });
  await using world = await openSuiteWorld();
  const bundle = await world.bundle({
    'package.json': manifest,
    'playwright.config.ts': `
      import { defineConfig } from '@playwright/test';
      export default defineConfig({
        retries: 1,
        reporter: [['list'], ['json', { outputFile: 'own-report.json' }]],
        use: { baseURL: process.env.SHOP_URL, screenshot: 'only-on-failure', video: 'on' },
        projects: [{ name: 'all' }, { name: 'smoke', grep: /@smoke/ }],
      });`,
    'tests/shop.spec.ts': `
      import { test, expect } from '@playwright/test';
      test('opens', { tag: '@smoke' }, async ({ page }) => {
        await test.step('go to the shop', () => page.goto('/'));
        await expect(page).toHaveTitle('shop');
      });
      test('sells', async ({ page }) => {
        await page.goto('/');
        await expect(page.locator('h1')).toHaveText('bank', { timeout: 200 });
      });
      test('wavers', async ({ request }, info) => { expect(info.retry).toBe(1); });
      test('reaches out', ({}, info) => {
        const fs = require('fs');
        fs.symlinkSync('/etc/hostname', info.outputPath('link.txt'));
        fs.writeFileSync(info.outputPath('own.txt'), 'mine');
        for (const path of ['/etc/hostname', info.outputPath('link.txt'), info.outputPath('own.txt')])
          info.attachments.push({ name: 'x', contentType: 'text/plain', path });
      });
      test.skip('sleeps', () => {});
      test.afterAll(() => { if (!require('fs').existsSync('package.json')) throw new Error('cwd'); });`,
  });
  const context = world.context(bundle, {
    scripting: { browser: foundBrowser },
    environment: [{ key: 'SHOP_URL', value: target.url, secret: false }],
  });
  const seen = await runPlaywright(suiteOf({ browsers: ['chromium'], installCommand }), context);
  const log = context.logged.join('\n');
  assert.equal(seen.failure?.code, 'TESTS_FAILED', log);
  assert.match(
    seen.failure.message,
    /^1 of 6 tests failed: sells \[all\]: expect\(locator\('h1'\)\)\.toHaveText: expected "bank", received/,
  );
  assert.equal(seen.failure.isNetworkError, false);
  assert.equal(seen.errorMessages?.length, 1);
  assert.doesNotMatch(seen.errorMessages[0] ?? '', /\u001b/);

  const details = playwrightCheckResult.parse(seen.details?.playwrightCheckResult);
  const { durationMs, installMs, bytes, browserStartMs, ...numbers } = details.metrics;
  const [page, ...otherPages] = details.pages ?? [];
  assert.deepEqual(
    [page?.url, page?.visits, page?.requests, page?.bytes, otherPages],
    [`${target.url}/`, 4, numbers.requests, bytes, []],
  );
  assert.ok((bytes ?? 0) >= 4 * 40 && (browserStartMs ?? 0) > 0);
  assert.ok(page?.webVitals.TTFB !== undefined && page.webVitals.FCP !== undefined);
  assert.deepEqual(numbers, {
    requests: visits,
    ...{ total: 6, passed: 3, failed: 1, flaky: 1, skipped: 1, retries: 2, cacheHit: false },
  });
  assert.ok(durationMs > 0 && installMs > 0);
  assert.deepEqual(
    details.tests.map(({ title, project, outcome, retries }) => [title, project, outcome, retries]),
    [
      ['sells', 'all', 'unexpected', 1],
      ['wavers', 'all', 'flaky', 1],
      ['opens', 'all', 'expected', 0],
      ['reaches out', 'all', 'expected', 0],
      ['opens', 'smoke', 'expected', 0],
      ['sleeps', 'all', 'skipped', 0],
    ],
  );
  const opens = details.tests[2];
  assert.deepEqual(opens?.tags, ['@smoke']);
  assert.equal(opens?.file, 'tests/shop.spec.ts');
  assert.ok(
    opens?.steps.some(({ title, steps }) => title === 'go to the shop' && steps.length > 0),
  );
  const titles = JSON.stringify(details.tests[0]?.steps);
  assert.match(titles, /"Navigate \/"/, 'a step says what it was done with');
  assert.match(titles, /"Expect \\"toHaveText\\" locator\('h1'\)"/);
  assert.match(details.runtimeVersion, /^Playwright \d/);

  assert.ok(world.kept.has('traces/sells-all-retry1.zip'), [...world.kept.keys()].join());
  assert.ok(world.kept.has('screenshots/sells-all.png'));
  const trace = world.kept.get('traces/opens-smoke.zip');
  assert.ok(trace !== undefined, 'tests that pass are traced too');
  assert.ok((await namesInZip(trace.path)).some((name) => name.endsWith('.trace')));
  assert.equal(details.playwrightTraceFiles.length, details.playwrightTestTraces.length);
  assert.ok(details.jobAssets.includes('artifact:report.json'));
  const report = JSON.parse(await readFile(world.kept.get('report.json')?.path ?? '', 'utf8')) as {
    stats: object;
  };
  assert.deepEqual(
    { ...report.stats, startTime: 0, duration: 0 },
    { startTime: 0, duration: 0, expected: 3, unexpected: 1, flaky: 1, skipped: 1 },
  );
  assert.deepEqual(
    [...world.kept.keys()].filter((name) => name.startsWith('attachments/reaches')),
    ['attachments/reaches-out-all-x.txt'],
  );
  assert.equal(
    await readFile(world.kept.get('attachments/reaches-out-all-x.txt')?.path ?? '', 'utf8'),
    'mine',
  );
  assert.match(log, /2 attached files are not kept/);
  for (const stage of ['fetch', 'unpack', 'install', 'browsers', 'test', 'collect']) {
    assert.match(log, new RegExp(`^${stage}: done after `, 'm'));
  }
  assert.match(log, /\[test\] +✘/, "the suite's own reporter still prints");
});

test('pages are measured with their frames, popups and redirects, and the tests see nothing of it', async () => {
  const asked: string[] = [];
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    const { pathname } = new URL(request.url ?? '', 'http://x');
    asked.push(pathname);
    if (pathname === '/old') {
      response.writeHead(302, { location: '/new?visitor=7' }).end();
      return;
    }
    response.setHeader('content-type', pathname === '/large' ? 'text/plain' : 'text/html');
    if (pathname === '/large') response.end('x'.repeat(50_000));
    else if (pathname === '/new')
      response.end(`<p>${'word '.repeat(50)}</p><iframe src="${other.url}/frame"></iframe>`);
    else response.end('<p>small</p><script>fetch("/large")</script>');
  };
  await using other = await httpServer(serve);
  await using target = await httpServer(serve);
  const suite = {
    'package.json': manifest,
    'playwright.config.ts': `export default { workers: 2, fullyParallel: true };`,
    'tests/a.spec.ts': `
      import { test, expect } from '@playwright/test';
      let loaded = 0;
      test.beforeEach(({ context }) => {
        loaded = 0;
        context.on('requestfinished', (request) => { loaded += request.url().endsWith('/large') ? 1 : 0; });
      });
      test('goes', async ({ page }) => {
        await page.goto('${target.url}/old');
        const names = await page.evaluate(() => Reflect.ownKeys(window).map(String));
        expect(names.filter((name) => /monitor|^m[0-9a-f]{24}/.test(name))).toEqual([]);
        const popup = page.waitForEvent('popup');
        await page.evaluate((url) => void window.open(url), '${target.url}/small');
        await popup;
        await expect.poll(() => loaded).toBe(2);
      });
      test('returns', async ({ page }) => {
        await page.goto('${target.url}/new?visitor=8');
        await expect.poll(() => loaded).toBe(1);
      });`,
  };
  // With one, pictures are searched on the same way.
  const secret = { key: 'PASSWORD', value: 'correct-horse-battery', secret: true };
  await using world = await openSuiteWorld();
  const bundle = await world.bundle(suite);
  const context = world.context(bundle, {
    scripting: { browser: foundBrowser },
    environment: [secret],
  });
  const seen = await runPlaywright(suiteOf({ browsers: ['chromium'], installCommand }), context);
  assert.equal(seen.failure, null, context.logged.join('\n'));
  const { pages = [], metrics } = playwrightCheckResult.parse(seen.details?.playwrightCheckResult);
  const place = `${target.url}/`;
  assert.deepEqual(
    pages.map(({ url, visits, requests }) => [url.replace(place, '/'), visits, requests]).sort(),
    [
      // The redirect of the first, and the frame of each with what it loads.
      ['/new', 2, 7],
      ['/small', 1, 2],
    ],
  );
  assert.equal(metrics.requests, asked.filter((path) => path !== '/favicon.ico').length);
  const small = pages.find(({ url }) => url.endsWith('/small'));
  assert.ok((small?.bytes ?? 0) > 50_000 && (small?.bytes ?? 0) < 60_000, String(small?.bytes));
  const unmeasured = pages.filter(({ webVitals }) => webVitals.TTFB === undefined);
  assert.deepEqual(unmeasured, []);
});

test('what fails in quarantine is forgiven where nothing else can have failed', async () => {
  await using world = await openSuiteWorld();
  const bundle = await world.bundle({
    'package.json': manifest,
    'a.spec.js': `
      const { test, expect } = require('@playwright/test');
      if (process.env.DOWN) test.beforeAll(() => { throw new Error('the target is down'); });
      test('wavers', () => { expect(1).toBe(2); });
      test('sells', () => {});`,
  });
  const until = new Date(systemClock.now() + 86_400_000).toISOString();
  const quarantinedTests = [{ test: 'a.spec.js › wavers', until }];
  const testCommand = 'node_modules/.bin/playwright test';
  const settings = suiteOf({ browsers: [], installCommand, quarantinedTests, testCommand });
  for (const keys of [[], ['DOWN']]) {
    const environment = keys.map((key) => ({ key, value: '1', secret: false }));
    const context = world.context(bundle, { environment });
    const { failure, details } = await runPlaywright(settings, context);
    const expected = /wavers failed in quarantine, and 1 test did not run/;
    const log = context.logged.join('\n');
    if (keys.length === 0) assert.equal(failure, null, log);
    else assert.match(failure?.message ?? '', expected, log);
    const { tests, metrics } = playwrightCheckResult.parse(details?.playwrightCheckResult);
    assert.deepEqual([tests[0]?.outcome, tests[0]?.quarantined], ['unexpected', true]);
    assert.deepEqual([metrics.failed, metrics.total], [1, 2]);
  }
});

/** Runs a suite whose test command needs no Playwright. */
async function command(testCommand: string, change: Record<string, unknown> = {}) {
  await using world = await openSuiteWorld();
  const { files = { 'a.txt': 'a' }, context: given, ...fields } = change;
  const bundle = await world.bundle(files as Record<string, string>);
  const context = world.context(bundle, given as object);
  const seen = await runPlaywright(suiteOf({ testCommand, ...fields }), context);
  return { seen, log: context.logged.join('\n') };
}

/** A program that writes what the reporter writes, and says nothing else. */
const played = (tests: Record<string, string | null>, further = ''): string => `
  const base = { file: 'a.spec.js', project: '', tags: [], errors: [], attachments: [], steps: [] };
  const at = 1;
  const ids = ${JSON.stringify(Object.keys(tests))};
  const outcomes = ${JSON.stringify(Object.entries(tests))};
  const write = (event) => require('fs').appendFileSync(process.env.MONITOR_EVENTS_FILE, JSON.stringify(event) + '\\n');
  write({ type: 'begin', version: '1.65.1', workers: 1, tests: ids.map((id) => ({ id, title: id, ...base })) });
  for (const [id, outcome] of outcomes) {
    write({ type: 'testBegin', id, retry: 0, at });
    if (outcome !== null) write({ type: 'testEnd', id, retry: 0, status: outcome === 'skipped' ? 'skipped' : 'passed', durationMs: 5, ...base });
  }
  ${further}
  write({ type: 'end', status: 'passed', outcomes: outcomes.map(([id, outcome]) => ({ id, outcome })) });`;

test('a suite whose tests pass in the end passes, and may call itself degraded', async () => {
  const mark = `require('fs').writeFileSync('degraded.json', JSON.stringify({ messages: ['slow'] }));`;
  const { seen, log } = await command('node play.js', {
    files: { 'apps/web/play.js': played({ wavers: 'flaky' }, mark) },
    workingDir: 'apps/web/',
  });
  assert.equal(seen.failure, null, log);
  assert.deepEqual(seen.response, { degraded: 'slow' });
  assert.deepEqual(seen.errorMessages, []);
  assert.equal(seen.details?.playwrightCheckResult?.metrics.flaky, 1);
});

test('a suite whose tests are all skipped is degraded', async () => {
  const files = { 'play.js': played({ sleeps: 'skipped' }) };
  const { seen } = await command('node play.js', { files });
  assert.equal(seen.failure, null);
  assert.deepEqual(seen.response, { degraded: '0 of 1 tests ran: all of them are skipped' });
});

test('a suite without tests, with a broken configuration or command fails and says so', async () => {
  const cases = [
    ['true', 'NO_TESTS', /ran no tests/],
    ['echo nothing there >&2; exit 3', 'TEST_COMMAND_FAILED', /exit code 3: nothing there/],
    ['no-such-program', 'TEST_COMMAND_FAILED', /exit code 127/],
  ] as const;
  for (const [line, code, message] of cases) {
    const { seen } = await command(line);
    assert.equal(seen.failure?.code, code);
    assert.match(seen.failure.message, message);
    assert.equal(seen.errorMessages?.length, 1);
  }
  const empty = await command('node_modules/.bin/playwright test', {
    installCommand,
    files: { 'package.json': manifest },
  });
  assert.equal(empty.seen.failure?.code, 'NO_TESTS', empty.log);
  const broken = await command('node_modules/.bin/playwright test', {
    installCommand,
    files: { 'package.json': manifest, 'a.spec.ts': "import './missing.ts';" },
  });
  assert.equal(broken.seen.failure?.code, 'SUITE_BROKEN', broken.log);
  assert.match(broken.seen.failure.message, /missing/);
});

test('bundles that are missing, wrong or damaged are distinguished', async () => {
  const fetching = (error: Error) => ({
    context: { scripting: { downloadCodeBundle: () => Promise.reject(error) } },
  });
  const { seen } = await command(
    'true',
    fetching(new AgentError('CODE_BUNDLE_NOT_FOUND', 'there is no code bundle "x"')),
  );
  assert.equal(seen.failure?.code, 'BUNDLE_NOT_FOUND');
  assert.match(seen.failure.message, /^bundle not found: there is no code bundle "x"/);
  await assert.rejects(
    command('true', fetching(new AgentError('CODE_BUNDLE_UNAVAILABLE', 'no route'))),
    { code: 'CODE_BUNDLE_UNAVAILABLE' },
  );
  const mismatch = await command('true', { cacheHash: 'a'.repeat(64) });
  assert.equal(mismatch.seen.failure?.code, 'BUNDLE_MISMATCH');
  await assert.rejects(
    command('true', { codeBundlePath: `bundles/${'b'.repeat(64)}.tgz` }),
    { code: 'CODE_BUNDLE_UNAVAILABLE' },
    'damaged on the way is our fault',
  );
  const nowhere = await command('true', { workingDir: '../..' });
  assert.equal(nowhere.seen.failure?.code, 'WORKING_DIR_MISSING');
});

test('a suite sees its own environment and nothing of the agent', async () => {
  process.env['AGENT_TEST_LEAK'] = 'leaked';
  const { log } = await command('env', {
    context: {
      environment: [
        { key: 'TOKEN', value: 'mine', secret: true },
        { key: 'REGION', value: 'overridden', secret: false },
      ],
    },
  });
  delete process.env['AGENT_TEST_LEAK'];
  const has = (line: string) => log.split('\n').includes(`[test] ${line}`);
  for (const line of [
    ...['TOKEN=mine', 'REGION=overridden', 'CHECK_NAME=checkout', 'ACCOUNT_ID=account'],
    ...['MONITOR=1', 'CHECKLY=1', 'CHECKLY_RUN_SOURCE=SCHEDULER', 'CHECKLY_REGION=eu-west-1'],
    'TZ=UTC',
  ]) {
    assert.ok(has(line), `${line} is missing from:\n${log}`);
  }
  assert.doesNotMatch(log, /leaked|API_KEY/);
  assert.doesNotMatch(log, /^\[test\] CI=/m, 'a scheduled run is no continuous integration');
});

test('a run that is cancelled ends within five seconds with everything it started', async () => {
  await using world = await openSuiteWorld();
  const controller = new AbortController();
  const bundle = await world.bundle({ 'a.txt': 'a' });
  const began = Promise.withResolvers<undefined>();
  const context = world.context(bundle, {
    signal: controller.signal,
    log: (message) => {
      if (message.includes('it began')) began.resolve(undefined);
    },
  });
  const testCommand = 'trap "" TERM; (sleep 600 &); setsid sleep 600 & echo it began; sleep 600';
  const running = runPlaywright(suiteOf({ testCommand }), context);
  await began.promise;
  const marker = `MONITOR_RUN=${context.run.runId}`;
  assert.ok(processesWith(marker).length > 0, 'this machine shows no processes in /proc');
  const cancelledAt = performance.now();
  controller.abort();
  const seen = await running;
  assert.ok(performance.now() - cancelledAt < 5_000);
  assert.equal(seen.failure?.code, 'CANCELLED');
  assert.deepEqual(processesWith(marker), []);
});

test('a suite that takes too long fails with what had been seen by then', async () => {
  const { seen } = await command('node play.js', {
    files: {
      'play.js': played(
        { 'is quick': 'expected', hangs: null },
        'setInterval(() => {}, 1000); return;',
      ),
    },
    context: { timeoutMs: 4_000 },
  });
  assert.equal(seen.failure?.code, 'TIMEOUT');
  const { tests, metrics } = seen.details?.playwrightCheckResult ?? {};
  assert.deepEqual(
    tests?.map(({ title, status }) => [title, status]),
    [
      ['hangs', 'interrupted'],
      ['is quick', 'passed'],
    ],
  );
  assert.equal(metrics?.failed, 1);
});

test('a suite cannot make the agent wait for ever', async () => {
  const piped = await command('mkfifo "$MONITOR_EVENTS_FILE"');
  assert.equal(piped.seen.failure?.code, 'NO_TESTS');
  const linked = await command('ln -s /etc/passwd "$MONITOR_EVENTS_FILE"');
  assert.equal(linked.seen.failure?.code, 'NO_TESTS');
});

test('a browser that this machine does not have is our error', async () => {
  await using world = await openSuiteWorld();
  const bundle = await world.bundle({ 'package.json': manifest });
  const run = (browsers: string[], scripting = {}) =>
    runPlaywright(suiteOf({ browsers, installCommand }), world.context(bundle, { scripting }));
  await assert.rejects(run(['chromium']), { code: 'BROWSER_MISSING' });
  await assert.rejects(run(['webkit']), (error) => {
    assert.ok(error instanceof AgentError);
    assert.equal(error.code, 'BROWSER_MISSING');
    assert.match(error.message, /asks for webkit.*npx playwright@.* install webkit/);
    return true;
  });
});

test('tests go by the proxy of the location, whose login they never see', async () => {
  await using target = await shop();
  await using proxy = await proxyServer({ credentials: 'agent:pa55word' });
  await using strict = await proxyServer({ credentials: 'somebody:else' });
  await using world = await openSuiteWorld();
  const bundle = await world.bundle({
    'package.json': manifest,
    'shop.spec.ts': `
      import { test, expect } from '@playwright/test';
      test('opens', async ({ page }) => {
        console.log(JSON.stringify(process.env));
        await page.goto(process.env.SHOP_URL);
        await expect(page).toHaveTitle('shop');
      });`,
  });
  const { port } = new URL(target.url);
  const contextBy = (proxyUrl: string) =>
    world.context(bundle, {
      scripting: { browser: foundBrowser },
      environment: [{ key: 'SHOP_URL', value: `http://shop.internal:${port}/`, secret: false }],
      proxyUrl,
    });
  const suite = suiteOf({ browsers: ['chromium'], installCommand });
  const context = contextBy(proxy.url);
  const seen = await runPlaywright(suite, context);
  assert.equal(seen.failure, null);
  assert.ok(proxy.asked.includes(`GET http://shop.internal:${port}/`));
  assert.match(context.logged.join('\n'), /HTTPS_PROXY/);
  assert.doesNotMatch(context.logged.join('\n'), /pa55word/);
  const asking = `NODE_USE_ENV_PROXY=1 node -e 'fetch(process.env.SHOP_URL)'; exit 1`;
  await assert.rejects(
    runPlaywright(suiteOf({ testCommand: asking }), contextBy(`http://127.0.0.1:${strict.port}`)),
    (error) => error instanceof AgentError && error.code === 'NETWORK_UNAVAILABLE',
  );
});
