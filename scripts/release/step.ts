/** What each step of a release is given, and how it says what it found. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { treePids } from '../bench/measure.ts';

export interface ReleaseContext {
  version: string;
  /** The commit that is released. */
  commit: string;
  /** When that was made, in seconds: the time of everything that the release makes. */
  epoch: number;
  /** The repository from which the release was started. */
  repository: string;
  /** A clean clone of the commit. */
  checkout: string;
  /** For what nobody keeps. */
  work: string;
  /** Where the artefacts go. */
  out: string;
  /** Logs of programs. */
  logs: string;
  isLong: boolean;
  /** A checkout or a commit that stands for the release before. */
  previous: string | null;
  say: (line: string) => void;
}

/** What was found, in a sentence, with figures for the report. */
export interface Finding {
  summary: string;
  figures?: unknown;
  /** What this machine or this network could not check: a release needs consent to go without it. */
  notChecked?: string;
}

export interface Step {
  name: string;
  /** What it shows. */
  title: string;
  run: (context: ReleaseContext) => Promise<Finding>;
}

/** A step that found something. `next` says what to do about it. */
export class StepFailure extends Error {
  readonly next: string;

  constructor(message: string, next: string) {
    super(message);
    this.next = next;
  }
}

interface Command {
  /** Of the log, and of the failure. */
  name: string;
  words: readonly string[];
  folder?: string;
  environment?: Readonly<Record<string, string>>;
  /** Then it is ended, with all that it started. */
  limitMs?: number;
  next: string;
}

function killTree(root: number): void {
  for (const pid of treePids(root)) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended by itself meanwhile.
    }
  }
}

/** Runs a program to its end, with what it prints in a log. One that fails ends the step. */
export async function runLogged(
  { checkout, logs }: ReleaseContext,
  { name, words, folder = checkout, environment = {}, limitMs, next }: Command,
): Promise<string> {
  const file = join(logs, `${name}.log`);
  const log = createWriteStream(file);
  const [program = '', ...args] = words;
  const child = spawn(program, args, {
    ...{ cwd: folder, env: { ...process.env, ...environment } },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const { pid } = child;
  if (pid === undefined) {
    const [error] = (await once(child, 'error')) as [Error];
    // It is still being opened, and would be made in a folder that its owner removes.
    log.end();
    await once(log, 'close');
    throw new StepFailure(`"${words.join(' ')}" does not start: ${error.message}`, next);
  }
  const timer = limitMs === undefined ? undefined : setTimeout(() => killTree(pid), limitMs);
  child.stdout.pipe(log, { end: false });
  child.stderr.pipe(log, { end: false });
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  clearTimeout(timer);
  log.end();
  await once(log, 'finish');
  const output = readFileSync(file, 'utf8');
  if (code === 0) return output;
  const last = output.trimEnd().split('\n').slice(-15).join('\n');
  throw new StepFailure(
    `"${words.join(' ')}" ended with ${signal ?? code}; the whole log is ${file}\n${last}`,
    next,
  );
}
