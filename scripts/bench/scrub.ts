/** What removing secrets costs: CPU of this process, over texts like those of runs. */
import { randomBytes } from 'node:crypto';
import { createReadStream, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Writable } from 'node:stream';
import { createScrubber } from '../../agent/scrub/create-scrubber.ts';
import { temporaryFolder } from '../../test/support/system.ts';
import type { Bench } from './load.ts';
import { inTurns, median, ownCpuMs, show } from './measure.ts';

const logBytes = 100_000_000;
const secretCount = 50;

const printable = String.fromCharCode(...Array.from({ length: 94 }, (_, index) => 33 + index));
const anyPrintable = (count: number): string =>
  [...randomBytes(count)].map((byte) => printable[byte % printable.length]).join('');
/** Passwords as people and programs make them. */
const kinds: Readonly<Record<string, () => string>> = {
  base64: () => randomBytes(15).toString('base64'),
  'any printable character': () => anyPrintable(14),
  'letters beyond ASCII': () => `${anyPrintable(8)}äö${anyPrintable(4)}`,
};

/** Lines as programs write them; one in a thousand holds a secret. */
function logOf(bytes: number, secrets: readonly string[]): Buffer {
  const lines: string[] = [];
  for (let index = 0, size = 0; size < Math.min(bytes, 4_000_000); index += 1) {
    const secret =
      index % 1_000 === 0
        ? encodeURIComponent(secrets[(index / 1_000) % secrets.length] ?? '')
        : '';
    const line = `2026-11-21T10:${index % 60}:12.${index % 1_000}Z INFO request ${index} GET https://example.com/api/v1/items/${(index * 7_919).toString(16)}?page=${index % 30}&k=${secret} {"status":200,"duration":${(index * 3) % 977},"user":"user-${index % 311}","message":"The quick brown fox jumps over"}\n`;
    lines.push(line);
    size += line.length;
  }
  const part = Buffer.from(lines.join(''));
  return Buffer.alloc(bytes, part);
}

/** CPU in ms. The first round also pays for compiling. */
async function measure(rounds: number, work: () => Promise<void> | void): Promise<number> {
  const once = async (): Promise<number> => {
    const start = ownCpuMs();
    await work();
    return ownCpuMs() - start;
  };
  return median((await inTurns({ once }, rounds)).once);
}

const nowhere = (): Writable =>
  new Writable({
    write: (_chunk, _encoding, done) => done(),
  });

export async function benchScrub({ rounds }: Bench): Promise<void> {
  using folder = temporaryFolder();
  const path = join(folder.path, 'run.log');
  const secretsOf = (make: () => string) => Array.from({ length: secretCount }, make);
  const secrets = secretsOf(kinds['base64'] ?? String);
  const log = logOf(logBytes, secrets);
  writeFileSync(path, log);
  const megabytes = logBytes / 1_000_000;
  for (const [kind, make] of Object.entries(kinds)) {
    for (const detect of [false, true]) {
      const scrubber = createScrubber({
        secrets: kind === 'base64' ? secrets : secretsOf(make),
        detect,
      });
      const inMemory = await measure(rounds, async () => {
        const stream = scrubber.stream();
        await pipeline(
          async function* () {
            for (let at = 0; at < log.length; at += 262_144) yield log.subarray(at, at + 262_144);
          },
          stream,
          nowhere(),
        );
      });
      const start = performance.now();
      writeFileSync(path, log);
      const written = performance.now();
      await scrubber.file(path, 'text/plain');
      const fileMs = performance.now() - written;
      show(`scrub${detect ? ' and detect' : ''}, ${secretCount} secrets, ${kind}`, {
        'of a second of CPU': `${(megabytes / (inMemory / 1_000)).toFixed(0)} MB/s`,
        '100 MB file': `${(fileMs / 1_000).toFixed(2)} s`,
        'plain writing of it': `${((written - start) / 1_000).toFixed(2)} s`,
      });
    }
  }
  const copied = await measure(rounds, async () => {
    await pipeline(createReadStream(path, { highWaterMark: 262_144 }), nowhere());
  });
  show('plain reading of it', {
    'of a second of CPU': `${(statSync(path).size / 1_000 / copied).toFixed(0)} MB/s`,
  });
  const result = {
    url: 'https://example.com/',
    headers: { 'content-type': 'text/html', server: 'x' },
    body: 'ok '.repeat(200),
    phases: { dns: 1.2, tcp: 2.3 },
  };
  for (const [label, list, detect] of [
    ['no secrets', [], false],
    ['no secrets, detect', [], true],
    ['10 secrets, detect', secrets.slice(0, 10), true],
  ] as const) {
    const times = 10_000;
    const cost = await measure(rounds, () => {
      for (let index = 0; index < times; index += 1)
        createScrubber({ secrets: list, detect }).value(result);
    });
    show(`a light run, ${label}`, { CPU: `${((cost / times) * 1_000).toFixed(1)} µs` });
  }
}
