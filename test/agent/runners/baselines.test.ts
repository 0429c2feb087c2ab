// Own process: it starts browsers.
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import test from 'node:test';
import { ownPlatform } from '../../../agent/browsers/run-baselines.ts';
import { runBrowser } from '../../../agent/runners/scripts/browser-and-multi-step.ts';
import { runPlaywright } from '../../../agent/runners/playwright/run-playwright.ts';
import type { Observation } from '../../../agent/runners/runner.ts';
import { ApprovedImages, comparisonsOf } from '../../support/approved-images.ts';
import { foundBrowser } from '../../support/found-browser.ts';
import { pixelsOf } from '../../support/picture-pages.ts';
import { isLong } from '../../support/random.ts';
import { definitionOfScript, scriptWorld } from '../../support/script-context.ts';
import { installCommand, openSuiteWorld, suiteOf } from '../../support/suite-context.ts';

const pages = isLong ? 30 : 1;
/** A result holds 100 comparisons and 190 files: six pages have 84, and 60 differ in three images each. */
const pagesOfRun = 6;
const locations = isLong ? ['eu-west-1', 'us-east-1'] : ['eu-west-1'];
/** Of a masked clock, no image says when it was made. */
const screenshotMasks = ['.clock'];

const degradedOf = ({ response }: Observation): unknown => response?.['degraded'] ?? null;

/** Images that later runs draw with a change, each with its baseline. What finds a pixel finds more, in the long tier. */
const changes = ['hour', 'pixel', ...(isLong ? ['colour', 'font', 'moved'] : [])];
const suite = {
  'package.json': JSON.stringify({ name: 'suite', private: true }),
  'playwright.config.js': `module.exports = {
    workers: 2,
    expect: { timeout: process.env.CLOCK === 'Noon' ? 20_000 : 1_500 },
    projects: [
      { name: 'desktop', use: { viewport: { width: 640, height: 360 } } },
      { name: 'phone', use: { viewport: { width: 320, height: 480 }, deviceScaleFactor: 2, isMobile: true } },
    ],
  };`,
  'pages.spec.js': `
    const { test, expect } = require('@playwright/test');
    const { CLOCK: clock, REGION: region, FROM: from } = process.env;
    const html = (page, change) => \`<!doctype html><meta name="viewport" content="width=device-width"><body style="margin:0;font:\${change === 'font' ? 'bold ' : ''}18px sans-serif;
      background:hsl(\${page * 37} 60% \${region === 'eu-west-1' ? 90 : 80}%)">
      <h1 style="color:\${change === 'colour' ? '#b00020' : '#000000'}">Page \${page}</h1>
      <p style="position:relative;left:\${change === 'moved' ? 3 : 0}px">What it sells</p>
      <div style="position:absolute;left:40px;top:280px;width:1px;height:1px;background:\${change === 'pixel' ? '#000' : 'transparent'}"></div>
      <p style="width:200px;height:24px;overflow:hidden">\${change === 'hour' ? clock : 'Noon'}</p>
      <p class="clock" style="width:200px;height:24px;overflow:hidden">\${clock}</p>\`;
    for (let page = Number(from); page < Math.min(${pages}, Number(from) + ${pagesOfRun}); page += 1) {
      test(\`page \${page}\`, async ({ page: tab }) => {
        for (const change of ${JSON.stringify(['same', 'deployed', ...changes])}) {
          await tab.setContent(html(page, clock === 'Noon' ? 'same' : change));
          await expect.soft(tab).toHaveScreenshot(\`\${change}-\${page}.png\`);
        }
      });
    }`,
};

