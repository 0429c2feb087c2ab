import assert from 'node:assert/strict';
import { mkdir, open, symlink, writeFile } from 'node:fs/promises';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import test from 'node:test';
import {
  isUndecided,
  ownPlatform,
  RunBaselines,
  type SeenAttempt,
  undecidedBy,
} from '../../../agent/browsers/run-baselines.ts';
import { updatedSnapshots } from '../../../agent/runners/scripts/run-artifacts.ts';
import { AgentError } from '../../../agent/errors.ts';
import type { Workspace } from '../../../agent/script-host/script-host.ts';
import { temporaryFolder } from '../../support/system.ts';

const missing = (path: string) => ({
  message: `Error: A snapshot doesn't exist at ${path}, writing actual.`,
});
const broken = { message: 'Error: the shop is closed' };

function world() {
  const folder = temporaryFolder();
  const notes: string[] = [];
  const note = (message: string) => notes.push(message);
  const workspace = {
    folder: folder.path,
    read: (path: string) => open(join(folder.path, path)).catch(() => null),
    async write(path: string, content: string | Uint8Array) {
      await mkdir(dirname(join(folder.path, path)), { recursive: true });
      await writeFile(join(folder.path, path), content);
    },
  } as unknown as Workspace;
  const baselines = new RunBaselines(workspace, 'check', note);
  return { workspace, baselines, notes, note, [Symbol.dispose]: () => folder[Symbol.dispose]() };
}

test('only a test whose errors are all known to be missing images is forgiven', () => {
  const many = (count: number) => Array.from({ length: count }, (_, at) => missing(`/${at}.png`));
  assert.equal(isUndecided(many(19)), true);
  assert.equal(isUndecided(many(20)), false, 'a reporter keeps 20: there may have been others');
  assert.equal(isUndecided([...many(2), broken]), false);
  assert.equal(isUndecided([]), false);
  assert.equal(undecidedBy([], []), null);
  assert.match(
    undecidedBy([], ['a', 'b']) ?? '',
    /^no baseline yet, and no image to approve: a, b$/,
  );
});

for (const reporter of ['browsers', 'runners/playwright']) {
  test(`a failure behind many missing images is what the reporter of ${reporter} keeps`, () => {
    using folder = temporaryFolder();
    const file = join(folder.path, 'events.jsonl');
    process.env['MONITOR_EVENTS'] = file;
    process.env['MONITOR_EVENTS_FILE'] = file;
    const require = createRequire(import.meta.url);
    const Reporter = require(`../../../agent/${reporter}/inside/reporter.cjs`) as new () => {
      onTestEnd(test: object, result: object): void;
    };
    const images = Array.from({ length: 25 }, (_, at) => missing(`/check/${at}.png`));
    const ended = {
      ...{ title: 't', titlePath: () => ['', '', 'f', 't'], location: { file: '/f' }, tags: [] },
      ...{ parent: {}, outcome: () => 'unexpected' },
    };
    const result = { status: 'failed', retry: 0, duration: 1, steps: [], attachments: [] };
    new Reporter().onTestEnd(ended, { ...result, errors: [...images, broken] });
    const event = JSON.parse(readFileSync(file, 'utf8').trim()) as {
      errors?: SeenAttempt['errors'];
      test?: { errors: SeenAttempt['errors'] };
    };
    const errors = event.test?.errors ?? event.errors ?? assert.fail();
    assert.equal(errors.length, 20);
    assert.equal(errors[0]?.message, broken.message);
    assert.equal(errors[1]?.message, images[0]?.message, 'images keep their order');
    assert.equal(isUndecided(errors), false);
  });
}

