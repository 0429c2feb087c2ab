/** Generated secrets in every form of `secret-forms.ts`, through every carrier: none may be readable. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { gunzipSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import type { AssignedCheck } from '@monitor/shared/contract/agent-protocol.ts';
import type { CheckType } from '@monitor/shared/contract/checks/index.ts';
import { systemClock } from '@monitor/shared/clock.ts';
import { pcapFile } from '../../agent/net/capture/pcap-file.ts';
import { runners } from '../../agent/runners/index.ts';
import { createScrubber } from '../../agent/scrub/create-scrubber.ts';
import { isRemovable } from '../../agent/scrub/needles.ts';
import type { Scrubber } from '../../agent/scrub/scrubber.ts';
import { makeAttempt } from '../../agent/worker/attempt.ts';
import { ProcessTime } from '../../agent/worker/process-time.ts';
import { answerTo, startDnsServer } from '../support/dns-server.ts';
import { withoutCode } from '../support/plain.ts';
import { testSeed } from '../support/random.ts';
import { definitionOf, runnerContext } from '../support/runner-context.ts';
import { scriptWorld } from '../support/script-context.ts';
import { secretForms } from '../support/secret-forms.ts';
import { httpServer, tcpServer } from '../support/servers.ts';
import { temporaryFolder } from '../support/system.ts';
import { unzipped, zipOf } from '../support/zip.ts';

const seed = testSeed() | 0;
console.log(`# TEST_SEED=${seed}`);

const character = (code: number): string => String.fromCodePoint(code);
const secretText = fc
  .string({
    unit: fc.oneof(
      { weight: 3, arbitrary: fc.integer({ min: 0x20, max: 0x7e }).map(character) },
      { weight: 3, arbitrary: fc.integer({ min: 0xa1, max: 0x17f }).map(character) },
      { weight: 2, arbitrary: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }) },
      { weight: 1, arbitrary: fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }) },
    ),
    minLength: 4,
    maxLength: 40,
  })
  .filter((text) => isRemovable(text) && text.trim() === text);

/** What stands around a form by its nature. */
const surroundings =
  /\*+|<Buffer |\{\s*"type":\s*"Buffer",\s*"data":\s*|\{"bytes":\{|\{\s*body: \{\s*bytes: |Uint8Array\(\d+\) |\[\s*(?=\*)|\s*[\]}]|( 2e)*( \.\.\.)? \d+ more bytes?|[<>]|(?:=|%3D)+/g;

/** How many characters of a form may stay: base64 of base64 mixes up to four with those around. */
const mayStay = (name: string): number => (name.startsWith('base64') ? 12 : 0);

function assertHidden(left: string, name: string, secret: string): void {
  const readable = left.replaceAll(surroundings, '');
  assert.ok(
    readable.length <= mayStay(name),
    `${JSON.stringify(secret)} as ${name} left ${JSON.stringify(left)}`,
  );
}

type Named = [name: string, form: Buffer];

function formsOf(secret: string, kind: 'text' | 'bytes'): Named[] {
  return Object.entries(secretForms).flatMap(([name, write]): Named[] => {
    const form = write(secret);
    if (form === null) return [];
    const bytes = Buffer.from(form);
    // Texts are UTF-8 when they come to the scrubber: other bytes stand in files.
    const isText = bytes.toString().length > 0 && Buffer.from(bytes.toString()).equals(bytes);
    return kind === 'bytes' || isText ? [[name, bytes]] : [];
  });
}

test('there are at least 40 forms, and most secrets have nearly all of them', () => {
  assert.ok(Object.keys(secretForms).length >= 40);
  assert.ok(formsOf('Pässwort-of-the-shop', 'bytes').length >= 40);
});

test('no form of a secret stays in a text', () => {
  fc.assert(
    fc.property(secretText, (secret) => {
      const scrubber = createScrubber({ secrets: [secret], detect: false });
      for (const [name, form] of formsOf(secret, 'text'))
        assertHidden(scrubber.text(`<${form.toString()}>`), name, secret);
    }),
    { seed, numRuns: 60, endOnFailure: true },
  );
});

const sampled = fc.sample(
  secretText.filter(({ length }) => length >= 8),
  { numRuns: 6, seed },
);
const secrets = ['Pässwort-of-the-shop', 'Straße 42/日本', ...sampled];

/** In a carrier, forms stand in lines of their own between these. */
const begin = '\n>>> ';
const end = ' <<<\n';

const lines = (forms: readonly Named[]): Buffer =>
  Buffer.concat(
    forms.flatMap(([name, form]) => [
      Buffer.from(`\n${name}:`),
      Buffer.from(begin),
      form,
      Buffer.from(end),
    ]),
  );

function assertLinesHidden(bytes: Buffer, forms: readonly Named[], secret: string): void {
  let at = 0;
  for (const [name] of forms) {
    at = bytes.indexOf(`\n${name}:${begin}`, at);
    assert.ok(at >= 0, `${name} is gone with its surroundings`);
    at += Buffer.byteLength(`\n${name}:${begin}`);
    const to = bytes.indexOf(end, at);
    assertHidden(bytes.subarray(at, to).toString('latin1'), name, secret);
  }
}

async function throughFile(
  scrubber: Scrubber,
  name: string,
  contentType: string,
  content: Buffer,
): Promise<Buffer> {
  using folder = temporaryFolder();
  const path = join(folder.path, name);
  await writeFile(path, content);
  await scrubber.file(path, contentType);
  return await readFile(path);
}

const texts = (forms: readonly Named[]): Record<string, string> =>
  Object.fromEntries(forms.map(([name, form]) => [name, form.toString()]));

function assertTextsHidden(
  found: Record<string, unknown>,
  forms: readonly Named[],
  secret: string,
): void {
  for (const [name] of forms) assertHidden(String(found[name]), name, secret);
}

for (const secret of secrets) {
  const scrubber = createScrubber({ secrets: [secret], detect: false });
  const forms = formsOf(secret, 'bytes');
  const inText = formsOf(secret, 'text');
  const named = JSON.stringify(secret);

  test(`${named} stays in no log, plain or packed, however it is cut`, async () => {
    const log = lines(forms);
    assertLinesHidden(await throughFile(scrubber, 'a.log', 'text/plain', log), forms, secret);
    const packed = await throughFile(scrubber, 'a.gz', 'application/gzip', gzipSync(log));
    assertLinesHidden(gunzipSync(packed), forms, secret);
    const stream = scrubber.stream();
    const received: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => received.push(chunk));
    for (let at = 0; at < log.length; at += 7) stream.write(log.subarray(at, at + 7));
    await new Promise((resolve) => stream.end(resolve));
    assertLinesHidden(Buffer.concat(received), forms, secret);
  });

  test(`${named} stays in no packets`, async () => {
    const packets = pcapFile(lines(forms));
    const scrubbed = await throughFile(
      scrubber,
      'capture.pcap',
      'application/vnd.tcpdump.pcap',
      packets,
    );
    assert.equal(scrubbed.length, packets.length);
    assertLinesHidden(scrubbed, forms, secret);
  });

  test(`${named} stays in no trace and in no report`, async () => {
    const line = Buffer.from(`${JSON.stringify({ type: 'console', texts: texts(inText) })}\n`);
    const trace = await zipOf({ 'trace.trace': line, 'resources/a.txt': lines(forms) });
    const entries = await unzipped(
      await throughFile(scrubber, 'trace.zip', 'application/zip', trace),
    );
    const lineOf = (json: Buffer | undefined): Record<string, unknown> =>
      (JSON.parse((json ?? Buffer.alloc(0)).toString()) as { texts: Record<string, unknown> })
        .texts;
    assertTextsHidden(lineOf(entries['trace.trace']), inText, secret);
    assertLinesHidden(entries['resources/a.txt'] ?? Buffer.alloc(0), forms, secret);

    const archive = (await zipOf({ 'report.json': line })).toString('base64');
    const report = Buffer.from(`<script>x = "data:application/zip;base64,${archive}"</script>`);
    const html = await throughFile(scrubber, 'index.html', 'text/html', report);
    const inside = /base64,([^"]*)"/.exec(html.toString())?.[1] ?? '';
    const { 'report.json': json } = await unzipped(Buffer.from(inside, 'base64'));
    assertTextsHidden(lineOf(json), inText, secret);
  });
}

const noFiles = {
  add: ({ name }: { name: string }) => Promise.resolve(`artifact:${name}`),
  finish: () => Promise.resolve([]),
  discard: () => Promise.resolve(),
};

/** One attempt of a check with the real runner of its type; the result as it leaves the agent. */
async function resultOf(
  type: CheckType,
  definition: unknown,
  secret: string,
  given: Partial<Parameters<typeof makeAttempt>[1]> = {},
): Promise<string> {
  const check: AssignedCheck = {
    ...{ id: '6d1c2a34-58a4-4f0e-9b9e-2f1f6f1f0a01', revision: 1, type, name: 'a', frequency: 1 },
    ...{ frequencyOffset: 1, runParallel: false, locations: ['here'], scheduleFrom: 0 },
    ...{ retryStrategy: null, definition: definition as Record<string, unknown>, proxyUrl: null },
    ...withoutCode,
    environment: [{ key: 'SECRET', value: secret, secret: true }],
    detectSecrets: false,
  };
  const outcome = await makeAttempt(
    { check, run: runnerContext().run, environmentUrl: null, latestStart: Infinity },
    {
      ...{ clock: systemClock, runners: { ...runners }, network: runnerContext(20_000).network },
      ...{
        processTime: new ProcessTime({ clock: systemClock }),
        scripting: null,
        scriptingProblem: null,
      },
      ...{ artifactsOf: () => noFiles, ...given },
    },
    new AbortController().signal,
  );
  assert.equal(outcome.hasErrors, false, outcome.reason ?? '');
  return JSON.stringify(outcome);
}

const secret = 'Pässwort-of-the-shop';
/** What of it, or of a form of it, would tell somebody what it is. */
const telling = /sswort|of-the-sh|c3a47373|c3 a4 73|c3:a4:73|195,164|w6Rzc3|pHNzd29|xOkc3N3b3/i;

test('a header in UTF-8 and a body in ISO-8859-1 are those of no secret, in URL and API checks', async () => {
  const forms = formsOf(secret, 'text');
  await using server = await httpServer((request, response) => {
    const status = request.url === '/fails' ? 500 : 200;
    response.writeHead(status, { 'content-type': 'text/plain' });
    response.socket?.on('error', () => undefined);
    response.end(Buffer.from(`${secret} ${texts(forms)['html names'] ?? ''}`, 'latin1'));
  });
  // Written as bytes: Node itself sends no UTF-8 in a header.
  await using raw = await tcpServer((socket) => {
    socket.once('data', () => {
      const headers = forms
        .filter(([, form]) => !form.includes('\n'))
        .map(([, form], index) => `x-${index}: ${form.toString()}\r\n`)
        .join('');
      const body = Buffer.concat([Buffer.from(secret, 'latin1'), lines(formsOf(secret, 'bytes'))]);
      socket.write(`HTTP/1.1 500 No\r\ncontent-type: text/plain\r\n${headers}`);
      socket.end(Buffer.concat([Buffer.from(`content-length: ${body.length}\r\n\r\n`), body]));
    });
  });
  for (const type of ['URL', 'API'] as const) {
    for (const port of [server.port, raw.port]) {
      const url = `http://127.0.0.1:${port}/fails`;
      const result = await resultOf(type, definitionOf(type, { method: 'GET', url }), secret);
      assert.match(result, /\*\*\*\*\*\*\*\*\*/);
      assert.doesNotMatch(result, telling);
    }
  }
});

test('what a TCP service and a name server answer holds no form of a secret', async () => {
  await using server = await tcpServer((socket) => {
    socket.end(lines(formsOf(secret, 'bytes')));
  });
  const tcp = definitionOf('TCP', {
    ...{ hostname: '127.0.0.1', port: server.port, data: 'x' },
    assertions: [{ source: 'RESPONSE_DATA', property: '', comparison: 'CONTAINS', target: 'no' }],
  });
  const dialogue = await resultOf('TCP', tcp, secret);
  assert.match(dialogue, /\*\*\*\*\*\*\*\*\*/);
  assert.doesNotMatch(dialogue, telling);

  await using names = await startDnsServer((query) => {
    const records = formsOf(secret, 'text').flatMap(([, form]) =>
      form.length > 250 ? [] : [{ name: query.name, type: 'TXT' as const, ttl: 1, data: [form] }],
    );
    return answerTo(query, { answers: records.slice(0, 40) });
  });
  const dns = definitionOf('DNS', {
    ...{ query: 'shop.example', recordType: 'TXT', nameServer: '127.0.0.1', port: names.port },
    protocol: 'TCP',
  });
  const answer = await resultOf('DNS', dns, secret);
  assert.match(answer, /\*\*\*\*\*\*\*\*\*/);
  assert.doesNotMatch(answer, telling);
});

test('what a script prints by accident holds no form of a secret', async (t) => {
  const world = await scriptWorld(t, { isWarm: false });
  const script = `
    const bytes = Buffer.from(process.env.SECRET);
    console.log(bytes, bytes.toJSON(), JSON.stringify(bytes), bytes.toString('latin1'));
    console.log(process.env.SECRET.toUpperCase(), escape(process.env.SECRET));
    console.log(Buffer.from(bytes.toString('base64')).toString('base64'));
    throw new Error(bytes.toString('hex').replace(/../g, '$& ').toUpperCase() + process.env.SECRET);`;
  const result = await resultOf('MULTI_STEP', definitionOf('MULTI_STEP', {}, { script }), secret, {
    scripting: world.scripting,
  });
  assert.match(result, /\*\*\*\*\*\*\*\*\*/);
  assert.doesNotMatch(result, telling);
});
