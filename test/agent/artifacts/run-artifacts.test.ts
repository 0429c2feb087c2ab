import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chownSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { maxArtifactBytes } from '@monitor/shared/contract/agent-protocol.ts';
import { openRun, openSpool, resultId, secret } from '../../support/artifact-spool.ts';
import { temporaryFolder } from '../../support/system.ts';

const asText = { type: 'log', contentType: 'text/plain' } as const;
const asFile = { type: 'file', contentType: 'application/octet-stream' } as const;

async function setUp(maxBytes = 1_000_000_000) {
  const folder = temporaryFolder();
  const work = join(folder.path, 'work');
  mkdirSync(work);
  const spool = await openSpool(join(folder.path, 'data'), { maxBytes });
  const write = (name: string, content: string): string => {
    const path = join(work, name);
    writeFileSync(path, content);
    return path;
  };
  return { spool, work, write, [Symbol.dispose]: () => folder[Symbol.dispose]() };
}

const digestOf = (content: string | Buffer): string =>
  createHash('sha256').update(content).digest('base64');

/** Why each file stays on the agent, by name. */
const reasons = (declared: { name: string; withheld: string | null }[]) =>
  Object.fromEntries(declared.map(({ name, withheld }) => [name, withheld]));

test('a file is moved, freed of secrets, measured, and referred to by its name', async () => {
  using set = await setUp();
  const run = openRun(set.spool, set.work);
  const path = set.write('out.txt', `the password is ${secret}`);
  assert.equal(await run.add({ path, name: 'logs/out.txt', ...asText }), 'artifact:logs/out.txt');
  assert.equal(existsSync(path), false);
  const clean = 'the password is *********';
  assert.deepEqual(await run.finish(), [
    {
      ...{ name: 'logs/out.txt', ...asText, size: clean.length, withheld: null },
      digest: digestOf(clean),
    },
  ]);
  const stored = set.spool.pathOf(resultId, '0');
  assert.equal(readFileSync(stored, 'utf8'), clean);
  assert.equal(statSync(stored).mode & 0o777, 0o600);
  assert.deepEqual([...set.spool.committed()], []);
  set.spool.commit(resultId);
  assert.equal([...set.spool.committed()][0]?.files[0]?.digest, digestOf(clean));
});

test('bytes are taken as a file is', async () => {
  using set = await setUp();
  const run = openRun(set.spool, set.work);
  const bytes = Buffer.from('a capture');
  const kind = { type: 'pcap', contentType: 'application/vnd.tcpdump.pcap' } as const;
  assert.equal(await run.add({ bytes, name: 'capture.pcap', ...kind }), 'artifact:capture.pcap');
  assert.deepEqual(await run.finish(), [
    { name: 'capture.pcap', ...kind, size: bytes.length, digest: digestOf(bytes), withheld: null },
  ]);
  const stored = set.spool.pathOf(resultId, '0');
  assert.deepEqual(readFileSync(stored), bytes);
  assert.equal(statSync(stored).mode & 0o777, 0o600);
});

test('the type of a file, which a script may choose, shows no secret', async () => {
  using set = await setUp();
  const run = openRun(set.spool, set.work);
  await run.add({
    ...{ path: set.write('a', 'a'), name: 'a', type: 'file', contentType: `text/${secret}` },
  });
  const [declared] = await run.finish();
  assert.equal(declared?.contentType, 'application/octet-stream');
});

test('names are made plain, unique, and free of secrets', async () => {
  using set = await setUp();
  const run = openRun(set.spool);
  const names: string[] = [];
  for (const name of [
    'trace.zip',
    'trace.zip',
    'TRACE.zip',
    `token-${secret}.png`,
    '../../etc/passwd',
    'a/b/c/d e.png',
    '.hidden',
    'ümläut?.png',
    '',
    `${'long'.repeat(100)}.png`,
  ]) {
    const reference = await run.add({ path: set.write('f', 'x'), name, ...asFile });
    names.push(reference.replace('artifact:', ''));
  }
  assert.deepEqual(names.slice(0, 9), [
    'trace.zip',
    'trace-2.zip',
    'TRACE-3.zip',
    'token-_________.png',
    '_./_._etc_passwd',
    'a/b_c_d e.png',
    '_hidden',
    '_ml_ut_.png',
    '_',
  ]);
  assert.match(names[9] ?? '', /^(long)+.*\.png$/);
  assert.equal(names[9]?.length, 200);
  const declared = await run.finish();
  assert.deepEqual(
    declared.map(({ name }) => name),
    names,
  );
});

test('links, pipes, folders and what is not there are withheld with the reason', async () => {
  using set = await setUp();
  const run = openRun(set.spool, set.work);
  const outside = join(set.work, '..', 'private');
  writeFileSync(outside, 'private');
  symlinkSync(outside, join(set.work, 'link'));
  execFileSync('mkfifo', [join(set.work, 'pipe')]);
  mkdirSync(join(set.work, 'folder'));
  symlinkSync(join(set.work, '..'), join(set.work, 'way-out'));
  for (const name of ['link', 'pipe', 'folder', 'absent', 'way-out/private']) {
    await run.add({ path: join(set.work, name), name, ...asFile });
  }
  assert.deepEqual(reasons(await run.finish()), {
    ...{ link: 'it is a symbolic link', pipe: 'it is not a regular file' },
    ...{ folder: 'it is not a regular file', absent: 'it no longer exists' },
    'way-out/private': 'it is outside of the folder of the run',
  });
  assert.equal(readFileSync(outside, 'utf8'), 'private');
});

