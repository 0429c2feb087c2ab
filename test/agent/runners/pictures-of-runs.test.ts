// Few share a process: it opens a browser.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { readFile } from 'node:fs/promises';
import { runBrowser } from '../../../agent/runners/scripts/browser-and-multi-step.ts';
import { runPlaywright } from '../../../agent/runners/playwright/run-playwright.ts';
import type { GivenFile, RunnerContext } from '../../../agent/runners/runner.ts';
import { createScrubber } from '../../../agent/scrub/create-scrubber.ts';
import { foundBrowser } from '../../support/found-browser.ts';
import { canary, openReader, type Reader } from '../../support/picture-pages.ts';
import { installCommand, openSuiteWorld, suiteOf } from '../../support/suite-context.ts';
import { definitionOfScript, scriptWorld } from '../../support/script-context.ts';
import { unzipped } from '../../support/zip.ts';

const environment = [{ key: 'SHOP_KEY', value: canary, secret: true }];
const shown = `await page.setContent('<body style="font:28px sans-serif;margin:20px"><p>OMEGA</p><p><b>'
  + process.env.SHOP_KEY.slice(0, 6) + '</b>' + process.env.SHOP_KEY.slice(6) + '</p>');`;
const script = `import { test, expect } from '@playwright/test';
  test.use({ viewport: { width: 480, height: 220 } });
  test('shop', async ({ page }) => {
    ${shown}
    await page.screenshot({ path: 'shop.png' });
    await page.waitForTimeout(300);
    expect(1).toBe(2);
  });`;

/** Keeps what a run hands over, as the agent would look at it afterwards. */
function keeping(): {
  files: (GivenFile & { bytes: Buffer })[];
  artifacts: RunnerContext['artifacts'];
} {
  const files: (GivenFile & { bytes: Buffer })[] = [];
  return {
    files,
    artifacts: {
      async add(given) {
        if ('path' in given && given.type === 'trace') {
          await createScrubber({ secrets: [canary], detect: false }).file(given.path, '', {
            withoutPictures: typeof given.withheldPictures === 'string',
          });
        }
        const bytes = 'bytes' in given ? Buffer.from(given.bytes) : await readFile(given.path);
        files.push({ ...given, bytes });
        return `artifact:${given.name}`;
      },
    },
  };
}

/** Pictures of a run, those in its traces among them. */
async function picturesOf(files: readonly (GivenFile & { bytes: Buffer })[]): Promise<Buffer[]> {
  const frames = await Promise.all(
    files
      .filter(({ type }) => type === 'trace')
      .map(async ({ bytes }) => Object.entries(await unzipped(bytes))),
  );
  return [
    ...files
      .filter(({ contentType }) => contentType.startsWith('image/'))
      .map(({ bytes }) => bytes),
    ...frames.flat().flatMap(([name, bytes]) => (/\.(jpeg|png)$/.test(name) ? [bytes] : [])),
  ];
}

describe('pictures of runs', () => {
  let reader: Reader;
  before(async () => {
    reader = await openReader();
  });
  after(() => reader[Symbol.asyncDispose]());

  const found = async (pictures: readonly Buffer[]) => {
    const seen = await Promise.all(pictures.map((picture) => reader.finds(picture)));
    return seen.filter(Boolean).length;
  };

  for (const isWarm of [true, false]) {
    test(`no picture of a browser check shows a secret, ${isWarm ? 'in a warm browser' : 'in its own'}`, async (t) => {
      const world = await scriptWorld(t, { isWarm });
      const kept = keeping();
      const context = world.context({ environment, artifacts: kept.artifacts });
      const seen = await runBrowser(definitionOfScript(script), context);
      assert.equal(seen.failure?.code, 'SCRIPT_FAILED');
      const pictures = await picturesOf(kept.files);
      assert.ok(
        pictures.length >= 3,
        'one of the script, one of the failure, and frames of the trace',
      );
      assert.equal(await found(pictures), 0);
      assert.match(await reader.read(pictures[0] ?? Buffer.alloc(0)), /OMEGA/);
      const { jobLog } = seen.details?.browserCheckResult as { jobLog: { msg: string }[] };
      assert.ok(
        jobLog.some(({ msg }) => msg === 'secrets are painted over in pictures of this run'),
      );
      for (const { bytes } of kept.files.filter(({ type }) => type === 'trace')) {
        for (const [name, entry] of Object.entries(await unzipped(bytes))) {
          if (!name.endsWith('.trace')) continue;
          const lines = entry.toString().split('\n');
          const snapshots = lines.filter((line) => line.includes('"frame-snapshot"')).join('');
          const text = snapshots.replaceAll(/"[BP]",|\{\}|[[\]",]/g, '');
          assert.doesNotMatch(
            text,
            /KUMQUA.{0,20}T-VEXED/,
            'also not in two elements of a snapshot',
          );
        }
      }
    });
  }

  test('by setting nothing is searched, and the same run shows it', async (t) => {
    const world = await scriptWorld(t, { isWarm: false });
    const kept = keeping();
    const context = world.context({
      ...{ environment, artifacts: kept.artifacts },
      scripting: () => ({ ...world.scripting, pictures: 'keep' }),
    });
    await runBrowser(definitionOfScript(script), context);
    assert.ok((await found(await picturesOf(kept.files))) >= 2);
  });

  test('pictures are withheld where another browser ran, and say why', async (t) => {
    const world = await scriptWorld(t, { isWarm: false });
    const kept = keeping();
    const context = world.context({ environment, artifacts: kept.artifacts });
    const withOther = script.replace(
      shown,
      `await require('playwright').firefox.launch({ executablePath: '/bin/true' }).catch(() => undefined); ${shown}`,
    );
    await runBrowser(definitionOfScript(withOther), context);
    const pictures = kept.files.filter(({ contentType }) => contentType.startsWith('image/'));
    assert.ok(pictures.length > 0);
    for (const { withheldPictures } of pictures)
      assert.match(withheldPictures ?? '', /only in pictures of a Chromium/);
    const [trace] = kept.files.filter(({ type }) => type === 'trace');
    assert.deepEqual(
      Object.keys(await unzipped(trace?.bytes ?? Buffer.alloc(0))).filter((name) =>
        /\.(jpeg|png)$/.test(name),
      ),
      [],
    );
  });

  test('no picture of a suite shows a secret, and none is painted without one', async () => {
    await using world = await openSuiteWorld();
    const bundle = await world.bundle({
      'package.json': JSON.stringify({ name: 'suite', private: true }),
      'playwright.config.ts': `export default { use: { screenshot: 'on', viewport: { width: 480, height: 220 } } };`,
      'tests/shop.spec.ts': `import { test } from '@playwright/test';
        test('shows', async ({ page }) => { ${shown} await page.waitForTimeout(300); });`,
    });
    const kept = keeping();
    const context = world.context(bundle, {
      environment,
      artifacts: kept.artifacts,
      scripting: { browser: foundBrowser },
    });
    const seen = await runPlaywright(suiteOf({ browsers: ['chromium'], installCommand }), context);
    assert.equal(seen.failure, null, JSON.stringify(seen.failure));
    const pictures = await picturesOf(kept.files);
    assert.ok(pictures.length >= 2);
    assert.equal(await found(pictures), 0);
    assert.ok(kept.files.every(({ withheldPictures }) => withheldPictures == null));
  });
});
