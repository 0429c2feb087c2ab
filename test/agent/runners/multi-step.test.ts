// Few share a process: it opens a browser.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MultiStepCheckResult, ScriptStep } from '@monitor/shared/contract/check-result.ts';
import { runMultiStep } from '../../../agent/runners/scripts/browser-and-multi-step.ts';
import { definitionOfScript, scriptWorld } from '../../support/script-context.ts';
import { webSite } from '../../support/web-site.ts';

const allSteps = (steps: ScriptStep[]): ScriptStep[] =>
  steps.flatMap((step) => [step, ...allSteps(step.steps)]);

test('requests stand under the steps that made them, with their times and without credentials', async (t) => {
  const world = await scriptWorld(t);
  const site = await webSite(t);
  const context = world.context({
    // Nothing may look for a browser.
    scripting: () => ({
      ...world.scripting,
      browser: () => Promise.reject(new Error('a multi-step check looked for a browser')),
    }),
  });
  const seen = await runMultiStep(
    {
      ...{ request: { assertions: [] }, shouldFail: false, degradedResponseTime: null },
      maxResponseTime: null,
      script: `
        import { test, expect } from '@playwright/test';
        test('orders', async ({ request }) => {
          await test.step('make', async () => {
            const made = await request.post('${site.url}/api/orders', {
              data: { item: 7 }, headers: { authorization: 'Bearer abc', 'x-shop': '1' },
            });
            expect(made.status()).toBe(200);
            expect(made.timings().total).toBeGreaterThan(0);
          });
          await test.step('read in parallel', async () => {
            await Promise.all([request.get('${site.url}/api/a'), request.get('${site.url}/api/b')]);
          });
          await test.step('refused', async () => {
            await request.get('http://127.0.0.1:1/').catch(() => undefined);
          });
        });`,
    },
    context,
  );
  assert.equal(seen.failure, null);
  const result = seen.details?.multiStepCheckResult as MultiStepCheckResult;
  const [made] = result.requests;
  assert.equal(made?.method, 'POST');
  assert.equal(made.status, 200);
  assert.equal(made.requestBody, '{"item":7}');
  assert.match(made.body ?? '', /"method":"POST"/);
  assert.equal(made.requestHeaders['authorization'], '*********');
  assert.equal(made.requestHeaders['x-shop'], '1');
  for (const phase of ['tcp', 'firstByte', 'download', 'total']) {
    assert.ok((made.timingPhases[phase] ?? -1) >= 0, `${phase} was measured`);
  }
  assert.equal(result.requests.length, 4);
  assert.match(result.requests.find(({ url }) => url.includes(':1/'))?.error ?? '', /ECONNREFUSED/);
  const urlsOf = (title: string): string[] => {
    const step = result.tests[0]?.steps.find((candidate) => candidate.title === title);
    return allSteps(step === undefined ? [] : [step])
      .flatMap(({ requests }) => requests)
      .map((index) => new URL(result.requests[index]?.url ?? '').pathname)
      .sort();
  };
  assert.deepEqual(urlsOf('make'), ['/api/orders']);
  assert.deepEqual(urlsOf('read in parallel'), ['/api/a', '/api/b']);
  assert.deepEqual(urlsOf('refused'), ['/']);
  assert.match(String(site.seen.get('/api/a')?.['traceparent']), /^00-/);
  assert.notEqual(
    site.seen.get('/api/a')?.['traceparent'],
    site.seen.get('/api/b')?.['traceparent'],
  );
});

test('who watches a run sees no secret that it has just made', async (t) => {
  const world = await scriptWorld(t);
  const secrets: string[] = [];
  const prints = `
    for (const token of ['first-token', 'second-token']) {
      process.env.SERVICE_SECRET_TOKEN = token;
      console.log('got ' + token);
    }`;
  const scripts = {
    test: `import { test } from '@playwright/test'; test('signs in', () => { ${prints} });`,
    plain: prints,
  };
  for (const [kind, script] of Object.entries(scripts)) {
    const seen: string[] = [];
    const context = world.context({
      addSecret: (value) => secrets.push(value),
      printed: (line) => {
        seen.push(secrets.reduce((text, secret) => text.replaceAll(secret, '***'), line));
      },
    });
    const run = await runMultiStep(
      {
        request: { assertions: [] },
        ...{ shouldFail: false, degradedResponseTime: null, maxResponseTime: null, script },
      },
      context,
    );
    assert.equal(run.failure, null, kind);
    assert.deepEqual(
      seen.filter((line) => line.includes('got')),
      ['got ***', 'got ***'],
      kind,
    );
    secrets.length = 0;
  }
});

test('skipped tests alone are no success, and test.fail() that passes says so', async (t) => {
  const world = await scriptWorld(t);
  // `run-failure.test.ts` has the other outcomes.
  const run = (body: string) =>
    runMultiStep(
      definitionOfScript(`import { test } from '@playwright/test';\n${body}`),
      world.context(),
    );
  const skipped = await run(`test.fixme('a', () => {}); test('b', () => { test.skip(true); });`);
  assert.equal(skipped.failure, null);
  assert.match(String(skipped.response?.['degraded']), /^0 of 2 tests/);
  const passed = await run(`test('a', () => { test.fail(); });`);
  assert.match(passed.failure?.message ?? '', /^a: it passed, and test\.fail\(\) expects/);
});
