// Few share a process: it opens a browser.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { readRunEvents } from '../../../../agent/runners/scripts/run-events.ts';
import { readSuiteEvents } from '../../../../agent/runners/playwright/suite-events.ts';
import { readSuitePages } from '../../../../agent/runners/playwright/suite-pages.ts';
import { playwrightCheckResult } from '@monitor/shared/contract/check-result.ts';
import type { Workspace } from '../../../../agent/script-host/script-host.ts';
import { temporaryFolder } from '../../../support/system.ts';

const planned = (id: string) => ({ id, title: 't', file: 'f', project: '', tags: [] });
const step = { title: '', category: '', startTime: 1, durationMs: 1, error: null, steps: [] };
const ended = (id: string, further: object) => ({
  ...{ type: 'testEnd', id, retry: 0, status: 'failed', durationMs: 1 },
  ...{ errors: [], attachments: [], steps: [], ...further },
});
const lines = (events: readonly object[]) =>
  events.map((event) => `${JSON.stringify(event)}\n`).join('');

test('whatever a suite writes, the agent can read it with the memory it has', async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, 'events.jsonl');
  const tests = Array.from({ length: 20_000 }, (_, index) => planned(`x${index}`));
  const many = Array.from({ length: 20_000 }, () => step);
  const written = lines([
    { type: 'begin', version: '', workers: 1, tests },
    ...Array.from({ length: 12 }, () => ended('x1', { steps: many })),
  ]);
  await writeFile(file, written + 'x'.repeat(10_000_000));
  const source = new URL('../../../../agent/runners/playwright/suite-events.ts', import.meta.url);
  const program = `
    const { readSuiteEvents } = await import(${JSON.stringify(source.href)});
    const { open } = await import('node:fs/promises');
    const { tests } = await readSuiteEvents(await open(${JSON.stringify(file)}));
    console.log(tests.size);`;
  // Were all steps kept, these would be too little.
  const flags = ['--max-semi-space-size=1', '--max-old-space-size=40', '--input-type=module'];
  const said = execFileSync(process.execPath, [...flags, '-e', program], { encoding: 'utf8' });
  assert.equal(Number(said), 10_000);
});

test('of a suite that writes much, steps are left out before what explains a failure', async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, 'events.jsonl');
  const tests = Array.from({ length: 200 }, (_, index) => planned(`${index}`));
  const errors = [{ message: 'why', stack: null }];
  const steps = Array.from({ length: 1_000 }, () => step);
  await writeFile(
    file,
    lines([
      { type: 'begin', version: '', workers: 1, tests },
      ...tests.map(({ id }) => ended(id, { errors, steps })),
    ]),
  );
  const seen = [...(await readSuiteEvents(await open(file))).tests.values()];
  assert.deepEqual(
    seen.map(({ attempts }) => attempts[0]?.errors[0]?.message),
    seen.map(() => 'why'),
  );
  assert.equal(seen[0]?.attempts[0]?.steps.length, 1_000);
  assert.equal(seen.at(-1)?.attempts[0]?.steps.length, 0);
});

test('of the events of a script only so many of one type are kept', async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, 'events.jsonl');
  const warning = { type: 'warning', message: '' };
  const all = [...Array.from({ length: 20_000 }, () => warning), { type: 'end', status: 'passed' }];
  await writeFile(file, lines(all));
  const workspace = { folder: '/run', read: () => open(file) } as unknown as Workspace;
  const events = await readRunEvents(workspace);
  assert.equal(events.length, 10_001);
  assert.deepEqual(events.at(-1), { type: 'end', status: 'passed' });
});

test('of measured pages the median counts, and impossible lines are passed over', async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, 'pages.jsonl');
  const visit = (url: string, LCP: number) => ({ url, requests: 3, bytes: 100, vitals: { LCP } });
  const sound = [
    ...[{ browserStartMs: 100 }, { browserStartMs: 300 }],
    ...[900, 100, 200].map((ms) =>
      visit(`https://name:word@shop.example/basket?item=${ms}#top`, ms),
    ),
    visit('https://shop.example/', 4_100),
  ];
  const hostile = [
    ...[
      visit('javascript:alert(1)', 1),
      visit('https://shop.example/', -1),
      visit('https://shop.example/', 1.7e308),
      visit('', 1),
      null,
      7,
    ],
    ...[{ ...visit('https://shop.example/', 1), bytes: 1e300 }, { browserStartMs: '1' }],
    { ...visit('https://shop.example/', 1), requests: 0.5 },
    ...Array.from({ length: 200 }, () => '{'.repeat(1_000)),
  ];
  const many = Array.from({ length: 200 }, (_, index) => visit(`https://s${index}.example/`, 1));
  const pagesOf = async (written: readonly unknown[]) => {
    await writeFile(file, lines(written as object[]));
    return readSuitePages(await open(file));
  };
  const { pages, metrics } = await pagesOf([...hostile, ...sound, ...hostile]);
  assert.deepEqual(pages, [
    {
      ...{ url: 'https://shop.example/basket', visits: 3, requests: 9, bytes: 300 },
      webVitals: { LCP: { score: 'GOOD', value: 200 } },
    },
    {
      ...{ url: 'https://shop.example/', visits: 1, requests: 3, bytes: 100 },
      webVitals: { LCP: { score: 'POOR', value: 4_100 } },
    },
  ]);
  assert.deepEqual(metrics, { requests: 12, bytes: 400, browserStartMs: 200 });
  // More than is written: no sum is better than a wrong one.
  const cut = await pagesOf([...sound, { isCut: true }]);
  assert.deepEqual(cut.metrics, { browserStartMs: 200 });
  const most = await pagesOf([...many, ...sound]);
  assert.deepEqual([most.pages.length, most.pages[0]?.url], [50, 'https://shop.example/basket']);
  playwrightCheckResult.shape.pages.unwrap().parse(most.pages);
  assert.deepEqual(await pagesOf([]), { pages: [], metrics: {} });
  assert.deepEqual(await readSuitePages(null), { pages: [], metrics: {} });
});
