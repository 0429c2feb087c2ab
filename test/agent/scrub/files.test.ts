import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmod, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { crc32, deflateSync, gzipSync } from 'node:zlib';
import { request } from 'playwright-core';
import { fromBufferPromise } from 'yauzl';
import { AgentError } from '../../../agent/errors.ts';
import { createScrubber } from '../../../agent/scrub/create-scrubber.ts';
import { mask } from '../../../agent/scrub/scrubber.ts';
import { findCanaries } from '../../support/canaries.ts';
import { temporaryFolder } from '../../support/system.ts';
import { zipOf } from '../../support/zip.ts';

const secret = 'pa$$ "w0rd" & more';
const scrubber = createScrubber({ secrets: [secret], detect: false });

async function scrubbed(name: string, type: string, content: Buffer | string, by = scrubber) {
  using folder = temporaryFolder();
  const path = join(folder.path, name);
  await writeFile(path, content);
  await by.file(path, type);
  assert.deepEqual(await readdir(folder.path), [name], 'something was left over');
  return await readFile(path);
}

async function entriesOf(archive: Buffer): Promise<Record<string, string>> {
  const zip = await fromBufferPromise(archive, { lazyEntries: true });
  const entries: Record<string, string> = {};
  for await (const entry of zip.eachEntry())
    entries[entry.fileName] = await textOf(await zip.openReadStreamPromise(entry));
  return entries;
}

async function refuses(
  name: string,
  type: string,
  content: Buffer,
  by = scrubber,
): Promise<AgentError> {
  using folder = temporaryFolder();
  const path = join(folder.path, name);
  await writeFile(path, content);
  const error: unknown = await by.file(path, type).then(
    () => null,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof AgentError, `was not refused: ${String(error)}`);
  assert.equal(error.code, 'SCRUBBING_FAILED');
  assert.deepEqual(await readdir(folder.path), [name], 'something was left over');
  assert.deepEqual(await readFile(path), content);
  return error;
}

function pngChunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), data]);
  const frame = Buffer.alloc(8);
  frame.writeUInt32BE(data.length, 0);
  frame.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
}

const pngStart = Buffer.concat([
  Buffer.from('89504e470d0a1a0a', 'hex'),
  pngChunk('IHDR', Buffer.from('00000001000000010802000000', 'hex')),
]);
const pngPixels = pngChunk('IDAT', deflateSync(Buffer.from([0, 255, 0, 0])));
const pngEnd = pngChunk('IEND', Buffer.alloc(0));

function pngChunks(picture: Buffer): string[] {
  const types: string[] = [];
  for (let at = 8; at < picture.length;) {
    const length = picture.readUInt32BE(at);
    const body = picture.subarray(at + 4, at + 8 + length);
    assert.equal(crc32(body), picture.readUInt32BE(at + 8 + length), 'checksum');
    types.push(body.toString('latin1', 0, 4));
    at += length + 12;
  }
  return types;
}