test('an approved image that cannot be had is an agent error; a deployed one is a line in the log', async () => {
  using one = world();
  const path = 'a.spec.ts-snapshots/a.png';
  const nothing = () => Promise.resolve(null);
  await one.baselines.lay([], [{ path, key: `files/${'0'.repeat(64)}` }], nothing);
  assert.deepEqual(one.notes, [`the image for ${path} is not kept any more`]);
  const approved = { path, platform: ownPlatform, digest: '1'.repeat(64), deployedDigest: null };
  await assert.rejects(one.baselines.lay([approved], [], nothing), (error) => {
    assert.ok(error instanceof AgentError);
    assert.equal(error.code, 'CODE_BUNDLE_UNAVAILABLE');
    assert.ok(error.message.includes(path));
    return true;
  });
  await one.baselines.lay([approved], [], () => Promise.resolve(Buffer.from('image')));
  const written = (await one.workspace.read(`check/${path}`)) ?? assert.fail();
  assert.equal(await written.readFile('utf8'), 'image');
  await written.close();
});

test('an image is missing only where its test says so, and differs only in the last attempt', async () => {
  using one = world();
  const expected = 'check/s/a.png';
  const attachments = (parts: readonly string[]) =>
    parts.map((part) => ({
      name: `a-${part}.png`,
      path: part === 'expected' ? expected : `results/${part}.png`,
      contentType: 'image/png',
    }));
  const kept = new Map([
    ['results/actual.png', 'artifact:actual'],
    ['results/diff.png', 'artifact:diff'],
  ]);
  const attempt = (errors: SeenAttempt['errors'], parts: readonly string[], isLast = true) => ({
    ...{ project: 'p', errors, isLast, attachments: attachments(parts) },
  });
  const seen = async (attempts: readonly SeenAttempt[], references = kept) =>
    (await one.baselines.comparisons(attempts, references)).map(({ outcome }) => outcome);
  const pair = ['expected', 'actual'];
  const differs = [{ message: 'Error: 3 pixels are different' }];
  const without = [missing(join(one.workspace.folder, expected))];
  const own = `check/results/attachments/a-actual-${'0a'.repeat(20)}.png`;
  for (const errors of [[], differs]) {
    const attached = attachments(pair).map((part) => ({ ...part, path: own }));
    const ofTest = { project: 'p', errors, isLast: true, attachments: attached };
    assert.deepEqual(await seen([ofTest], new Map([[own, 'artifact:own']])), [], 'its own');
  }
  assert.deepEqual(await seen([attempt([], pair)]), ['MISSING'], 'it wrote it');
  assert.deepEqual(await seen([attempt(without, pair)]), ['MISSING']);
  assert.deepEqual(await seen([attempt(without, ['actual'])]), ['MISSING'], 'older versions');
  assert.deepEqual(await seen([attempt(without, pair)], new Map()), [], 'no image is kept');
  assert.deepEqual(await seen([attempt(differs, [...pair, 'diff'])]), ['DIFFERENT']);
  const first = attempt(differs, [...pair, 'diff'], false);
  assert.deepEqual(await seen([first, attempt([], [])]), [], 'it passed when it was retried');
  assert.deepEqual(await seen([first, attempt(differs, [...pair, 'diff'])]), ['DIFFERENT']);
  assert.deepEqual(await seen([attempt(without, pair, false), attempt([], [])]), ['MISSING']);
});

test('snapshots that were made anew are found in folders, and what is cut is said', async () => {
  using one = world();
  const added: string[] = [];
  const sink = {
    add: ({ name }: { name: string }) => {
      added.push(name);
      return Promise.resolve(`artifact:${name}`);
    },
  };
  const update = () => updatedSnapshots(one.workspace, 'a.spec.ts', sink, null, one.note);
  assert.deepEqual(await update(), []);
  const write = (name: string) => one.workspace.write(`check/a.spec.ts-snapshots/${name}`, 'x');
  await write('b.png');
  await write('folder/a.png');
  await write('folder/text.txt');
  await symlink('..', join(one.workspace.folder, 'check/a.spec.ts-snapshots/link'));
  assert.deepEqual(await update(), [
    { path: 'a.spec.ts-snapshots/b.png', name: 'snapshots/b.png' },
    { path: 'a.spec.ts-snapshots/folder/a.png', name: 'snapshots/folder_a.png' },
  ]);
  assert.deepEqual(one.notes, []);
  for (let count = 0; count < 99; count += 1) await write(`more/${count}.png`);
  assert.equal((await update()).length, 100);
  assert.deepEqual(one.notes, ['1 of 101 snapshots are not kept: a run gives 100']);
});
