import { AgentError } from '../../errors.ts';
import { assertMachineMemory } from '../../script-host/machine-memory.ts';
import type { ProgramEnd } from '../../script-host/script-host.ts';
import { SuiteFailure } from './suite-failure.ts';
import { durationText } from './suite-log.ts';

const codes = {
  timeout: 'TIMEOUT',
  cancelled: 'CANCELLED',
  memory: 'MEMORY_LIMIT',
  disk: 'DISK_LIMIT',
  processes: 'PROCESS_LIMIT',
} as const;

/**
 * Throws for a program that did not come to its own end: as a failure of the suite when it took too
 * long or too much, as our error when it could not even be started.
 */
export function assertEnded(stage: string, end: ProgramEnd, timeoutMs: number): void {
  assertMachineMemory(`the ${stage} stage`, end);
  if (end.reason === 'exit' || end.reason === 'machine-memory') return;
  if (end.reason === 'not-started') {
    throw new AgentError(
      'SCRIPTING_UNAVAILABLE',
      `the shell of the ${stage} stage could not be started: ${end.explanation ?? 'unknown reason'}; run "monitor-agent doctor"`,
    );
  }
  const explanation =
    end.reason === 'timeout'
      ? `did not end within ${durationText(timeoutMs)}`
      : (end.explanation ?? `was ended (${end.reason})`);
  throw new SuiteFailure(stage, codes[end.reason], `the ${stage} stage ${explanation}`);
}
