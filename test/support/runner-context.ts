import { systemClock } from '@monitor/shared/clock.ts';
import type { CheckDefinition } from '@monitor/shared/contract/checks/check-type.ts';
import { checkTypes, type KnownCheckType } from '@monitor/shared/contract/checks/index.ts';
import type { RunnerContext } from '../../agent/runners/runner.ts';

/** A context as the worker gives it, with a ceiling of one's own. */
export function runnerContext(
  timeoutMs = 5_000,
  network: Partial<RunnerContext['network']> = {},
): RunnerContext & { logged: string[] } {
  const logged: string[] = [];
  return {
    signal: new AbortController().signal,
    timeoutMs,
    clock: systemClock,
    log: (message) => logged.push(message),
    logged,
    network: {
      useOsResolver: false,
      icmp: null,
      icmpProblem: 'no sockets in this test',
      ...network,
    },
  };
}

/** The definition of a check as an agent has it after parsing. */
export function definitionOf(
  type: KnownCheckType,
  request: Record<string, unknown>,
  further: Record<string, unknown> = {},
): CheckDefinition {
  const known = checkTypes[type];
  const schema = 'lenientCreate' in known ? known.lenientCreate : known.create;
  return schema.parse({ name: 'test', request, ...further }) as unknown as CheckDefinition;
}
