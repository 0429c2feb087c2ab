/** Commands of both programs, as a user calls them. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { surroundings } from '../../proof/program.ts';
import { agentProgram } from './programs.ts';

export interface CommandOutcome {
  code: number;
  out: string;
  error: string;
}

/** What reaches a user is never a stack trace; `--json` is answered with one document, also of a failure. */
export function assertReadable(words: readonly string[], out: string, error: string): void {
  assert.equal(/\n\s+at /.test(error), false, `a stack trace reached the user: ${error}`);
  if (words.includes('--json')) assert.doesNotThrow(() => void JSON.parse(out), `${out}${error}`);
}

/** Runs a program to its end, which is never a stack trace. */
export async function runToEnd(
  words: readonly string[],
  environment: Readonly<Record<string, string>>,
  cwd: string = process.cwd(),
): Promise<CommandOutcome> {
  const child = spawn(process.execPath, words, {
    ...{ env: { ...surroundings(), ...environment }, cwd },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  let error = '';
  child.stdout.on('data', (chunk) => (out += String(chunk)));
  child.stderr.on('data', (chunk) => (error += String(chunk)));
  const [code] = (await once(child, 'close')) as [number];
  assertReadable(words, out, error);
  return { code, out, error };
}

/** A command of `monitor-agent`. */
export const agent = (
  args: string[],
  environment: Record<string, string> = {},
  cwd?: string,
): Promise<CommandOutcome> => runToEnd([resolve(agentProgram), ...args], environment, cwd);
