/**
 * Starting a program where there is no perl: a process group of its own, a deadline and nothing
 * more. What leaves the group outlives the program.
 */
import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { isAbsolute } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { explainTimeout, notStarted, type Ending, type Launched, type Order } from './launch.ts';

export interface PlainLaunch {
  /** What the program gets between SIGTERM and SIGKILL. */
  readonly graceMs: number;
  /** What stands before its command, so that it has no rights of the agent. */
  readonly prefix: readonly string[];
}

/** Why a command cannot be started; null when it can be, as far as one can see. */
function obstacleOf(command: string): string | null {
  if (!isAbsolute(command)) return null;
  try {
    accessSync(command, constants.X_OK);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Starts a program. */
export function launchPlain(order: Order, { graceMs, prefix }: PlainLaunch): Launched {
  // What stands before the command starts in any case, and says in its own way that the command did not.
  const obstacle = prefix.length === 0 ? null : obstacleOf(order.command);
  const [command = order.command, ...args] = [...prefix, order.command, ...order.args];
  const child = spawn(command, args, {
    cwd: order.cwd,
    env: order.environment,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe'],
  });
  const signalGroup = (signal: NodeJS.Signals): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, signal);
    } catch {
      // The process group is empty.
    }
  };
  let stopped: Pick<Ending, 'reason' | 'explanation'> | null = null;
  let killTimer: NodeJS.Timeout | undefined;
  const stop = (reason: 'timeout' | 'cancelled', explanation: string): void => {
    if (stopped !== null) return;
    stopped = { reason, explanation };
    signalGroup('SIGTERM');
    killTimer = setTimeout(() => {
      signalGroup('SIGKILL');
    }, graceMs);
  };
  const deadline = setTimeout(() => {
    stop('timeout', explainTimeout(order.timeoutMs));
  }, order.timeoutMs);
  const { promise: ended, resolve } = Promise.withResolvers<Ending>();
  const finish = (ending: Ending): void => {
    clearTimeout(deadline);
    clearTimeout(killTimer);
    signalGroup('SIGKILL');
    resolve(ending);
  };
  child.once('error', (error) => {
    finish(notStarted(`${order.command} could not be started: ${error.message}`));
  });
  child.once('exit', (exitCode, signal) => {
    if (obstacle !== null) {
      finish(notStarted(`${order.command} could not be started: ${obstacle}`));
      return;
    }
    finish({
      ...(stopped ?? { reason: 'exit', explanation: null }),
      exitCode,
      signal,
      peakMemoryBytes: 0,
    });
  });
  return {
    pid: child.pid ?? null,
    stdout: child.stdout as Readable,
    stderr: child.stderr as Readable,
    messages: child.stdio[3] as Readable,
    commands: child.stdio[4] as Writable,
    ended,
    cancel() {
      stop('cancelled', 'was cancelled');
    },
  };
}