describe('text and JSON', () => {
  it('are searched for credentials where a run has no secrets, if that is wanted', async () => {
    const key = `AKIA${'IOSFODNN7EXAMPLE'}`;
    for (const [detect, expected] of [
      [true, `with ${mask}\n`],
      [false, `with ${key}\n`],
    ] as const) {
      const by = createScrubber({ secrets: [], detect });
      const seen = await scrubbed('a.log', 'text/plain', `with ${key}\n`, by);
      assert.equal(seen.toString(), expected);
    }
  });

  it('keeps the mode of a file, and leaves a file without secrets alone', async () => {
    using folder = temporaryFolder();
    const path = join(folder.path, 'a.sh');
    await writeFile(path, `echo ${secret}\n`);
    await chmod(path, 0o750);
    await scrubber.file(path, 'text/plain');
    assert.equal((await stat(path)).mode & 0o7777, 0o750);
    assert.equal(await readFile(path, 'utf8'), `echo ${mask}\n`);
    const { ino } = await stat(path);
    await scrubber.file(path, 'text/plain');
    assert.equal((await stat(path)).ino, ino);
  });

  it('stays JSON when a number, a key or a whole object was secret', async () => {
    const json = createScrubber({ secrets: ['123456789', '{"type":"account"}'], detect: false });
    const result = await scrubbed(
      'a.json',
      'application/json',
      '{"pin": 123456789, "k 123456789": {"type":"account"}, "big": 12345678901234567890.0, "n": 1}',
      json,
    );
    assert.deepEqual(JSON.parse(result.toString().replace('12345678901234567890.0', '"kept"')), {
      ...{ pin: mask, [`k ${mask}`]: { type: 'account' }, big: mask, n: 1 },
    });
  });

  it('writes numbers as they were', async () => {
    const text = `{"big": 90071992547409931234, "exact": 1.10, "secret": ${JSON.stringify(secret)}}`;
    const result = await scrubbed('a.json', 'application/json', text);
    assert.equal(result.toString(), `{"big":90071992547409931234,"exact":1.10,"secret":"${mask}"}`);
  });

  it('finds a secret in JSON however it was escaped', async () => {
    const mixed = JSON.stringify(secret).replace('w', '\\u0077').replace('$', '\\u0024');
    assert.equal((await scrubbed('a.json', '', `{"a":${mixed}}`)).toString(), `{"a":"${mask}"}`);
  });

  it('hides the credentials of a HAR without knowing any secret', async () => {
    const har = {
      log: {
        entries: [
          {
            pageref: 'page@3fa85f6457174562b3fc2c963f66afa6',
            request: {
              headers: [
                { name: 'Authorization', value: 'Bearer abc' },
                { name: 'Accept', value: '*/*' },
              ],
              cookies: [{ name: 'session', value: 'abc' }],
            },
            response: { headers: [{ name: 'set-cookie', value: 'a=b' }] },
          },
        ],
      },
    };
    const none = createScrubber({ secrets: [], detect: false });
    const result = await scrubbed('a.har', '', JSON.stringify(har, null, 2), none);
    const [entry] = (JSON.parse(result.toString()) as typeof har).log.entries;
    assert.deepEqual(entry?.request.headers, [
      { name: 'Authorization', value: mask },
      { name: 'Accept', value: '*/*' },
    ]);
    assert.equal(entry.request.cookies[0]?.value, mask);
    assert.equal(entry.response.headers[0]?.value, mask);
    assert.equal(entry.pageref, 'page@3fa85f6457174562b3fc2c963f66afa6');
  });
});

describe('pictures and films', () => {
  it('removes secrets from the text of a PNG, compressed or not, and keeps its checksums', async () => {
    const picture = Buffer.concat([
      pngStart,
      pngChunk('tEXt', Buffer.from(`Comment\0${secret}`)),
      pngChunk('zTXt', Buffer.concat([Buffer.from('Comment\0\0'), deflateSync(secret)])),
      pngChunk('zTXt', Buffer.concat([Buffer.from('Comment\0\0'), deflateSync('harmless')])),
      pngChunk('iTXt', Buffer.concat([Buffer.from('XML\0\x01\0en\0x\0'), deflateSync(secret)])),
      pngChunk('eXIf', Buffer.from(`II*\0${secret}`)),
      pngPixels,
      pngEnd,
      Buffer.from(secret),
    ]);
    const result = await scrubbed('a.png', 'image/png', picture);
    assert.deepEqual(pngChunks(result), ['IHDR', 'tEXt', 'zTXt', 'eXIf', 'IDAT', 'IEND']);
    assert.deepEqual(findCanaries(result, [secret]), []);
    assert.ok(result.includes(pngPixels));
  });

  for (const [name, type, start] of [
    ['a.jpeg', 'image/jpeg', 'ffd8ffe1003045786966000049492a00'],
    ['a.webp', 'image/webp', '524946460001000057454250455849460001'],
    ['a.webm', 'video/webm', '1a45dfa39f4286810142f7810142f2810442'],
    ['a.mp4', 'video/mp4', '00000018667479706d703432000000006d70'],
    ['a.bin', 'application/octet-stream', '000102030405060708090a0b0c0d0e0f1011'],
  ] as const) {
    it(`overwrites secrets in the metadata of ${name} without moving anything`, async () => {
      const around = Buffer.concat([Buffer.from(start, 'hex'), Buffer.alloc(1_048_570, 7)]);
      const film = Buffer.concat([
        around,
        Buffer.from(secret),
        around,
        Buffer.from(secret, 'utf16le'),
        around,
      ]);
      const result = await scrubbed(name, type, film);
      const expected = Buffer.concat([
        around,
        Buffer.alloc(secret.length, '*'),
        around,
        Buffer.alloc(secret.length * 2, '*'),
        around,
      ]);
      assert.ok(result.equals(expected));
    });
  }
});

