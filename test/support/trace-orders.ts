/** Run in a host of the lab: traces what it is told line by line, and answers with a line for each. */
import { createInterface } from 'node:readline';
import { stopwatch } from './time-spent.ts';
import { openTraceroute, type TracedTarget } from '../../agent/net/traceroute/traceroute.ts';

export interface NumberedOrder {
  id: number;
  target: TracedTarget;
  timeoutMs: number;
  /** When to abort; null for never. */
  abortAfterMs: number | null;
}

const opened = await openTraceroute();
if (opened.traceroute === null) throw new Error(opened.problem);
const { traceroute } = opened;

async function follow({ id, target, timeoutMs, abortAfterMs }: NumberedOrder): Promise<void> {
  const tookMs = stopwatch();
  const signal =
    abortAfterMs === null ? new AbortController().signal : AbortSignal.timeout(abortAfterMs);
  const outcome = await traceroute.trace(target, { timeoutMs, signal }).then(
    (report) => ({ report }),
    (error: unknown) => ({ error: error instanceof Error ? error.message : String(error) }),
  );
  process.stdout.write(`${JSON.stringify({ id, tookMs: tookMs(), ...outcome })}\n`);
}

createInterface({ input: process.stdin }).on('line', (line) => {
  void follow(JSON.parse(line) as NumberedOrder);
});
process.stdout.write('ready\n');
