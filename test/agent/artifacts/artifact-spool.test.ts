import assert from 'node:assert/strict';
import { cpSync, existsSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import type { ArtifactSpool } from '../../../agent/artifacts/artifact-spool.ts';
import { Damages } from '../../../agent/damage.ts';
import { openRun, openSpool, resultId, silent } from '../../support/artifact-spool.ts';
import { temporaryFolder } from '../../support/system.ts';
import { TestClock } from '../../support/test-clock.ts';

const asFile = { type: 'file', contentType: 'application/octet-stream' } as const;

/** Seals an entry of files with this many bytes each. */
async function fill(
  spool: ArtifactSpool,
  folder: string,
  id: string,
  sizes: number[],
): Promise<void> {
  const run = openRun(spool, null, id);
  for (const [index, size] of sizes.entries()) {
    const path = join(folder, `${id}-${index}`);
    writeFileSync(path, 'x'.repeat(size));
    await run.add({ path, name: `${index}.txt`, ...asFile });
  }
  await run.finish();
}

const kept = (spool: ArtifactSpool): Record<string, string[]> =>
  Object.fromEntries(
    [...spool.committed()].map(({ resultId: id, files }) => [id, files.map(({ name }) => name)]),
  );

test('killed at any step, the next start finds whole entries and no garbage', async () => {
  using folder = temporaryFolder();
  const states: [step: string, whole: boolean][] = [];
  const live = join(folder.path, 'live');
  const entry = join('artifacts', resultId);
  const snapshot = (
    step: string,
    whole: boolean,
    then: (data: string) => void = () => undefined,
  ) => {
    const copy = join(folder.path, `state-${states.length}`);
    cpSync(live, copy, { recursive: true });
    then(copy);
    states.push([step, whole]);
  };

  const spool = await openSpool(live);
  const run = openRun(spool);
  const path = join(folder.path, 'file');
  for (const index of [0, 1]) {
    writeFileSync(path, 'content');
    await run.add({ path, name: `${index}.txt`, ...asFile });
    snapshot(`after file ${index} was taken`, false);
  }
  snapshot('while a file was being copied', false, (data) => {
    truncateSync(join(data, entry, '1'), 3);
  });
  await run.finish();
  snapshot('after sealing', true);
  snapshot('before the entry was renamed', false, (data) => {
    cpSync(join(data, entry, 'entry.json'), join(data, entry, 'entry.json.partial'));
    rmSync(join(data, entry, 'entry.json'));
  });
  snapshot('with half an entry', false, (data) => {
    truncateSync(join(data, entry, 'entry.json'), 40);
  });
  spool.commit(resultId);
  snapshot('after the commit', true);
  snapshot('while the entry was being removed', false, (data) => {
    rmSync(join(data, entry, 'entry.json'));
    rmSync(join(data, entry, '0'));
  });

  for (const [index, [step, whole]] of states.entries()) {
    const data = join(folder.path, `state-${index}`);
    const restarted = await openSpool(data);
    assert.deepEqual(
      kept(restarted),
      whole ? { [resultId]: ['0.txt', '1.txt'] } : {},
      `killed ${step}`,
    );
    assert.equal(readdirSync(join(data, 'artifacts')).length, whole ? 1 : 0, step);
    assert.equal(restarted.state().bytes, whole ? 14 : 0);
  }
});

test('files that were uploaded before the kill do not come again', async () => {
  using folder = temporaryFolder();
  const spool = await openSpool(folder.path);
  await fill(spool, folder.path, resultId, [5, 6]);
  spool.commit(resultId);
  const [entry] = spool.committed();
  assert.ok(entry?.files[0]);
  await spool.remove(entry, entry.files[0]);
  const restarted = await openSpool(folder.path);
  assert.deepEqual(kept(restarted), { [resultId]: ['1.txt'] });
  assert.equal(restarted.state().bytes, 6);
});

test('an entry is gone with its last file', async () => {
  using folder = temporaryFolder();
  const spool = await openSpool(folder.path);
  await fill(spool, folder.path, resultId, [5, 6]);
  spool.commit(resultId);
  const [entry] = spool.committed();
  assert.ok(entry);
  for (const file of [...entry.files]) await spool.remove(entry, file);
  assert.deepEqual(spool.state(), { files: 0, bytes: 0, droppedTotal: 0 });
  assert.equal(existsSync(join(folder.path, 'artifacts', resultId)), false);
});

test('when there is no more room the oldest go first, and are counted', async () => {
  using folder = temporaryFolder();
  const spool = await openSpool(folder.path, { maxBytes: 100 });
  await fill(spool, folder.path, 'first', [30, 30]);
  await fill(spool, folder.path, 'second', [30]);
  await fill(spool, folder.path, 'third', [30]);
  for (const id of ['first', 'second', 'third']) spool.commit(id);
  assert.deepEqual(Object.keys(kept(spool)), ['second', 'third']);
  assert.deepEqual(spool.state(), { files: 2, bytes: 60, droppedTotal: 2 });
  assert.deepEqual(readdirSync(join(folder.path, 'artifacts')).sort(), ['second', 'third']);
});

test('what is too old is given up, and counted', async () => {
  using folder = temporaryFolder();
  const clock = new TestClock(1_000_000);
  const spool = await openSpool(folder.path, { clock, maxAgeMs: 1_000 });
  await fill(spool, folder.path, 'old', [5]);
  clock.advance(1_000);
  await fill(spool, folder.path, 'new', [5]);
  await spool.dropAged();
  assert.equal(spool.state().droppedTotal, 0);
  clock.advance(1);
  await spool.dropAged();
  assert.deepEqual(spool.state(), { files: 1, bytes: 5, droppedTotal: 1 });
});

test('a run that is made again replaces what its first try left', async () => {
  using folder = temporaryFolder();
  const before = await openSpool(folder.path);
  await fill(before, folder.path, resultId, [5, 6]);
  const spool = await openSpool(folder.path);
  await fill(spool, folder.path, resultId, [7]);
  spool.commit(resultId);
  assert.deepEqual(kept(spool), { [resultId]: ['0.txt'] });
  assert.deepEqual(spool.state(), { files: 1, bytes: 7, droppedTotal: 0 });
});

test('a folder that cannot be used is named, with what to do', async () => {
  using folder = temporaryFolder();
  writeFileSync(join(folder.path, 'file'), '');
  await assert.rejects(openSpool(join(folder.path, 'file')), {
    code: 'DATA_DIR_UNUSABLE',
    message: /set AGENT_DATA_DIR/,
  });
});

test('a file in the place of the folder is set aside, and said', async () => {
  using folder = temporaryFolder();
  writeFileSync(join(folder.path, 'artifacts'), 'x');
  const damages = new Damages(() => 1_000_000, silent);
  await openSpool(folder.path, { damages });
  assert.deepEqual(
    damages.noted.map(({ file, lost }) => [file, lost]),
    [['files of results', 0]],
  );
  assert.ok(existsSync(damages.noted[0]?.aside ?? ''));
});

test('an entry that is damaged is given up, and its files are counted', async () => {
  using folder = temporaryFolder();
  const live = join(folder.path, 'live');
  const spool = await openSpool(live);
  for (const id of ['a', 'b']) await fill(spool, folder.path, id, [1, 2]);
  writeFileSync(join(live, 'artifacts', 'a', 'entry.json'), '{"resultId":"b"');
  const damages = new Damages(() => 1_000_000, silent);
  const again = await openSpool(live, { damages });
  assert.equal(again.state().files, 2);
  assert.equal(damages.noted[0]?.lost, 2);
  assert.match(damages.noted[0]?.found ?? '', /not what was written: a$/);
});

test('files of too many results are given up, oldest first, however small they are', async () => {
  using folder = temporaryFolder();
  const spool = await openSpool(join(folder.path, 'live'), { maxEntries: 2 });
  for (const id of ['a', 'b', 'c']) {
    await fill(spool, folder.path, id, [1]);
    spool.commit(id);
  }
  assert.deepEqual(Object.keys(kept(spool)), ['b', 'c']);
  assert.equal(spool.state().droppedTotal, 1);
});