async function suiteWorld() {
  await using stack = new AsyncDisposableStack();
  const world = stack.use(await openSuiteWorld());
  const approved = new ApprovedImages();
  const run = async (
    files: Record<string, string>,
    { location = 'eu-west-1', clock = 'Noon', from = 0, options = '' } = {},
  ) => {
    // Files of the next run have the same names.
    world.kept.clear();
    const context = world.context(await world.bundle(files), {
      run: { location },
      baselines: approved.of(location),
      environment: [
        { key: 'REGION', value: location, secret: false },
        { key: 'CLOCK', value: clock, secret: false },
        { key: 'FROM', value: String(from), secret: false },
      ],
      timeoutMs: 1_800_000,
      scripting: { browser: foundBrowser, baselineImage: approved.image },
    });
    const seen = await runPlaywright(
      suiteOf({
        browsers: ['chromium'],
        screenshotMasks,
        testCommand: `node_modules/.bin/playwright test ${options}`,
        installCommand,
      }),
      context,
    );
    const comparisons = comparisonsOf(seen);
    const fileOf = (reference: string) =>
      world.kept.get(reference.slice('artifact:'.length))?.path ?? assert.fail(reference);
    const approve = () => approved.approve(location, comparisons, fileOf);
    return { seen, comparisons, approve, fileOf };
  };
  const opened = stack.move();
  return { run, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

const changeOf = (path: string): string => basename(path).split('-')[0] ?? '';

test(`of ${pages} pages on two devices each change is reported, and nothing that is the same or masked`, async () => {
  await using world = await suiteWorld();
  const starts = Array.from({ length: Math.ceil(pages / pagesOfRun) }, (_, at) => at * pagesOfRun);
  for (const [location, from] of locations.flatMap((at) =>
    starts.map((one) => [at, one] as const),
  )) {
    const count = Math.min(pages - from, pagesOfRun);
    const first = await world.run(suite, { location, from });
    assert.equal(first.seen.failure, null, JSON.stringify(first.seen.failure));
    const images = count * 2 * (changes.length + 2);
    assert.equal(first.comparisons.length, images, 'nobody approved them in another location');
    assert.ok(first.comparisons.every(({ outcome }) => outcome === 'MISSING'));
    assert.match(
      String(degradedOf(first.seen)),
      new RegExp(`^no baseline yet of ${images} images: same-${from}-desktop`),
    );
    await first.approve();
    const same = await world.run(suite, { location, from });
    assert.deepEqual(
      [same.seen.failure, degradedOf(same.seen), same.comparisons],
      [null, null, []],
    );
    // Text is an image of nothing, and is not what was approved.
    const isDeployed = ({ path }: { path: string }) => changeOf(path) === 'deployed';
    const [{ path: deployed } = assert.fail()] = first.comparisons.filter(isDeployed);
    const files = { ...suite, [deployed]: 'deployed' };
    const later = await world.run(files, { location, from, clock: 'Midnight' });
    assert.equal(later.seen.failure?.code, 'TESTS_FAILED');
    const { tests, jobLog } = later.seen.details?.playwrightCheckResult ?? assert.fail();
    assert.ok(jobLog.some(({ msg }) => msg.includes(`${deployed}: another image was deployed`)));
    const errors = tests.flatMap((one) => one.errors.map(({ message }) => message));
    const differing = errors.filter((message) => /pixels .*are different/.test(message));
    assert.deepEqual(
      [errors.length - differing.length, differing.length],
      [1, count * 2 * changes.length],
    );
    const counts = Object.groupBy(later.comparisons, ({ path }) => changeOf(path));
    assert.deepEqual(
      Object.entries(counts).map(([change, all = []]) => [change, all.length]),
      changes.map((change) => [change, count * 2]),
    );
    for (const { outcome, expected, actual, diff } of later.comparisons) {
      assert.equal(outcome, 'DIFFERENT');
      for (const part of [expected, actual, diff]) {
        assert.ok(pixelsOf(await readFile(later.fileOf(part ?? ''))).width > 0);
      }
    }
  }
});

const onePage = { options: '--project desktop' };

test('a suite that writes missing images by itself is undecided as well', async () => {
  await using world = await suiteWorld();
  const config = suite['playwright.config.js'].replace('{', "{ updateSnapshots: 'missing',");
  const files = { ...suite, 'playwright.config.js': config };
  const { seen, comparisons } = await world.run(files, onePage);
  assert.equal(seen.failure, null);
  assert.match(String(degradedOf(seen)), /^no baseline yet/);
  assert.ok(comparisons.every(({ outcome }) => outcome === 'MISSING'));
});

test('a suite whose missing images are not kept is degraded, and names the tests', async () => {
  await using world = await suiteWorld();
  const config = suite['playwright.config.js'].replace('{', "{ preserveOutput: 'never',");
  const files = { ...suite, 'playwright.config.js': config };
  const { seen, comparisons } = await world.run(files, onePage);
  assert.deepEqual([seen.failure, comparisons], [null, []]);
  assert.match(
    String(degradedOf(seen)),
    /^no baseline yet, and no image to approve: .*page 0 \[desktop\]/,
  );
});

/** Two images of the same page: how each is coloured, and what its unmasked clock shows. */
const shop = (images: [colour: string, hour?: string][]) => `
  import { test, expect } from '@playwright/test';
  test.use({ viewport: { width: 480, height: 220 } });
  test('shop', async ({ page }) => {
    for (const [at, [colour, hour = 'Noon']] of ${JSON.stringify(images)}.entries()) {
      await page.setContent('<body style="font:20px monospace;margin:20px;background:' + colour + '"><p>' + hour + '</p>'
        + '<p>' + process.env.SHOP_KEY + '</p><p class="clock">' + Date.now() + '</p>');
      await expect.soft(page).toHaveScreenshot(at + '.png', { timeout: 3_000 });
    }
  });`;

test('a browser check is compared with what was approved, then with what is deployed, without masked parts and values of secrets', async (t) => {
  const world = await scriptWorld(t);
  const approved = new ApprovedImages();
  const scripting = () => ({ ...world.scripting, baselineImage: approved.image });
  let runs = 0;
  const run = async (script: string, snapshots: object[] = [], updatesSnapshots = false) => {
    const baselines = approved.of('private-1');
    // Were it in a picture, no other run would have the same one.
    const value = `KUMQUAT-VEXED-${(runs += 1)}`;
    const environment = [{ key: 'SHOP_KEY', value, secret: true }];
    const context = world.context({ scripting, baselines, updatesSnapshots, environment });
    const seen = await runBrowser(
      definitionOfScript(script, { screenshotMasks, snapshots }),
      context,
    );
    const fileOf = (reference: string) => {
      const at = Number(reference.slice('artifact:'.length).split('-')[0]);
      return context.files[at]?.path ?? assert.fail(reference);
    };
    return { seen, comparisons: comparisonsOf(seen), fileOf };
  };
  const white = shop([['white'], ['white']]);
  const first = await run(white);
  assert.equal(first.seen.failure, null, JSON.stringify(first.seen.failure));
  assert.equal(
    degradedOf(first.seen),
    'no baseline yet of 2 images: 0.png (chromium), 1.png (chromium); approve them with this result',
  );
  const paths = ['script.spec.js-snapshots/0.png', 'script.spec.js-snapshots/1.png'];
  assert.deepEqual(
    first.comparisons.map((one) => [one.outcome, one.platform, one.expected, one.path]),
    paths.map((path) => ['MISSING', ownPlatform, null, path]),
  );
  await approved.approve('private-1', first.comparisons, first.fileOf);
  const changed = await run(shop([['gold'], ['white', 'Midnight']]));
  assert.equal(changed.seen.failure?.code, 'SCRIPT_FAILED');
  assert.deepEqual(
    changed.comparisons.map(({ outcome, diff }) => [outcome, diff !== null]),
    paths.map(() => ['DIFFERENT', true]),
  );
  const gold = await readFile(changed.fileOf(changed.comparisons[0]?.actual ?? ''));

  const snapshots = [
    { path: paths[1], key: `files/${approved.put(gold)}` },
    { path: 'gone.png', key: `files/${hash('sha256', 'gone', 'hex')}` },
  ];
  const { seen, comparisons } = await run(shop([['white'], ['gold']]), snapshots);
  assert.deepEqual([seen.failure, degradedOf(seen), comparisons], [null, null, []]);
  const { jobLog } = seen.details?.browserCheckResult ?? assert.fail();
  assert.ok(jobLog.some(({ msg }) => msg === 'the image for gone.png is not kept any more'));

  const anew = await run(shop([['gold'], ['gold']]), [], true);
  assert.equal(anew.seen.failure, null, JSON.stringify(anew.seen.failure));
  const { updatedSnapshots } = anew.seen.details?.browserCheckResult ?? assert.fail();
  assert.deepEqual(
    updatedSnapshots?.map(({ path }) => path),
    paths,
  );
  assert.deepEqual([degradedOf(anew.seen), anew.comparisons], [null, []]);
  const made = await readFile(anew.fileOf(`artifact:${updatedSnapshots?.[0]?.name ?? ''}`));
  assert.deepEqual(pixelsOf(made).data, pixelsOf(gold).data);
});
