/** The processes of the demo: the real programs, started as an operator would start them. */
import { spawn, type ChildProcess } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { once } from 'node:events';

export interface Program {
  name: string;
  command: string[];
  environment: Record<string, string>;
  /** Where its log goes. */
  logFile: string;
}

export interface RunningProgram {
  name: string;
  logFile: string;
  /** Resolves with a description when it ends. */
  ended: Promise<string>;
  /** True until it has ended. */
  isRunning(): boolean;
  signal(signal: NodeJS.Signals): void;
  /** Asks it to stop and waits. */
  stop(): Promise<void>;
}

/**
 * Starts a program in a process group of its own: Ctrl-C reaches the demo alone, which then asks
 * each program once. A second signal would mean "leave at once" to an agent.
 */
export function startProgram(program: Program): RunningProgram {
  const log = createWriteStream(program.logFile, { flags: 'a' });
  const child: ChildProcess = spawn(process.execPath, program.command, {
    env: { ...process.env, ...program.environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  child.stdout?.pipe(log);
  child.stderr?.pipe(log);
  const ended = once(child, 'exit').then(([code, signal]) =>
    signal === null ? `exit code ${String(code)}` : `signal ${String(signal)}`,
  );
  const kill = (): void => {
    child.kill('SIGKILL');
  };
  process.once('exit', kill);
  void ended.then(() => process.off('exit', kill));
  const isRunning = (): boolean => child.exitCode === null && child.signalCode === null;
  return {
    name: program.name,
    logFile: program.logFile,
    ended,
    isRunning,
    signal(signal) {
      child.kill(signal);
    },
    async stop() {
      if (isRunning()) {
        child.kill('SIGTERM');
        // A frozen one hears it only now.
        child.kill('SIGCONT');
      }
      await ended;
    },
  };
}

/** Resolves when an address answers with a success. Throws when the program ends first. */
export async function untilAnswering(url: string, program: RunningProgram): Promise<void> {
  let hasEnded: string | undefined;
  void program.ended.then((how) => {
    hasEnded = how;
  });
  for (;;) {
    if (hasEnded !== undefined) {
      throw new Error(
        `${program.name} ended at its start (${hasEnded}); its log is ${program.logFile}`,
      );
    }
    const isUp = await fetch(url).then(
      (response) => response.ok,
      () => false,
    );
    if (isUp) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
