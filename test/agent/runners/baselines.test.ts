// Own process: it starts browsers.
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import test from 'node:test';
import { ownPlatform } from '../../../agent/browsers/run-baselines.ts';
import { runBrowser } from '../../../agent/runners/scripts/browser-and-multi-step.ts';
import { runPlaywright } from '../../../agent/runners/playwright/run-playwright.ts';
import type { Observation } from '../../../agent/runners/runner.ts';
import { ApprovedImages, comparisonsOf } from '../../support/approved-images.ts';
import { canary, openReader, pixelsOf } from '../../support/picture-pages.ts';
import { isLong } from '../../support/random.ts';
import { definitionOfScript, scriptWorld } from '../../support/script-context.ts';
import { browserOfMachine, openSuiteWorld, suiteOf } from '../../support/suite-context.ts';

const pages = isLong ? 30 : 1;
const locations = isLong ? ['eu-west-1', 'us-east-1'] : ['eu-west-1'];

const degradedOf = ({ response }: Observation): unknown => response?.['degraded'] ?? null;

/** Every page has parts that a change moves, paints or sets anew, and a clock. */
const suite = {
  'package.json': JSON.stringify({ name: 'suite', private: true }),
  'playwright.config.js': `module.exports = {
    workers: 2,
    expect: { timeout: process.env.TEST_GREP === 'same' ? 20_000 : 1_500 },
    projects: [
      { name: 'desktop', use: { viewport: { width: 640, height: 360 } } },
      { name: 'phone', use: { viewport: { width: 320, height: 480 }, deviceScaleFactor: 2, isMobile: true } },
    ],
  };`,
  'pages.spec.js': `
    const { test, expect } = require('@playwright/test');
    const html = (page, change) => \`<!doctype html><meta name="viewport" content="width=device-width"><body style="margin:0;font:\${change === 'font' ? 'bold ' : ''}18px sans-serif;
      background:hsl(\${page * 37} 60% \${process.env.REGION === 'eu-west-1' ? 90 : 80}%)">
      <h1 style="color:\${change === 'colour' ? '#b00020' : '#000000'}">Page \${page}</h1>
      <p style="position:relative;left:\${change === 'moved' ? 3 : 0}px">What it sells</p>
      <div style="position:absolute;left:40px;top:200px;width:1px;height:1px;background:\${change === 'pixel' ? '#000' : 'transparent'}"></div>
      <p class="clock" style="width:200px;height:24px;overflow:hidden">\${change === 'same' ? 'Noon' : process.env.CLOCK}</p>\`;
    for (let page = 0; page < ${pages}; page += 1) {
      for (const change of ['same', 'again', 'pixel', 'colour', 'font', 'moved']) {
        test(\`\${change} \${page}\`, async ({ page: tab }) => {
          await tab.setContent(html(page, change));
          await expect(tab).toHaveScreenshot(\`page-\${page}.png\`);
        });
      }
    }`,
};

