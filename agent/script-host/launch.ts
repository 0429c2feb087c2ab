/** Starting a program in its sandbox, and ending it with everything that it started. */
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import type { Duplex, Readable, Writable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { runWatch } from './run-watch.ts';
import { failedLine, sandboxCommand, startedLine, startText, type Sandbox } from './sandbox.ts';
import type { Order, ProgramEnd, ScriptLimits } from './script-host.ts';

export type Ending = Pick<
  ProgramEnd,
  'reason' | 'exitCode' | 'signal' | 'peakMemoryBytes' | 'explanation'
>;

export interface Launched {
  /** The process that all of it descends from; null when it could not be started. */
  readonly pid: number | null;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Messages of the program. */
  readonly messages: Readable;
  /** Messages to the program. */
  readonly commands: Writable;
  /** Never rejects; everything the program started is gone by then. */
  readonly ended: Promise<Ending>;
  hold(): Promise<number | null>;
  resume(): void;
  /** Ends the program because it was cancelled. */
  cancel(): void;
}

export function notStarted(explanation: string): Ending {
  return { reason: 'not-started', exitCode: null, signal: null, peakMemoryBytes: 0, explanation };
}

/** Where a signal has two names, the first is the usual one. */
const signalNames = new Map(
  Object.entries(constants.signals)
    .reverse()
    .map(([name, number]) => [number, name]),
);

/** A shell and bubblewrap say of a program that a signal ended: 128 and the number of the signal. */
const killedBy = 128;

function inUnits(bytes: number): string {
  const gib = bytes / 2 ** 30;
  return gib >= 1 ? `${Number(gib.toFixed(1))} GiB` : `${Math.round(bytes / 2 ** 20)} MiB`;
}

/** The words for each reason other than the end of the program itself. */
const explanations = {
  timeout: ({ timeoutMs }: Order) => `did not end within ${timeoutMs / 1000} seconds`,
  cancelled: () => 'was cancelled',
  memory: (_order: Order, limits: ScriptLimits) =>
    `used more than ${inUnits(limits.memoryBytes)} of memory`,
  disk: (_order: Order, limits: ScriptLimits) =>
    `wrote more than ${inUnits(limits.diskBytes)} or ${limits.files} files`,
  processes: (_order: Order, limits: ScriptLimits) => `had more than ${limits.processes} processes`,
} as const;

type StopReason = keyof typeof explanations;

/** The longest timer that Node takes. */
const maxMs = 2_147_483_647;
const maxStatusLength = 4_096;
const lastStatusMs = 500;

/** Starts a program. `graceMs` is what it gets between SIGTERM and SIGKILL. */
export function launch(order: Order, sandbox: Sandbox, graceMs: number): Launched {
  const { folder, uid, limits, way } = sandbox;
  const hasNamespaces = way.namespacesBy !== null;
  const { command, args, wrappers } = sandboxCommand(sandbox);
  const watcher = runWatch();
  const child = spawn(command, args, {
    cwd: '/',
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe', 'pipe', 'pipe', 'pipe'],
  });
  // Types of Node leave out descriptor 5.
  const streams = child.stdio as unknown as readonly Duplex[];
  const [script, stdout, status, messages, commands, stderr] = streams as [
    ...[Duplex, Duplex, Duplex, Duplex, Duplex, Duplex],
  ];
  let said = '';
  status.on('data', (chunk: Buffer) => {
    if (said.length < maxStatusLength) said += chunk.toString();
  });
  const isSaid = new Promise<void>((resolve) => void status.once('close', resolve));
  for (const stream of [script, status]) stream.on('error', () => undefined);
  script.end(startText(order));

  let stopped: StopReason | null = null;
  let hasEnded = false;
  let killTimer: NodeJS.Timeout | undefined;
  const stop = (reason: StopReason, afterMs: number): void => {
    if (stopped !== null || hasEnded || watch === null) return;
    stopped = reason;
    if (afterMs > 0) watch.askToEnd();
    killTimer = setTimeout(() => void watch.end(), afterMs);
  };
  const watch =
    child.pid === undefined
      ? null
      : watcher.watch(
          { pid: child.pid, wrappers, uid, folder, hasNamespaces, limits, waits: order.waits },
          (excess) => stop(excess, 0),
        );
  const deadline = setTimeout(
    () => {
      // When the agent was stopped meanwhile, the end of the program may wait to be noticed.
      setImmediate(stop, 'timeout', graceMs);
    },
    Math.min(order.timeoutMs, maxMs),
  );

  const exit = new Promise<{ code: number | null; signal: string | null } | Error>((resolve) => {
    child.once('error', resolve);
    child.once('exit', (code, signal) => {
      hasEnded = true;
      resolve({ code, signal });
    });
  });
  const endingOf = (code: number | null, signal: string | null, peak: number): Ending => {
    const lines = said.split('\n');
    const isStarted = lines.includes(startedLine);
    if (lines.includes(failedLine)) {
      return notStarted(`${order.command} could not be started: its error output says why`);
    }
    if (!isStarted && stopped === null) {
      return notStarted(said.trim().replaceAll(/\s+/g, ' ') || `ended with ${signal ?? code}`);
    }
    // Without wrappers the code is the program's own.
    const reported = wrappers === 0 ? undefined : signalNames.get((code ?? 0) - killedBy);
    const isBySignal = signal ?? reported ?? null;
    const reason = stopped ?? (isBySignal === 'SIGXFSZ' ? 'disk' : 'exit');
    return {
      reason,
      exitCode: isBySignal === null ? code : null,
      signal: isBySignal,
      peakMemoryBytes: peak,
      explanation: reason === 'exit' ? null : explanations[reason](order, limits),
    };
  };
  const end = async (): Promise<Ending> => {
    const ended = await exit;
    clearTimeout(deadline);
    clearTimeout(killTimer);
    if (ended instanceof Error || watch === null) {
      const why = ended instanceof Error ? ended.message : 'it has no process';
      return notStarted(`${order.command} could not be started: ${why}`);
    }
    const peakBytes = await watch.end();
    // What wrote to it is gone, unless the program has sent it to a process of others.
    await Promise.race([isSaid, pause(lastStatusMs)]);
    status.destroy();
    return endingOf(ended.code, ended.signal, peakBytes);
  };
  return {
    pid: child.pid ?? null,
    ...{ stdout, stderr, messages, commands },
    ended: end(),
    hold: () => watch?.hold() ?? Promise.resolve(null),
    resume: () => watch?.resume(),
    cancel() {
      stop('cancelled', graceMs);
    },
  };
}
