import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { gzipSync } from 'node:zlib';
import { Header, Pax, type HeaderData } from 'tar';
import {
  bundleLimits,
  unpackBundle,
  type BundleLimits,
} from '../../../../agent/runners/playwright/unpack-bundle.ts';
import { SuiteFailure } from '../../../../agent/runners/playwright/suite-failure.ts';

type Entry = HeaderData & { content?: string | Buffer };

function block(entry: Entry): Buffer[] {
  const content = Buffer.from(entry.content ?? '');
  const { content: _content, ...data } = entry;
  const header = Buffer.alloc(512);
  const made = new Header({
    ...{ mode: 0o644, type: 'File', size: content.length, mtime: new Date(0) },
    ...data,
  });
  made.encode(header, 0);
  // What does not fit into a header stands in one of its own before it.
  const extended = made.needPax ? [new Pax({ path: String(data.path) }).encode()] : [];
  return [...extended, header, content, Buffer.alloc((512 - (content.length % 512)) % 512)];
}

const end = Buffer.alloc(1024);
const tarOf = (entries: Entry[]): Buffer => Buffer.concat([...entries.flatMap(block), end]);

/** Unpacks beside a folder that nothing may change, and looks at what is there afterwards. */
async function attempt(bytes: Buffer, limits: BundleLimits = bundleLimits) {
  const root = await mkdtemp(join(tmpdir(), 'unpack-'));
  await using _clean = { [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true }) };
  const folder = join(root, 'in', 'project');
  await mkdir(folder, { recursive: true });
  await writeFile(join(root, 'bundle.tgz'), bytes);
  const outcome = await unpackBundle(join(root, 'bundle.tgz'), folder, limits).then(
    (listing) => ({ files: listing.files, reason: null }),
    (error: unknown) => {
      assert.ok(error instanceof SuiteFailure, String(error));
      assert.equal(error.failure.code, 'BUNDLE_REFUSED');
      return { files: new Set<string>(), reason: error.failure.message };
    },
  );
  assert.deepEqual((await readdir(root)).sort(), ['bundle.tgz', 'in']);
  assert.deepEqual(await readdir(join(root, 'in')), ['project']);
  const inside = (await readdir(folder, { recursive: true })).sort();
  const modes = Object.fromEntries(
    await Promise.all(
      inside.map(async (name) => [name, (await stat(join(folder, name))).mode & 0o7777] as const),
    ),
  );
  const first = inside.includes('a.txt') ? await readFile(join(folder, 'a.txt'), 'utf8') : null;
  return { ...outcome, inside, modes, first };
}

async function refusal(entries: Entry[], limits?: BundleLimits): Promise<string> {
  const { reason, inside } = await attempt(gzipSync(tarOf(entries)), limits);
  assert.ok(reason !== null, 'the bundle was unpacked');
  assert.deepEqual(inside, [], 'a refused bundle leaves nothing behind');
  return reason;
}

const good: Entry = { path: 'a.txt', content: 'hello' };

test('files and folders are unpacked, also those whose folders are not named', async () => {
  const { files, inside, first } = await attempt(
    gzipSync(
      tarOf([
        { path: './', type: 'Directory', mode: 0o755 },
        good,
        { path: 'deep/er/b.txt', content: 'b' },
        { path: 'empty/', type: 'Directory', mode: 0o755 },
      ]),
    ),
  );
  assert.deepEqual([...files], ['a.txt', 'deep/er/b.txt']);
  assert.deepEqual(inside, ['a.txt', 'deep', 'deep/er', 'deep/er/b.txt', 'empty']);
  assert.equal(first, 'hello');
});

test('setuid, setgid and sticky bits are dropped, and the owner can always read', async () => {
  const { modes } = await attempt(
    gzipSync(
      tarOf([
        { ...good, mode: 0o6755 },
        { path: 'sealed', mode: 0o000 },
        { path: 'dir/', type: 'Directory', mode: 0o1777 },
      ]),
    ),
  );
  assert.equal((modes['a.txt'] ?? 0) & 0o7000, 0);
  assert.equal((modes['a.txt'] ?? 0) & 0o100, 0o100);
  assert.equal((modes['sealed'] ?? 0) & 0o600, 0o600);
  assert.equal((modes['dir'] ?? 0) & 0o7000, 0);
});

