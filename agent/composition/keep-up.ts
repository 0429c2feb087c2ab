/** What a running agent does again and again beside its checks. */
import { leaseRenewMs } from '@monitor/shared/contract/agent-protocol.ts';
import { startErrorReports } from '../observability/error-reports.ts';
import type { DataFolderWatch } from '../status/data-folder-watch.ts';
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
  dataFolder: DataFolderWatch,
  observe: () => void,
): void {
  const maintain = (): void => {
    outbox.dropAged();
    observe();
  };
  const renewLeases = (): void => session.renewLeases();
  let inspectedUpTo = 0;
  const inspect = (): void => {
    inspectedUpTo = outbox.inspect(inspectedUpTo);
    dataFolder.inspect();
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
