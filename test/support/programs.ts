/**
 * The programs that tests start. The runner of all tests starts them as users have them, bundled; a
 * single file runs the sources.
 */
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import type { ProgramName } from '../../scripts/build/bundle.ts';

/** The variable with which the runner names the folder of the bundled programs. */
export const programsVariable = 'TEST_PROGRAMS';

const folder = process.env[programsVariable] ?? '';

export const agentProgram = join(folder, 'agent', 'monitor-agent.js');
export const controlPlaneProgram = join(folder, 'control-plane', 'control-plane.js');

/** Writes a program as users have it into a folder: that of this run, and for a single file a new one. */
export async function writeProgram(name: ProgramName, target: string): Promise<void> {
  if (folder !== '') {
    cpSync(join(folder, name), target, { recursive: true });
    return;
  }
  const { bundle } = await import('../../scripts/build/bundle.ts');
  await bundle(name, target);
}
