/** What `/health` says about the CPU of the agent: nothing while there is enough of it. */
import type { Load } from '../worker/process-time.ts';

export function loadRemarks({ overloadedSince, reason }: Load): Record<string, string> {
  if (overloadedSince === null) return {};
  return {
    overloadedSince: new Date(overloadedSince).toISOString(),
    overloaded: reason ?? 'too little CPU',
  };
}