for (const [what, entry, reason] of [
  ['leads out with ..', { path: '../evil' }, /"\.\.\/evil" leads out/],
  ['leads out in the middle', { path: 'a/../../evil' }, /leads out/],
  ['leads out with backslashes', { path: 'a\\..\\..\\evil' }, /leads out/],
  ['is absolute', { path: '/tmp/evil' }, /absolute path/],
  ['is absolute elsewhere', { path: 'C:\\evil' }, /absolute path/],
  ['is a symbolic link', { path: 'l', type: 'SymbolicLink', linkpath: '/etc' }, /symbolic link/],
  ['is a link inside', { path: 'l', type: 'SymbolicLink', linkpath: 'a.txt' }, /symbolic link/],
  ['is a hard link', { path: 'l', type: 'Link', linkpath: '/etc/passwd' }, /hard link/],
  ['is a character device', { path: 'd', type: 'CharacterDevice' }, /device/],
  ['is a block device', { path: 'd', type: 'BlockDevice' }, /device/],
  ['is a pipe', { path: 'p', type: 'FIFO' }, /named pipe/],
  ['is there twice', { path: './a.txt', content: 'other' }, /there twice/],
  ['differs in case', { path: 'A.TXT' }, /case of letters/],
  ['has a folder that differs in case', { path: 'A.txt/b' }, /case of letters/],
  ['is a folder and a file', { path: 'a.txt/b' }, /folder where the bundle has a file/],
  ['has too long a name', { path: `${'n'.repeat(256)}` }, /255 bytes/],
  ['is too deep', { path: `${'d/'.repeat(65)}f` }, /deeper/],
] as const satisfies [string, Entry, RegExp][]) {
  test(`an entry that ${what} is refused by name, and nothing is written`, async () => {
    assert.match(await refusal([good, entry]), reason);
    assert.match(await refusal([entry, good]), /entry/);
  });
}

test('more entries than allowed are refused', async () => {
  const entries = Array.from({ length: 12 }, (_, at) => ({ path: `f${at}` }));
  assert.match(await refusal(entries, { ...bundleLimits, entries: 11 }), /limit of 11 entries/);
  assert.equal((await attempt(gzipSync(tarOf(entries)))).reason, null);
});

test('a hundred thousand entries are the most', async () => {
  const entries = Array.from({ length: 100_001 }, (_, at) => ({ path: `f${at}` }));
  assert.match(await refusal(entries), /limit of 100000 entries/);
});

test('what unpacks to too much, or to too many times its size, is refused', async () => {
  const big = { path: 'zeros', content: Buffer.alloc(32 * 1024 * 1024) };
  assert.match(await refusal([big]), /more than 200 times its size/);
  const limits = { ...bundleLimits, ratio: 10_000, unpackedBytes: 20_000_000 };
  assert.match(await refusal([big], limits), /more than 20000000 bytes/);
});

test('what is no gzip, no tar, cut off, damaged or compressed twice is refused', async () => {
  const tar = tarOf([good, { path: 'b', content: Buffer.alloc(4_000, 'x') }]);
  const packed = gzipSync(tar);
  const damaged = Buffer.from(packed);
  damaged.writeUInt32LE(0, damaged.length - 8);
  for (const [bytes, reason] of [
    [tar, /not gzip/],
    [Buffer.alloc(0), /not gzip/],
    [Buffer.from('PK\u0003\u0004 encrypted'), /not gzip/],
    [packed.subarray(0, packed.length - 20), /ends in the middle/],
    [gzipSync(tar.subarray(0, 2_000)), /ends in the middle/],
    [damaged, /gzip/],
    [gzipSync(packed), /compressed twice/],
    [gzipSync(Buffer.alloc(5_120, 'no tar at all ')), /no tar/],
    [gzipSync(end), /no tar/],
    [gzipSync(tarOf([{ path: 'only/', type: 'Directory' }])), /holds no files/],
  ] as const) {
    const { reason: given } = await attempt(bytes);
    assert.match(given ?? 'it was unpacked', reason);
    assert.notEqual(given, null);
  }
});
