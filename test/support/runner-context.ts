import { systemClock } from '@monitor/shared/clock.ts';
import type {
  CheckDefinition,
  CheckTypeDefinition,
} from '@monitor/shared/contract/checks/check-type.ts';
import {
  checkTypes,
  type AgentType,
  type RequestOf,
} from '@monitor/shared/contract/checks/index.ts';
import type { RunnerContext } from '../../agent/runners/runner.ts';
import { plainNetwork } from './plain-network.ts';

/** A context as the worker gives it, with a ceiling of one's own. */
export function runnerContext(
  timeoutMs = 5_000,
  network: Partial<RunnerContext['network']> = {},
  further: Partial<RunnerContext> = {},
): RunnerContext & { logged: string[]; secrets: string[] } {
  const logged: string[] = [];
  const secrets: string[] = [];
  return {
    ...{ signal: new AbortController().signal, timeoutMs, clock: systemClock },
    waitedMs: () => 0,
    log: (message) => logged.push(message),
    logged,
    network: { ...plainNetwork, ...network },
    run: {
      accountId: 'account',
      checkId: '7e4c9b1e-0000-4000-8000-000000000001',
      ...{ checkName: 'test', checkType: 'API', runId: '7e4c9b1e-0000-4000-8000-000000000002' },
      resultId: '7e4c9b1e-0000-4000-8000-000000000003',
      ...{ location: 'somewhere', attempt: 1, scheduledFor: 1_700_000_000_000, source: null },
    },
    ...{ environment: [], runtimeId: null, setupScripts: [], teardownScripts: [], snippets: [] },
    ...{ clientCertificates: [], proxyUrl: null, learnedScript: null, secrets },
    scrub: (text) => text,
    addSecret: (value) => secrets.push(value),
    artifacts: { add: ({ name }) => Promise.resolve(`artifact:${name}`) },
    scripting: () => {
      throw new Error('no scripts in this test');
    },
    ...further,
  };
}

/** The definition of a check as an agent has it after parsing. */
export function definitionOf<Type extends AgentType>(
  type: Type,
  request: Record<string, unknown>,
  further: Record<string, unknown> = {},
): CheckDefinition<RequestOf<Type>> {
  const { create }: CheckTypeDefinition = checkTypes[type];
  const parsed: unknown = create.parse({ name: 'test', request, ...further });
  return parsed as CheckDefinition<RequestOf<Type>>;
}
