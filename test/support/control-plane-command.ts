/** The command line of the control plane, on a database in a folder. */
import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { join } from 'node:path';
import { runCommand } from '../../control-plane/app/run-command.ts';
import { Program, surroundings } from '../../proof/program.ts';
import { assertReadable, runToEnd, type CommandOutcome } from './agent-command.ts';
import { controlPlaneProgram } from './programs.ts';

/** What a command in this process has written. */
const written = new AsyncLocalStorage<{ stdout: string; stderr: string }>();

for (const name of ['stdout', 'stderr'] as const) {
  const write = process[name].write.bind(process[name]) as (...given: unknown[]) => boolean;
  process[name].write = (text: string | Uint8Array, ...given: unknown[]): boolean => {
    const own = written.getStore();
    if (own === undefined) return write(text, ...given);
    own[name] += String(text);
    return true;
  };
}

function setEnvironment(values: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(process.env)) if (!(name in values)) delete process.env[name];
  for (const [name, value] of Object.entries(values))
    if (value !== undefined) process.env[name] = value;
}

let inTurn: Promise<unknown> = Promise.resolve();

/** A command in this process: loading a program takes longer than most commands run. One at a time has the environment. */
function runHere(
  words: readonly string[],
  settings: Readonly<Record<string, string>>,
): Promise<CommandOutcome> {
  const work = inTurn.then(async () => {
    const environment = { ...process.env };
    const { exitCode } = process;
    setEnvironment({ ...surroundings(), ...settings });
    process.exitCode = undefined;
    try {
      const { stdout: out, stderr: error } = await written.run(
        { stdout: '', stderr: '' },
        async () => {
          await runCommand(words);
          return written.getStore() ?? assert.fail();
        },
      );
      assertReadable(words, out, error);
      return { code: Number(process.exitCode ?? 0), out, error };
    } finally {
      setEnvironment(environment);
      process.exitCode = exitCode;
    }
  });
  inTurn = work.catch(() => undefined);
  return work;
}

/** Those that stay until they are stopped, read what is typed, or start a program that writes where they do. */
const isProcess = (words: readonly string[]): boolean =>
  ['serve', 'mcp', 'sign'].includes(words[0] ?? '');

export class Operator {
  readonly database: string;
  readonly #settings: Record<string, string>;
  readonly #program: string;

  /** `program` is that of another version. */
  constructor(
    folder: string,
    settings: Record<string, string> = {},
    program = controlPlaneProgram,
  ) {
    this.#program = program;
    this.database = join(folder, 'control-plane.db');
    this.#settings = { DATABASE_FILE: this.database, REQUESTS_PER_MINUTE: '0', ...settings };
  }

  /** Runs a command to its end, which is never a stack trace. */
  run(...args: string[]): Promise<CommandOutcome> {
    return this.#program !== controlPlaneProgram || isProcess(args)
      ? this.spawn(...args)
      : runHere(args, this.#settings);
  }

  /** The same as a process of its own, as users start it. */
  spawn(...args: string[]): Promise<CommandOutcome> {
    return runToEnd([this.#program, ...args], this.#settings);
  }

  /** Runs a command that must succeed and gives its JSON. */
  async json<T>(...args: string[]): Promise<T> {
    const { code, out, error } = await this.run(...args, '--json');
    assert.equal(code, 0, error);
    return JSON.parse(out) as T;
  }

  /** Runs a command that must end with this status, and gives what it said, with `--json` in its document as well. */
  async refused(code: number, ...args: string[]): Promise<string> {
    const { out, error, ...outcome } = await this.run(...args);
    assert.equal(outcome.code, code, `${args.join(' ')}: ${out}${error}`);
    if (!args.includes('--json')) assert.equal(out, '');
    else {
      const said = JSON.parse(out) as { error: string; exitCode: number };
      assert.deepEqual([said.exitCode, error.includes(said.error)], [code, true], out);
    }
    return error;
  }

  /** Starts a command without waiting for its end. */
  start(...args: string[]): Program {
    return new Program([this.#program, ...args], { ...this.#settings, PORT: '0' });
  }

  /** Starts `serve` and waits until it serves. */
  async serve(): Promise<Program & { url: string }> {
    const serving = this.start('serve');
    const { url } = await serving.log('serving');
    return Object.assign(serving, { url: String(url) });
  }
}
