/** What a running agent does again and again beside its checks. */
import { leaseRenewMs } from '@monitor/shared/contract/agent-protocol.ts';
import { startErrorReports } from '../observability/error-reports.ts';
import { probeDataFolder, type FolderProblem } from '../status/probe-folder.ts';
import type { AgentSession } from '../worker/agent-session.ts';
import { repeat } from '../worker/repeat.ts';
import type { Storage } from './open-storage.ts';
import type { AgentParts } from './parts.ts';

const maintainEveryMs = 10_000;
const inspectEveryMs = 60_000;

export function keepUp(
  stack: AsyncDisposableStack,
  { config, logger }: AgentParts,
  { rawClock, processTime, metrics, outbox, client }: Storage,
  session: AgentSession,
  observe: () => void,
): void {
  const maintain = (): void => {
    outbox.dropAged();
    observe();
  };
  const renewLeases = (): void => session.renewLeases();
  let inspectedUpTo = 0;
  let dataProblem: FolderProblem | null = null;
  const inspect = (): void => {
    inspectedUpTo = outbox.inspect(inspectedUpTo);
    // With nothing to write, nobody else notices.
    const problem = probeDataFolder(config.AGENT_DATA_DIR);
    if (problem?.code === dataProblem?.code) return;
    dataProblem = problem;
    if (problem === null) logger.info('AGENT_DATA_DIR can be written again');
    else logger.error(problem, 'AGENT_DATA_DIR cannot be written, results cannot be kept');
  };
  stack.defer(repeat(rawClock, maintainEveryMs, maintain));
  stack.defer(repeat(rawClock, inspectEveryMs, inspect));
  stack.defer(repeat(rawClock, leaseRenewMs, renewLeases));
  processTime.onSuspension(({ lastedMs }) => {
    metrics.suspensions.inc();
    metrics.suspendedTime.inc(lastedMs / 1_000);
    logger.warn(
      { lastedMs: Math.round(lastedMs) },
      'the process was stopped or the machine slept, open attempts are void',
    );
    // Leases may be lost by now: known before anything else is made of their jobs.
    renewLeases();
  });
  processTime.watch();
  if (config.EXTERNAL_OBSERVABILITY) stack.use(startErrorReports(metrics, client, rawClock));
}
