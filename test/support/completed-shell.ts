/** Shells that complete command lines of the programs, as they are installed. */
import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { agentProgram, controlPlaneProgram } from './programs.ts';

const execute = promisify(execFile);

const programs = { 'monitor-agent': agentProgram, 'control-plane': controlPlaneProgram };
type Name = keyof typeof programs;

/** Gives what runs lines of a shell that has both programs on its path and has read their scripts. */
export async function completedShell(
  shell: 'bash' | 'zsh' | 'fish',
  folder: string,
): Promise<(lines: string) => Promise<string[]>> {
  const bin = join(folder, 'bin');
  mkdirSync(bin, { recursive: true });
  const scripts: string[] = [];
  for (const [name, program] of Object.entries(programs) as [Name, string][]) {
    const file = join(bin, name);
    writeFileSync(file, `#!/bin/sh\nexec "${process.execPath}" "${resolve(program)}" "$@"\n`);
    chmodSync(file, 0o755);
    const { stdout } = await execute(file, ['completion', shell]);
    scripts.push(stdout);
  }
  return async (lines) => {
    const { stdout } = await execute(shell, ['-c', [...scripts, lines].join('\n')], {
      env: { PATH: `${bin}:${process.env['PATH'] ?? ''}`, HOME: folder },
      cwd: folder,
    });
    return stdout.split('\n').filter((line) => line !== '');
  };
}