/** Every path of a resource in a value, anywhere. */
function referencesIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) =>
    key === '_file' && typeof item === 'string' ? [item] : referencesIn(item),
  );
}

describe('traces', () => {
  it('scrubs a trace of Playwright, which can still be read and misses nothing', async () => {
    const server = createServer((incoming, outgoing) => {
      incoming.resume();
      outgoing.setHeader('set-cookie', 'session=very-private-session');
      outgoing.setHeader('content-type', 'application/json');
      outgoing.end(JSON.stringify({ token: secret, url: incoming.url }));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    using folder = temporaryFolder();
    const path = join(folder.path, 'trace.zip');
    const hash = createHash('sha1').update('a').digest('hex');
    try {
      const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const context = await request.newContext({
        extraHTTPHeaders: { 'x-api-key': 'only-a-header' },
      });
      await context.tracing.start({ snapshots: true });
      for (const name of ['a', 'b', 'c']) {
        await context.post(`${origin}/${name}?q=${encodeURIComponent(secret)}`, {
          data: { secret, basic: Buffer.from(`user:${secret}`).toString('base64') },
          headers: { authorization: 'Bearer only-a-header-too' },
        });
      }
      await context.tracing.stop({ path });
      await context.dispose();
    } finally {
      server.close();
    }
    const before = await entriesOf(await readFile(path));
    assert.ok(findCanaries(await readFile(path), [secret]).length > 3);
    // A piece of a hash as a secret must not tear the references apart.
    const resource = Object.keys(before).find((name) => name.startsWith('resources/')) ?? hash;
    const piece = resource.slice('resources/'.length + 4, 'resources/'.length + 16);
    await createScrubber({ secrets: [secret, piece], detect: false }).file(path, 'application/zip');

    const archive = await readFile(path);
    const after = await entriesOf(archive);
    assert.deepEqual(Object.keys(after), Object.keys(before));
    assert.deepEqual(findCanaries(archive, [secret, 'very-private-session', 'only-a-header']), []);
    const lines = ['trace.trace', 'trace.network'].flatMap((name) =>
      (after[name] ?? '')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
    );
    const references = lines.flatMap(referencesIn);
    assert.ok(references.length >= 6, String(references.length));
    for (const reference of references) assert.ok(reference in after, reference);
    JSON.parse(after['trace.stacks'] ?? '');
  });
});

describe('traces', () => {
  const snapshot = (html: unknown): string =>
    `${JSON.stringify({ type: 'frame-snapshot', snapshot: { callId: 'a', html } })}\n`;
  const lineOf = async (html: unknown) => {
    const line = await scrubbed('a.trace', '', snapshot(html) + snapshot(['P', {}, 'next']));
    return line.toString();
  };

  it('hides a secret that several elements of a snapshot show together', async () => {
    const parts = [secret.slice(0, 3), secret.slice(3, 9), secret.slice(9)];
    const html = [
      'BODY',
      {},
      'a ',
      ['B', {}, parts[0]],
      ['I', { class: 'x' }, parts[1]],
      parts[2],
      ' z',
    ];
    const line = await lineOf(html);
    assert.equal(
      line.split('\n')[0],
      snapshot(['BODY', {}, 'a ', ['B', {}, mask], ['I', { class: 'x' }, mask], mask, ' z']).trim(),
    );
  });

  it('leaves one without a secret as it is, references to earlier snapshots too', async () => {
    const html = ['BODY', {}, [[1, 4]], ['B', {}, secret.slice(0, 3)], ['I', {}, 'other']];
    assert.equal(await lineOf(html), snapshot(html) + snapshot(['P', {}, 'next']));
  });

  it('lose their pictures where nobody could look for secrets in them', async () => {
    using folder = temporaryFolder();
    const path = join(folder.path, 'trace.zip');
    const [frame, text] = [Buffer.from('frame'), Buffer.from('{}')];
    await writeFile(path, await zipOf({ 'screencast/page@1-2.jpeg': frame, 'a.trace': text }));
    await scrubber.file(path, 'application/zip', { withoutPictures: true });
    assert.deepEqual(await entriesOf(await readFile(path)), { 'a.trace': '{}' });
  });
});

describe('archives', () => {
  it('scrubs the names of entries, and keeps two apart that become the same', async () => {
    const other = 'another-s3cret';
    const both = createScrubber({ secrets: ['first-s3cret', other], detect: false });
    const zip = await zipOf({
      'logs/first-s3cret.txt': Buffer.from('1'),
      [`logs/${other}.txt`]: Buffer.from('2'),
    });
    const entries = await entriesOf(await scrubbed('a.zip', 'application/zip', zip, both));
    assert.deepEqual(entries, { [`logs/${mask}.txt`]: '1', [`logs/${mask} 2.txt`]: '2' });
  });

  it('goes by what a file is, not by what it is called', async () => {
    const zip = await zipOf({ 'a.txt': Buffer.from(secret) });
    assert.deepEqual(await entriesOf(await scrubbed('a.txt', 'text/plain', zip)), {
      'a.txt': mask,
    });
  });

  it('opens archives three levels deep and refuses a fourth', async () => {
    let zip = await zipOf({ 'a.txt': Buffer.from(secret) });
    for (let depth = 1; depth <= 3; depth += 1) zip = await zipOf({ 'inner.zip': zip });
    const result = await scrubbed('a.zip', 'application/zip', zip);
    assert.deepEqual(findCanaries(result, [secret]), []);
    const error = await refuses('a.zip', 'application/zip', await zipOf({ 'inner.zip': zip }));
    assert.match(error.message, /deeper than 3/);
  });

  it('refuses what it cannot open: encrypted, of an unknown format, damaged', async () => {
    const zip = await zipOf({ 'a.txt': Buffer.from(secret.repeat(50)) });
    const encrypted = Buffer.from(zip);
    const central = encrypted.indexOf(Buffer.from('504b0102', 'hex'));
    encrypted.writeUInt16LE(encrypted.readUInt16LE(central + 8) | 1, central + 8);
    assert.match((await refuses('a.zip', 'application/zip', encrypted)).message, /encrypted/);
    await refuses('a.zip', 'application/zip', zip.subarray(0, zip.length - 30));
    const damaged = Buffer.from(zip);
    damaged.fill(0xff, 40, 60);
    await refuses('a.zip', 'application/zip', damaged);
    await refuses(
      'a.7z',
      'application/x-7z-compressed',
      Buffer.from('377abcaf271c00049fee', 'hex'),
    );
    await refuses('a.gz', 'application/gzip', gzipSync(secret.repeat(99)).subarray(0, 30));
  });

  it('refuses what unpacks to too much, before it fills the disk', async () => {
    const zeros = gzipSync(Buffer.alloc(2_000_000));
    const bomb = await zipOf(
      Object.fromEntries(Array.from({ length: 8 }, (_, n) => [`${n}.gz`, zeros])),
    );
    const bounded = createScrubber({
      ...{ secrets: [secret], detect: false, maxUnpackedBytes: 10_000_000 },
    });
    assert.match(
      (await refuses('bomb.zip', 'application/zip', bomb, bounded)).message,
      /unpacks to more/,
    );
  });

  it('does not say the secret when it refuses', async () => {
    const zip = await zipOf({ [`${secret}.zip`]: Buffer.from('PK\x03\x04 broken') });
    const error = await refuses('a.zip', 'application/zip', zip);
    assert.deepEqual(findCanaries(Buffer.from(`${error.message} ${error.stack}`), [secret]), []);
  });

  it('refuses a PDF document with a secret in a compressed part', async () => {
    const pdf = (content: string): Buffer =>
      Buffer.concat([
        Buffer.from('%PDF-1.4\n%\xff\xff\n1 0 obj <</Filter/FlateDecode>> stream\n', 'latin1'),
        deflateSync(content),
        Buffer.from(`\nendstream endobj 2 0 obj <</Title(${secret})>> endobj`),
      ]);
    await refuses('a.pdf', 'application/pdf', pdf(`BT (${secret}) Tj ET`));
    const result = await scrubbed('a.pdf', 'application/pdf', pdf('BT (hello) Tj ET'));
    assert.deepEqual(findCanaries(result, [secret]), []);
    assert.equal(result.length, pdf('BT (hello) Tj ET').length);
  });
});
