/**
 * The programs that tests start. The runner of all tests starts them as users have them, bundled; a
 * single file runs the sources.
 */
import { join } from 'node:path';

/** The variable with which the runner names the folder of the bundled programs. */
export const programsVariable = 'TEST_PROGRAMS';

const folder = process.env[programsVariable] ?? '';

export const agentProgram = join(folder, 'agent', 'monitor-agent.js');
export const controlPlaneProgram = join(folder, 'control-plane', 'control-plane.js');
