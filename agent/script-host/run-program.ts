/** One program from start to end: its output, its messages, its deadline and its cancellation. */
import type { Writable } from 'node:stream';
import { sleep, type Clock } from '@monitor/shared/clock.ts';
import { notStarted, type Ending, type Launched } from './launch.ts';
import { ProgramOutput, type OutputCeilings } from './program-output.ts';
import type { Order, Program, ProgramEnd, RunningProgram } from './script-host.ts';

export interface ProgramTools {
  readonly clock: Clock;
  readonly ceilings: OutputCeilings;
  readonly launch: (order: Order) => Launched;
  /** How many processes the kernel has ended for want of memory; null where it is not known. */
  readonly memoryKills: () => number | null;
}

/** What a shell says of a command that was killed: 128 and the number of the signal. */
const killedByShell = 137;

/**
 * A program that ended badly while the kernel ended processes for want of memory, and that was one of them
 * or tells that it has lost one. The machine lacks memory then, whatever process took it. The kernel tells how
 * many it ended and not whose: a run that failed by itself meanwhile is not excused.
 */
function blameMachine(
  ending: Ending,
  hasKilled: boolean,
  mentionsLostProcess: () => boolean,
): Ending {
  if (ending.reason !== 'exit' || ending.exitCode === 0 || !hasKilled) return ending;
  const wasKilled = ending.signal === 'SIGKILL' || ending.exitCode === killedByShell;
  if (!wasKilled && !mentionsLostProcess()) return ending;
  const what = wasKilled ? 'was ended by the kernel' : 'lost a process, ended by the kernel';
  const explanation = `${what}: the memory of this machine, or of the control group of the agent, was used up`;
  return { ...ending, reason: 'machine-memory', explanation };
}

/** How long output may still come after everything that could write it is gone. */
const lastOutputMs = 500;

/** What waits for a program that does not read; more is dropped. */
const maxPendingBytes = 8 * 1024 * 1024;

/** Starts a program as ordered; `program` says who hears of what it writes. */
export function runProgram(program: Program, order: Order, tools: ProgramTools): RunningProgram {
  const { clock } = tools;
  const startedAt = clock.monotonic();
  const killsBefore = tools.memoryKills();
  const output = new ProgramOutput(program, tools.ceilings);
  const endOf = (ending: Awaited<Launched['ended']>): ProgramEnd => ({
    ...ending,
    durationMs: clock.monotonic() - startedAt,
    stdout: output.stdout,
    stderr: output.stderr,
    isOutputTruncated: output.isTruncated,
  });
  if (program.signal.aborted) {
    const ending = { ...notStarted('was cancelled'), reason: 'cancelled' as const };
    const nothing = (): undefined => undefined;
    return {
      ...{ pid: null, done: Promise.resolve(endOf(ending)), send: nothing },
      ...{ hold: () => Promise.resolve(null), resume: nothing },
    };
  }
  const launched = tools.launch(order);
  const streams = [launched.stdout, launched.stderr, launched.messages];
  const outputRead = Promise.all([
    output.readStandard(launched.stdout, 'stdout'),
    output.readStandard(launched.stderr, 'stderr'),
    output.readMessages(launched.messages),
  ]);
  launched.commands.on('error', () => undefined);
  const cancel = (): void => launched.cancel();
  program.signal.addEventListener('abort', cancel, { once: true });
  const finish = async (): Promise<ProgramEnd> => {
    const ending = await launched.ended;
    const hasKilled = (tools.memoryKills() ?? 0) > (killsBefore ?? 0);
    program.signal.removeEventListener('abort', cancel);
    launched.commands.destroy();
    await Promise.race([outputRead, sleep(clock, lastOutputMs)]);
    for (const stream of streams) stream.destroy();
    await outputRead;
    return endOf(blameMachine(ending, hasKilled, () => output.mentionsLostProcess));
  };
  return {
    pid: launched.pid,
    done: finish(),
    hold: () => launched.hold(),
    resume() {
      launched.resume();
    },
    send(message) {
      if (!sendLine(launched.commands, message)) {
        output.note(`it did not read what it was sent; more than ${maxPendingBytes} bytes waited`);
      }
    },
  };
}

function sendLine(stream: Writable, message: unknown): boolean {
  if (stream.destroyed || stream.writableEnded) return true;
  if (stream.writableLength > maxPendingBytes) return false;
  stream.write(`${JSON.stringify(message)}\n`);
  return true;
}
