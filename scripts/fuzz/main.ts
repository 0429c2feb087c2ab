/**
 * `npm run fuzz -- --count 1e6 --seed 1`: random requests against a control plane in this process.
 * `--sequence N` plays one sequence again, `--verbose` logs what broke on the server's side.
 */
import { parseArgs } from 'node:util';
import logUpdate from 'log-update';
import { pino } from 'pino';
import { startTestControlPlane } from '../../test/support/control-plane.ts';
import { describeFailure, fuzz, type FuzzReport } from './run.ts';

function wholeNumber(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0)
    throw new Error(`--${name} must be a whole number`);
  return value;
}

function summaryOf({ requests, readBack, answers, seconds, failures }: FuzzReport): string {
  const statuses = new Map<number, number>();
  for (const counts of answers.values()) {
    for (const [status, count] of counts) statuses.set(status, (statuses.get(status) ?? 0) + count);
  }
  const byStatus = [...statuses]
    .sort(([left], [right]) => left - right)
    .map(([status, count]) => `${status}: ${count}`);
  const never = [...answers].flatMap(([operationId, counts]) =>
    [...counts.keys()].some((status) => status < 300) ? [] : [operationId],
  );
  return [
    `${requests} requests to ${answers.size} operations in ${seconds.toFixed(1)} s (${Math.round(requests / seconds)} a second)`,
    `answers: ${byStatus.join(', ')}; read back: ${readBack}`,
    `never accepted: ${never.join(', ') || 'none'}`,
    `failures: ${failures.length}`,
  ].join('\n');
}

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '20000' },
    seed: { type: 'string', default: '1' },
    sequence: { type: 'string' },
    verbose: { type: 'boolean', default: false },
  },
});
const count = wholeNumber('count', values.count);
const seed = wholeNumber('seed', values.seed);
await using cp = await startTestControlPlane({
  requestsPerMinute: 0,
  ...(values.verbose ? { logger: pino({ level: 'error' }) } : {}),
});
let shown = 0;
const report = await fuzz(cp, {
  count,
  seed,
  ...(values.sequence === undefined ? {} : { sequence: wholeNumber('sequence', values.sequence) }),
  onProgress: (done, failures) => {
    const line = `${done} of ${count} requests, ${failures} failures`;
    if (process.stdout.isTTY) logUpdate(line);
    else if (done - shown >= count / 20) {
      shown = done;
      console.log(line);
    }
  },
});
if (process.stdout.isTTY) logUpdate.clear();
for (const failure of report.failures) console.log(`\n${describeFailure(failure)}`);
console.log(summaryOf(report));
if (report.failures.length > 0) process.exitCode = 1;
