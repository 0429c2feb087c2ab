/** Commands of `monitor-agent`, as a user calls them. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { surroundings } from '../../proof/program.ts';
import { agentProgram } from './programs.ts';

export async function agent(
  args: string[],
  environment: Record<string, string> = {},
  cwd: string = process.cwd(),
) {
  const child = spawn(process.execPath, [resolve(agentProgram), ...args], {
    env: { ...surroundings(), ...environment },
    cwd,
  });
  let out = '';
  let error = '';
  child.stdout.on('data', (chunk) => (out += String(chunk)));
  child.stderr.on('data', (chunk) => (error += String(chunk)));
  const [code] = (await once(child, 'close')) as [number];
  assert.equal(/\n\s+at /.test(error), false, `a stack trace reached the user: ${error}`);
  return { code, out, error };
}
