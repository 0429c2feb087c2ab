import { AgentError } from '../errors.ts';
import type { ProgramEnd } from './script-host.ts';

/** Throws for a program that the machine had too little memory for: that says nothing about a target. */
export function assertMachineMemory(what: string, { reason, explanation }: ProgramEnd): void {
  if (reason !== 'machine-memory') return;
  throw new AgentError(
    'MACHINE_MEMORY',
    `${what} ${explanation ?? 'was ended'}. Lower JOB_CONCURRENCY or SCRIPT_MEMORY_MB, or give the agent ` +
      'more memory; see the step "memory" of "monitor-agent doctor".',
  );
}
