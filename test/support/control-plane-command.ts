/** The command line of the control plane, as processes on a database in a folder. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { Program } from '../../proof/program.ts';
import { runToEnd, type CommandOutcome } from './agent-command.ts';
import { controlPlaneProgram } from './programs.ts';

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
    return runToEnd([this.#program, ...args], this.#settings);
  }

  /** Runs a command that must succeed and gives its JSON. */
  async json<T>(...args: string[]): Promise<T> {
    const { code, out, error } = await this.run(...args, '--json');
    assert.equal(code, 0, error);
    return JSON.parse(out) as T;
  }

  /** Runs a command that must end with this status, and gives what it said. */
  async refused(code: number, ...args: string[]): Promise<string> {
    const outcome = await this.run(...args);
    assert.equal(outcome.code, code, `${args.join(' ')}: ${outcome.out}${outcome.error}`);
    assert.equal(outcome.out, '');
    return outcome.error;
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
