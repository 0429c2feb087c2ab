/**
 * `npm run fuzz -- --count 1e6 --seed 1`: random requests against a control plane in this process.
 * `--sequence N` plays one sequence again, `--verbose` logs what broke on the server's side.
 */
import { readOptions, refuse } from '../options.ts';
import { pino } from 'pino';
import { startTestControlPlane } from '../../test/support/control-plane.ts';
import { cannotSucceed, fuzz } from './run.ts';

function wholeNumber(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0) refuse(`--${name} must be a whole number`);
  return value;
}

const { values } = readOptions({
  options: {
    count: { type: 'string', default: '20000' },
    seed: { type: 'string', default: '1' },
    sequence: { type: 'string' },
    verbose: { type: 'boolean', default: false },
  },
});
const count = wholeNumber('count', values.count);
await using cp = await startTestControlPlane({
  requestsPerMinute: 0,
  ...(values.verbose ? { logger: pino({ level: 'error' }) } : {}),
});
let shown = 0;
const report = await fuzz(cp, {
  count,
  seed: wholeNumber('seed', values.seed),
  ...(values.sequence === undefined ? {} : { sequence: wholeNumber('sequence', values.sequence) }),
  onProgress: (done, failed) => {
    if (done - shown < count / 20) return;
    shown = done;
    console.log(`${done} of ${count} requests, ${failed} failures`);
  },
});
const { requests, readBack, clients, commands, failures, neverAccepted } = report;
for (const failure of failures.values()) console.log(`\n${failure}`);
console.log(
  `${requests} requests to ${report.answers.size} operations in ${report.seconds.toFixed(1)} s; read back: ${readBack}; clients of the broker: ${clients}; commands on hostile files: ${commands}`,
);
for (const [name, why] of Object.entries(cannotSucceed))
  console.log(`cannot succeed: ${name}, ${why}`);
console.log(`never accepted: ${neverAccepted.join(', ') || 'none'}; failures: ${failures.size}`);
if (failures.size > 0) process.exitCode = 1;
