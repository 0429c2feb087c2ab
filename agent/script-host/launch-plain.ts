/**
 * Starting a program where there is no perl: a process group of its own, a deadline and nothing
 * more. What leaves the group outlives the program.
 */
import { spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { explainTimeout, notStarted, type Ending, type Launched, type Order } from './launch.ts';

/** Starts a program; `graceMs` is what it gets between SIGTERM and SIGKILL. */
export function launchPlain(order: Order, graceMs: number): Launched {
  const child = spawn(order.command, order.args, {
    cwd: order.cwd,
    env: order.environment,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe'],
  });
  const signalGroup = (signal: NodeJS.Signals): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, signal);
    } catch {
      // Nobody is left in it.
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
    finish({
      ...(stopped ?? { reason: 'exit', explanation: null }),
      exitCode,
      signal,
      peakMemoryBytes: 0,
    });
  });
  return {
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
