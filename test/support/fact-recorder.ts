/**
 * Runs checks in a host of the lab as an agent does, as a program to be started in it with an IPC channel:
 * gets a question, gives the outcome of the attempt with its details and its evidence.
 */
import { systemClock } from '@monitor/shared/clock.ts';
import { checkTypes, type AgentType } from '@monitor/shared/contract/checks/index.ts';
import type { CheckTypeDefinition } from '@monitor/shared/contract/checks/check-type.ts';
import { openNetwork } from '../../agent/network.ts';
import { runners } from '../../agent/runners/index.ts';
import { makeAttempt, type AttemptOutcome } from '../../agent/worker/attempt.ts';
import { ProcessTime } from '../../agent/worker/process-time.ts';
import { assignedCheck } from './plain.ts';
import { runnerContext } from './runner-context.ts';

export interface RecorderQuestion {
  id: number;
  type: AgentType;
  /** Fields of the check, with `request`. */
  fields: Record<string, unknown>;
  timeoutMs: number;
  proxyUrl: string | null;
}

export type Recorded = Pick<
  AttemptOutcome,
  'hasFailures' | 'hasErrors' | 'isDegraded' | 'faultCode'
> & { payload: Record<string, unknown> | null };

const network = await openNetwork(
  {
    ...{ USE_OS_DNS_RESOLVER: false, PACKET_CAPTURE: false, PACKET_CAPTURE_BUFFER_MB: 1 },
    TRACEROUTE: true,
  },
  process.env,
);
const processTime = new ProcessTime({ clock: systemClock });
const noFiles = {
  add: ({ name }: { name: string }) => Promise.resolve(`artifact:${name}`),
  finish: () => Promise.resolve([]),
  discard: () => Promise.resolve(),
};

async function record({ type, fields, timeoutMs, proxyUrl }: RecorderQuestion): Promise<Recorded> {
  const { create, resultField }: CheckTypeDefinition = checkTypes[type];
  const definition = create.parse({ name: 'lab', ...fields }) as Record<string, unknown>;
  const outcome = await makeAttempt(
    {
      check: assignedCheck({ type, definition, proxyUrl }),
      ...{ run: runnerContext().run, environmentUrl: null, latestStart: Infinity },
    },
    {
      ...{ clock: systemClock, network, processTime, scripting: null, scriptingProblem: 'none' },
      runners: { [type]: { ...runners[type], timeoutMs } },
      artifactsOf: () => noFiles,
    },
    new AbortController().signal,
  );
  const { hasFailures, hasErrors, isDegraded, faultCode } = outcome;
  const payload = outcome[resultField] as Record<string, unknown> | null;
  return { hasFailures, hasErrors, isDegraded, faultCode, payload };
}

process.on('message', (question: RecorderQuestion) => {
  void record(question).then((recorded) => process.send?.({ id: question.id, recorded }));
});
process.send?.('ready');
