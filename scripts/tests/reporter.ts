/** A reporter of node:test that writes one JSON line per finished test, for the process that started it. */
import { inspect } from 'node:util';
import type { TestEvent } from 'node:test/reporters';
import { endedCpuMs, ownCpuMs } from '../bench/measure.ts';

/** One line of the report. */
export type ReportLine =
  | { kind: 'note'; file: string | undefined; text: string }
  /** After the last test: hooks have ended what all tests used, such as a browser. */
  | { kind: 'end'; file: undefined; cpuMs: number }
  | {
      kind: 'test';
      file: string | undefined;
      line: number | undefined;
      name: string;
      /** 0 for a test that no other test contains. */
      nesting: number;
      tookMs: number;
      /** CPU of the process and of its children that have ended, since the test before. */
      cpuMs: number;
      outcome: 'passed' | 'failed' | 'skipped';
      /** Why it was skipped, or what it failed with. Empty where a test inside it failed. */
      reason: string;
    };

function reasonOf(error: Error & { failureType?: string }): string {
  if (error.failureType === 'subtestsFailed') return '';
  return inspect(error.cause ?? error, { depth: 6 });
}

let readCpuMs = 0;

function cpuSinceLastTest(): number {
  const before = readCpuMs;
  readCpuMs = ownCpuMs() + endedCpuMs();
  return readCpuMs - before;
}

function lineOf(event: TestEvent): ReportLine | undefined {
  if (event.type === 'test:diagnostic') {
    const { file, message } = event.data;
    // At the end the runner counts its tests; the process that started it counts them itself.
    return file === process.argv[1] ? undefined : { kind: 'note', file, text: message };
  }
  if (event.type !== 'test:pass' && event.type !== 'test:fail') return undefined;
  const { file, line, name, nesting, details, skip } = event.data;
  const isSkipped = skip !== undefined && skip !== false;
  return {
    ...{ kind: 'test', file, line, name, nesting, tookMs: details.duration_ms },
    cpuMs: cpuSinceLastTest(),
    outcome: event.type === 'test:fail' ? 'failed' : isSkipped ? 'skipped' : 'passed',
    reason: 'error' in details ? reasonOf(details.error) : typeof skip === 'string' ? skip : '',
  };
}

const leftOpenMs = 60_000;

/**
 * Ends the process when all its tests have ended and something keeps it: a server that a test which
 * failed did not close, for example.
 */
function endLater(): NodeJS.Timeout {
  return setTimeout(() => {
    const open = [...new Set(process.getActiveResourcesInfo())].join(', ');
    process.stderr.write(`All tests have ended, and these keep the process: ${open}\n`);
    process.exit(1);
  }, leftOpenMs).unref();
}

// node:test takes a reporter by its default export.
// oxlint-disable-next-line import/no-default-export
export default async function* report(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  let running = 0;
  let ending: NodeJS.Timeout | undefined;
  for await (const event of events) {
    const line = lineOf(event);
    if (line !== undefined) yield `${JSON.stringify(line)}\n`;
    if (event.type === 'test:enqueue') running += 1;
    if (event.type === 'test:complete') running -= 1;
    clearTimeout(ending);
    if (running === 0) ending = endLater();
  }
  const end: ReportLine = { kind: 'end', file: undefined, cpuMs: cpuSinceLastTest() };
  yield `${JSON.stringify(end)}\n`;
}