test('a file of another user, or with another name somewhere, is copied rather than shared', async () => {
  using set = await setUp();
  const run = openRun(set.spool, set.work);
  const foreign = set.write('foreign', 'foreign');
  if (process.getuid?.() === 0) chownSync(foreign, 12_345, 12_345);
  const twin = set.write('twin', 'twin');
  linkSync(twin, join(set.work, 'other-name'));
  await run.add({ path: foreign, name: 'foreign', ...asFile });
  await run.add({ path: twin, name: 'twin', ...asFile });
  await run.finish();
  for (const [index, content] of ['foreign', 'twin'].entries()) {
    const stored = set.spool.pathOf(resultId, String(index));
    assert.equal(readFileSync(stored, 'utf8'), content);
    const { uid, nlink } = statSync(stored);
    assert.deepEqual([uid, nlink], [process.getuid?.(), 1]);
  }
});

test('157,286,400 bytes pass, one more is withheld before anything is sent', async () => {
  using set = await setUp();
  const run = openRun(set.spool, set.work);
  for (const [name, bytes] of [
    ['exact', maxArtifactBytes],
    ['over', maxArtifactBytes + 1],
    ['foreign', maxArtifactBytes + 5_000_000],
  ] as const) {
    const path = set.write(name, '');
    truncateSync(path, bytes);
    // With a second name it is not this user's alone, as a file of a run under its own user is not.
    if (name === 'foreign') linkSync(path, join(set.work, 'second-name'));
    await run.add({ path, name, ...asFile });
  }
  const declared = await run.finish();
  assert.deepEqual(reasons(declared), {
    exact: null,
    over: 'it has more than 157286400 bytes, the most that can be uploaded',
    foreign: 'it has more than 157286400 bytes, the most that can be uploaded',
  });
  assert.deepEqual(
    declared.map(({ size }) => size),
    [maxArtifactBytes, maxArtifactBytes + 1, maxArtifactBytes + 5_000_000],
  );
  assert.equal(existsSync(set.spool.pathOf(resultId, '1')), false);
});

test('a file that cannot be freed of secrets stays here, and the reason tells no secret', async () => {
  using set = await setUp();
  const run = openRun(set.spool);
  const path = set.write('a.png', 'x');
  await run.add({ path, name: 'a.png', type: 'screenshot', contentType: 'image/broken' });
  assert.deepEqual(reasons(await run.finish()), {
    'a.png': 'secrets could not be removed from it: not an image, ********* may be in it',
  });
  assert.equal(existsSync(set.spool.pathOf(resultId, '0')), false);
  set.spool.commit(resultId);
  assert.deepEqual([...set.spool.committed()], []);
});

test('a result has at most 200 files; the last one says how many more there were', async () => {
  using set = await setUp();
  const run = openRun(set.spool);
  for (let index = 0; index < 205; index += 1) {
    await run.add({ path: set.write('f', 'x'), name: `${index}.txt`, ...asFile });
  }
  const declared = await run.finish();
  assert.equal(declared.length, 200);
  assert.equal(declared[198]?.withheld, null);
  assert.match(declared[199]?.withheld ?? '', /at most 200 files: this one and 5 more/);
});

test('files beyond the room of the agent are withheld; the run goes on', async () => {
  using set = await setUp(10);
  const run = openRun(set.spool);
  await run.add({ path: set.write('a', '12345678'), name: 'a', ...asFile });
  await run.add({ path: set.write('b', '123'), name: 'b', ...asFile });
  await run.add({ path: set.write('c', '12'), name: 'c', ...asFile });
  assert.deepEqual(reasons(await run.finish()), {
    a: null,
    b: 'the agent has no room for it; see ARTIFACTS_MAX_BYTES',
    c: null,
  });
  assert.equal(set.spool.state().bytes, 10);
});

test('a run without files, or that is discarded, leaves nothing', async () => {
  using set = await setUp();
  assert.deepEqual(await openRun(set.spool).finish(), []);
  const run = openRun(set.spool);
  await run.add({ path: set.write('a', 'x'), name: 'a', ...asFile });
  await run.discard();
  assert.equal(existsSync(set.spool.pathOf(resultId, '')), false);
});

test('pictures in which nobody could look for secrets stay on the agent, and say why', async () => {
  using set = await setUp();
  const run = openRun(set.spool, set.work);
  const withheldPictures = 'another browser';
  const picture = { type: 'screenshot', contentType: 'image/png', withheldPictures } as const;
  await run.add({ path: set.write('a.png', 'a'), name: 'a.png', ...picture });
  await run.add({ path: set.write('b.txt', 'b'), name: 'b.txt', ...asText, withheldPictures });
  await run.add({
    path: set.write('c.png', 'c'),
    name: 'c.png',
    ...picture,
    withheldPictures: null,
  });
  assert.deepEqual(reasons(await run.finish()), {
    'a.png': withheldPictures,
    'b.txt': null,
    'c.png': null,
  });
});
