import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { createScrubber } from '../../../agent/scrub/create-scrubber.ts';
import { encodings } from '../../../agent/scrub/encodings.ts';
import { needlesOf } from '../../../agent/scrub/needles.ts';
import { mask } from '../../../agent/scrub/scrubber.ts';
import { canarySecrets, encodingsOf, findCanaries } from '../../support/canaries.ts';
import { isLong, seededRandom, testSeed } from '../../support/random.ts';
import { temporaryFolder } from '../../support/system.ts';
import { zipOf } from '../../support/zip.ts';

const seed = testSeed();
console.log(`# TEST_SEED=${seed}`);
const random = seededRandom(seed);
const secrets = canarySecrets(random).slice(0, isLong ? 64 : 16);
const scrubber = createScrubber({ secrets, detect: false });

/** Every secret in every form, one on each line. */
const allFormsOf = (list: readonly string[]): Buffer =>
  Buffer.concat(
    list.flatMap((secret) =>
      Object.values(encodingsOf(secret)).flatMap((form) => [
        Buffer.from('value: '),
        form,
        Buffer.from('\n'),
      ]),
    ),
  );
const everything = allFormsOf(secrets);

/** For files, so that the search in archives of archives stays quick; two of them are long. */
const some = secrets.slice(0, 16);
const someForms = allFormsOf(some);

async function scrubbedFile(name: string, contentType: string, content: Buffer): Promise<Buffer> {
  using folder = temporaryFolder();
  const path = join(folder.path, name);
  await writeFile(path, content);
  await scrubber.file(path, contentType);
  return await readFile(path);
}

test('there are at least 24 encodings, and the canaries come in at least 24 of their own', () => {
  assert.ok(Object.keys(encodings).length >= 24, String(Object.keys(encodings).length));
  assert.ok(Object.keys(encodingsOf('abcdefgh')).length >= 24);
  assert.ok(findCanaries(everything, secrets).length >= secrets.length * 24);
});

test('every form of every canary has a needle', () => {
  const missing = secrets.flatMap((secret, index) => {
    const needles = needlesOf(secret);
    return Object.entries(encodingsOf(secret))
      .filter(
        ([, form]) =>
          !needles.some(({ bytes }) =>
            form.toString('latin1').toLowerCase().includes(bytes.toString('latin1').toLowerCase()),
          ),
      )
      .map(([name]) => `secret ${index} as ${name}: ${JSON.stringify(secret.slice(0, 80))}`);
  });
  assert.deepEqual(missing, []);
});

test('no canary passes through a text', () => {
  const text = secrets
    .flatMap((secret) => Object.entries(encodingsOf(secret)))
    .filter(([name]) => !name.startsWith('utf-16'))
    .map(([, form]) => form.toString())
    .join('\n');
  assert.deepEqual(findCanaries(Buffer.from(scrubber.text(text)), secrets), []);
});

test('no canary passes through a value, as text, as key or in base64', () => {
  const value = secrets.map((secret) => ({
    [`key ${secret}`]: [secret, { deep: `x${secret}y` }],
    body: Buffer.from(`{"a":${JSON.stringify(secret)}}`).toString('base64'),
    headers: { 'x-custom': secret, link: encodeURIComponent(secret) },
    auth: `Basic ${Buffer.from(`user:${secret}`).toString('base64')}`,
  }));
  assert.deepEqual(findCanaries(Buffer.from(JSON.stringify(scrubber.value(value))), secrets), []);
});

test('no canary passes through a stream, however it is cut', async () => {
  const stream = scrubber.stream();
  const received: Buffer[] = [];
  stream.on('data', (chunk: Buffer) => received.push(chunk));
  for (let at = 0; at < everything.length;) {
    const size = 1 + Math.floor(random() * random() * 20_000);
    stream.write(everything.subarray(at, at + size));
    at += size;
  }
  await new Promise((resolve) => stream.end(resolve));
  assert.deepEqual(findCanaries(Buffer.concat(received), secrets), []);
});

const json = Buffer.from(
  some.map((secret) => JSON.stringify({ secret, nested: JSON.stringify({ secret }) })).join('\n'),
);

const kinds: [name: string, contentType: string, content: () => Buffer | Promise<Buffer>][] = [
  ['run.log', 'text/plain', () => someForms],
  ['run.log', 'application/octet-stream', () => someForms],
  [
    'page.html',
    'text/html',
    () => Buffer.from(`<html>${some.map((s) => encodingsOf(s)['html &#39;']).join('<br>')}`),
  ],
  ['data.json', 'application/json', () => Buffer.from(JSON.stringify(some, null, 2))],
  ['data.jsonl', 'application/x-ndjson', () => json],
  ['cut.json', 'application/json', () => json.subarray(0, json.length - 5)],
  ['run.log.gz', 'application/gzip', () => gzipSync(someForms)],
  ['run.log.br', 'application/brotli', () => brotliCompressSync(json)],
  [
    'film.webm',
    'video/webm',
    () => Buffer.concat([Buffer.from('1a45dfa3', 'hex'), Buffer.alloc(64), someForms]),
  ],
  [
    'trace.zip',
    'application/zip',
    () => zipOf({ 'trace.trace': json, 'resources/a.txt': someForms }),
  ],
  [
    'all.zip',
    'application/zip',
    async () =>
      zipOf({
        'inner.zip': await zipOf({
          'deep.zip': await zipOf({ 'a.txt': someForms, 'b.json': json }),
        }),
        'logs/run.log.gz': gzipSync(someForms),
        [`dir/${encodeURIComponent(some[0] ?? '')}.txt`]: Buffer.from('named after a secret'),
      }),
  ],
  [
    'index.html',
    'text/html',
    async () =>
      Buffer.from(
        `<html><script>window.report = "data:application/zip;base64,${(await zipOf({ 'report.json': json })).toString('base64')}";</script>`,
      ),
  ],
];

for (const [name, contentType, content] of kinds) {
  test(`no canary passes through the file ${name} of type ${contentType}`, async () => {
    const original = await content();
    assert.notDeepEqual(
      findCanaries(original, some),
      [],
      'the canaries are not there to begin with',
    );
    const scrubbed = await scrubbedFile(name, contentType, original);
    assert.deepEqual(findCanaries(scrubbed, some), []);
  });
}

test('text without secrets is left as it is', async () => {
  const text = `nothing ${mask} to {"see": "here"} %41 &amp; aGVsbG8gd29ybGQ=\r\n\u00e9`;
  assert.equal(scrubber.text(text), text);
  assert.deepEqual(await scrubbedFile('a.txt', 'text/plain', Buffer.from(text)), Buffer.from(text));
});