async function suiteWorld() {
  await using stack = new AsyncDisposableStack();
  const world = stack.use(await openSuiteWorld());
  const approved = new ApprovedImages();
  const installed = dirname(
    createRequire(import.meta.url).resolve('@playwright/test/package.json'),
  );
  const run = async (
    files: Record<string, string>,
    {
      location = 'eu-west-1',
      grep = '.',
      clock = 'Noon',
      fields = {} as Record<string, unknown>,
    } = {},
  ) => {
    // Files of the next run have the same names.
    world.kept.clear();
    const context = world.context(await world.bundle(files), {
      run: { location },
      baselines: approved.of(location),
      environment: [
        { key: 'REGION', value: location, secret: false },
        { key: 'CLOCK', value: clock, secret: false },
        { key: 'TEST_GREP', value: grep, secret: false },
      ],
      timeoutMs: 1_800_000,
      scripting: { browser: browserOfMachine, baselineImage: approved.image },
    });
    const seen = await runPlaywright(
      suiteOf({
        browsers: ['chromium'],
        testCommand: `npx playwright test --grep ${grep}`,
        installCommand: [
          'mkdir -p node_modules/@playwright node_modules/.bin',
          `ln -s ${installed} node_modules/@playwright/test`,
          'ln -s ../@playwright/test/cli.js node_modules/.bin/playwright',
        ].join(' && '),
        ...fields,
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

/** Changes that a run reported as a difference, with the number of pages. */
function reported({ details }: Observation): Record<string, number> {
  const { tests } = details?.playwrightCheckResult ?? assert.fail('no tests');
  const failed = tests.filter(({ outcome }) => outcome === 'unexpected');
  for (const { errors } of failed) assert.match(errors[0]?.message ?? '', /pixels .*are different/);
  const groups = Object.groupBy(failed, ({ title }) => title.split(' ')[0] ?? '');
  return Object.fromEntries(
    Object.entries(groups).map(([change, all = []]) => [change, all.length]),
  );
}

for (const masks of [[], ['.clock']]) {
  test(`of ${pages} pages on two devices, each change is reported${masks.length > 0 ? ', and a masked clock is none' : ''}`, async () => {
    await using world = await suiteWorld();
    const fields = { screenshotMasks: masks };
    const images = pages * 2;
    for (const location of locations) {
      const first = await world.run(suite, { location, grep: 'same', fields });
      assert.equal(first.seen.failure, null, JSON.stringify(first.seen.failure));
      assert.equal(first.comparisons.length, images, 'nobody approved them in another location');
      assert.ok(first.comparisons.every(({ outcome }) => outcome === 'MISSING'));
      assert.match(
        String(degradedOf(first.seen)),
        new RegExp(`^no baseline yet of ${images} images: page-0-desktop`),
      );
      await first.approve();
      const each = { pixel: images, colour: images, font: images, moved: images };
      // What is the same is not among them.
      const later = await world.run(suite, { location, clock: 'Midnight', fields });
      assert.deepEqual(reported(later.seen), masks.length > 0 ? each : { again: images, ...each });
      assert.equal(later.seen.failure?.code, 'TESTS_FAILED');
      for (const { outcome, expected, actual, diff } of later.comparisons) {
        assert.equal(outcome, 'DIFFERENT');
        for (const part of [expected, actual, diff]) {
          assert.ok(pixelsOf(await readFile(later.fileOf(part ?? ''))).width > 0);
        }
      }
    }
  });
}

test('a suite that writes missing images by itself is undecided as well', async () => {
  await using world = await suiteWorld();
  const config = suite['playwright.config.js'].replace('{', "{ updateSnapshots: 'missing',");
  const files = { ...suite, 'playwright.config.js': config };
  const { seen, comparisons } = await world.run(files, { grep: 'same' });
  assert.equal(seen.failure, null);
  assert.match(String(degradedOf(seen)), /^no baseline yet/);
  assert.ok(comparisons.every(({ outcome }) => outcome === 'MISSING'));
});

test('a suite whose missing images are not kept is degraded, and names the tests', async () => {
  await using world = await suiteWorld();
  const config = suite['playwright.config.js'].replace('{', "{ preserveOutput: 'never',");
  const { seen, comparisons } = await world.run(
    { ...suite, 'playwright.config.js': config },
    { grep: 'same' },
  );
  assert.deepEqual([seen.failure, comparisons], [null, []]);
  assert.match(
    String(degradedOf(seen)),
    /^no baseline yet, and no image to approve: .*same 0 \[desktop\], .*same 0 \[phone\]/,
  );
});

test('an approved image counts until another is deployed for its path', async () => {
  await using world = await suiteWorld();
  const first = await world.run(suite, { grep: 'same' });
  await first.approve();
  const same = await world.run(suite, { grep: 'same' });
  assert.deepEqual([same.seen.failure, degradedOf(same.seen), same.comparisons], [null, null, []]);
  // Text is an image of nothing, and is not what was approved.
  const path = first.comparisons[0]?.path ?? assert.fail();
  const deployed = await world.run({ ...suite, [path]: 'deployed' }, { grep: 'same' });
  assert.equal(deployed.seen.failure?.code, 'TESTS_FAILED');
  const { jobLog } = deployed.seen.details?.playwrightCheckResult ?? assert.fail();
  assert.ok(jobLog.some(({ msg }) => msg.includes(`${path}: another image was deployed`)));
});

const shop = (colour: string, further = '') => `
  import { test, expect } from '@playwright/test';
  test.use({ viewport: { width: 480, height: 220 } });
  test('shop', async ({ page }) => {
    await page.setContent('<body style="font:28px sans-serif;margin:20px;background:${colour}"><p>OMEGA</p><p class="clock">'
      + Date.now() + '</p>${further}');
    await expect(page).toHaveScreenshot('shop.png', { timeout: 3_000 });
  });`;

test('a browser check is compared with what was approved, then with what is deployed', async (t) => {
  const world = await scriptWorld(t);
  const approved = new ApprovedImages();
  const scripting = () => ({ ...world.scripting, baselineImage: approved.image });
  const run = async (script: string, further: object = {}, updatesSnapshots = false) => {
    const baselines = approved.of('private-1');
    const context = world.context({ scripting, baselines, updatesSnapshots });
    const masked = { screenshotMasks: ['.clock'], ...further };
    const seen = await runBrowser(definitionOfScript(script, masked), context);
    const fileOf = (reference: string) => {
      const at = Number(reference.slice('artifact:'.length).split('-')[0]);
      return context.files[at]?.path ?? assert.fail(reference);
    };
    return { seen, comparisons: comparisonsOf(seen), fileOf };
  };
  const first = await run(shop('white'));
  assert.equal(first.seen.failure, null, JSON.stringify(first.seen.failure));
  assert.equal(
    degradedOf(first.seen),
    'no baseline yet of 1 image: shop.png (chromium); approve it with this result',
  );
  const [missing] = first.comparisons;
  assert.deepEqual(
    [missing?.outcome, missing?.platform, missing?.expected, missing?.path],
    ['MISSING', ownPlatform, null, 'script.spec.js-snapshots/shop.png'],
  );
  const removing = `
    import { rm } from 'node:fs/promises';
    test.afterEach(({}, { outputDir }) => rm(outputDir, { recursive: true }));`;
  const unkept = await run(shop('white') + removing);
  assert.deepEqual([unkept.seen.failure, unkept.comparisons], [null, []]);
  assert.equal(degradedOf(unkept.seen), 'no baseline yet, and no image to approve: shop');
  await approved.approve('private-1', first.comparisons, first.fileOf);
  const same = await run(shop('white'));
  assert.deepEqual([same.seen.failure, degradedOf(same.seen), same.comparisons], [null, null, []]);
  const changed = await run(shop('gold'));
  assert.equal(changed.seen.failure?.code, 'SCRIPT_FAILED');
  assert.deepEqual(
    changed.comparisons.map(({ outcome, diff }) => [outcome, diff !== null]),
    [['DIFFERENT', true]],
  );
  const gold = await readFile(changed.fileOf(changed.comparisons[0]?.actual ?? ''));
  const unmasked = await run(shop('white'), { screenshotMasks: [] });
  assert.equal(unmasked.seen.failure?.code, 'SCRIPT_FAILED', 'the mask was part of the image');

  const snapshots = [
    { path: missing?.path ?? '', key: `files/${approved.put(gold)}` },
    { path: 'gone.png', key: `files/${hash('sha256', 'gone', 'hex')}` },
  ];
  const deployed = await run(shop('gold'), { snapshots });
  assert.equal(deployed.seen.failure, null, JSON.stringify(deployed.seen.failure));
  const anew = await run(shop('gold'), {}, true);
  assert.equal(anew.seen.failure, null, JSON.stringify(anew.seen.failure));
  const { updatedSnapshots } = anew.seen.details?.browserCheckResult ?? assert.fail();
  assert.deepEqual(
    updatedSnapshots?.map(({ path }) => path),
    [missing?.path],
  );
  assert.deepEqual([degradedOf(anew.seen), anew.comparisons], [null, []]);
  const made = await readFile(anew.fileOf(`artifact:${updatedSnapshots?.[0]?.name ?? ''}`));
  assert.deepEqual(pixelsOf(made).data, pixelsOf(gold).data);

  const { jobLog } = deployed.seen.details?.browserCheckResult ?? assert.fail();
  assert.ok(jobLog.some(({ msg }) => msg === 'the image for gone.png is not kept any more'));
});

test('what was painted over in an image is painted over in its baseline', async (t) => {
  await using reader = await openReader();
  const world = await scriptWorld(t);
  const approved = new ApprovedImages();
  const scripting = () => ({ ...world.scripting, baselineImage: approved.image });
  const environment = [{ key: 'SHOP_KEY', value: canary, secret: true }];
  const script = shop('white', `<p>' + process.env.SHOP_KEY + '</p>`);
  const run = async () => {
    const baselines = approved.of('private-1');
    const context = world.context({ scripting, environment, baselines });
    const definition = definitionOfScript(script, { screenshotMasks: ['.clock'] });
    return { context, seen: await runBrowser(definition, context) };
  };
  const { context, seen } = await run();
  const [image = assert.fail()] = context.files.filter(({ name }) => name.endsWith('actual.png'));
  const bytes = await readFile(image.path);
  assert.equal(await reader.finds(bytes), false);
  assert.match(await reader.read(bytes), /OMEGA/);
  await approved.approve('private-1', comparisonsOf(seen), () => image.path);
  const again = await run();
  assert.deepEqual([again.seen.failure, comparisonsOf(again.seen)], [null, []]);
});
