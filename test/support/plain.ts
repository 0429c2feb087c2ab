/** What results and assignments of plain monitors leave empty. */
import { randomUUID } from 'node:crypto';
import type { AssignedCheck, ResultSubmission } from '@monitor/shared/contract/agent-protocol.ts';
import { noDetails } from '@monitor/shared/contract/check-result.ts';
import { createGateway } from '../../agent/net/gateway/gateway.ts';
import type { Scripting } from '../../agent/runners/runner.ts';

export const withoutCode = {
  accountId: '6d1c2a34-58a4-4f0e-9b9e-2f1f6f1f0aff',
  environment: [],
  runtimeId: null,
  setupScripts: [],
  teardownScripts: [],
  snippets: [],
  clientCertificates: [],
  detectSecrets: true,
  learnedScript: null,
  pauses: [],
  certificateTarget: null,
} satisfies Partial<AssignedCheck>;

/** A check of a URL every minute as it is assigned to an agent, but for these fields. */
export function assignedCheck(fields: Partial<AssignedCheck> = {}): AssignedCheck {
  return {
    ...{ id: randomUUID(), revision: 1, type: 'URL', name: 'a', frequency: 1, frequencyOffset: 1 },
    ...{ runParallel: false, locations: ['here'], scheduleFrom: 0, retryStrategy: null },
    ...{ definition: {}, proxyUrl: null, ...withoutCode },
    ...fields,
  };
}

export const withoutDetails = {
  isCancelled: false,
  ...noDetails,
  errorMessages: [],
  artifacts: [],
  learnedScript: null,
} satisfies Partial<ResultSubmission>;

/** What a run of a plain monitor saw that saw nothing. */
export const nothingSeen = {
  assertions: [],
  request: {},
  response: null,
  requestError: null,
  jobLog: { setup: [], request: [], teardown: [] },
  jobAssets: null,
  pcapDataUrl: null,
  networkDiagnostics: null,
} satisfies NonNullable<ResultSubmission['apiCheckResult']>;

const nothing = (what: string) => (): never => {
  throw new Error(`there is no ${what} in this test`);
};

/** What a test of one runner does not need of what running code takes. */
export const withoutScripting: Omit<Scripting, 'host' | 'runtime'> = {
  sessions: { take: nothing('session'), [Symbol.asyncDispose]: () => Promise.resolve() },
  browsers: null,
  pictures: 'withhold',
  gateway: createGateway({ now: () => Date.now() }),
  browser: nothing('browser'),
  scriptLimits: {
    memoryBytes: 2 ** 31,
    diskBytes: 2 ** 30,
    files: 100_000,
    processes: 256,
    outputBytes: 2 ** 24,
  },
  model: null,
  downloadCodeBundle: nothing('code bundle'),
  baselineImage: nothing('baseline'),
  cacheFolder: null,
  cacheMaxBytes: 2 ** 30,
  isWorkSigned: false,
  proxyEnvironment: {},
};
