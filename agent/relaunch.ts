/** Starts the agent anew in its own process, with settings for little memory. */
import { relaunch as relaunchProgram } from '@monitor/shared/relaunch.ts';

/**
 * V8 flags, which the operator may override: a young generation that is small, and collected by the
 * main thread alone, since waking helpers costs more than they save; and an old generation that is
 * collected instead of grown. They halve the memory of an agent with a thousand checks.
 */
function memoryFlags(heavyRuns: number): string[] {
  // Reports of scripts are read and scrubbed as a whole.
  const oldSpaceMb = 192 * (1 + heavyRuns);
  return [
    '--max-semi-space-size=4',
    '--no-parallel-scavenge',
    `--max-old-space-size=${oldSpaceMb}`,
  ];
}

/**
 * Threads of the pool would each have a heap of their own, and a large block stays in a heap once one of its size
 * was given back, unless the limits are set.
 */
const allocator = {
  MALLOC_ARENA_MAX: '1',
  MALLOC_MMAP_THRESHOLD_: '131072',
  MALLOC_TRIM_THRESHOLD_: '262144',
};

/** `heavyRuns` is the limit of concurrent runs with code. */
export function relaunch(
  environment: Readonly<Record<string, string | undefined>>,
  heavyRuns = 0,
): void {
  relaunchProgram(environment, {
    ...{ mark: 'AGENT_RELAUNCHED', flags: memoryFlags(heavyRuns) },
    allocator,
  });
}
