/** `npm run bench -- scrub`: what removing secrets costs: CPU of this process, over a log like those of programs. */
import { randomBytes } from 'node:crypto';
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createScrubber } from '../../agent/scrub/create-scrubber.ts';
import type { Bench } from './load.ts';
import { inTurns, median, show } from './measure.ts';

const megabytes = 100;
const secretCount = 50;
const pieceBytes = 262_144;

const anyPrintable = (count: number): string =>
  [...randomBytes(count)].map((byte) => String.fromCharCode(33 + (byte % 94))).join('');
/** Passwords as people and programs make them. */
const kinds: Readonly<Record<string, () => string>> = {
  base64: () => randomBytes(15).toString('base64'),
  'any printable character': () => anyPrintable(14),
  'letters beyond ASCII': () => `${anyPrintable(8)}äö${anyPrintable(4)}`,
};

/** Lines as programs write them; one in a thousand holds a secret. */
function logOf(secrets: readonly string[]): Buffer {
  const lines = Array.from({ length: 16_000 }, (_, index) => {
    const key = index % 1_000 === 0 ? encodeURIComponent(secrets[index / 1_000] ?? '') : '';
    return `2026-11-21T10:${index % 60}:12.${index % 1_000}Z INFO request ${index} GET https://example.com/api/v1/items/${(index * 7_919).toString(16)}?page=${index % 30}&k=${key} {"status":200,"duration":${(index * 3) % 977},"user":"user-${index % 311}","message":"The quick brown fox jumps over"}\n`;
  });
  return Buffer.alloc(megabytes * 1_000_000, lines.join(''));
}

export async function benchScrub({ rounds }: Bench): Promise<void> {
  for (const [kind, make] of Object.entries(kinds)) {
    const secrets = Array.from({ length: secretCount }, make);
    const log = logOf(secrets);
    const passes = (detect: boolean) => async (): Promise<number> => {
      const before = process.cpuUsage();
      await pipeline(
        function* () {
          for (let at = 0; at < log.length; at += pieceBytes)
            yield log.subarray(at, at + pieceBytes);
        },
        createScrubber({ secrets, detect }).stream(),
        new Writable({ write: (_chunk, _encoding, done) => done() }),
      );
      const { user, system } = process.cpuUsage(before);
      return megabytes / ((user + system) / 1e6);
    };
    const ways = { scrub: passes(false), 'scrub and detect': passes(true) };
    for (const [way, rates] of Object.entries(await inTurns(ways, rounds, 1))) {
      show(`${way}, ${secretCount} secrets, ${kind}`, {
        'a second of CPU': `${median(rates).toFixed(0)} MB/s`,
      });
    }
  }
}
