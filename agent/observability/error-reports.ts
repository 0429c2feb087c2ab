/** External error observability: counts of our own error codes, and nothing else. */
import type { Clock } from '@monitor/shared/clock.ts';
import type { ControlPlaneClient } from '../link/control-plane-client.ts';
import type { AgentMetrics } from './metrics.ts';

const reportEveryMs = 5 * 60_000;

/** Sends what was counted since the last report, every few minutes, until it is disposed. */
export function startErrorReports(
  metrics: AgentMetrics,
  client: ControlPlaneClient,
  clock: Clock,
): Disposable {
  const reported = new Map<string, number>();
  let cancel: () => void = () => undefined;

  const report = async (): Promise<void> => {
    const { values } = await metrics.internalErrors.get();
    const events = values.flatMap(({ labels, value }) => {
      const code = String(labels.code ?? 'UNKNOWN');
      const count = value - (reported.get(code) ?? 0);
      return count > 0 ? [{ code, count }] : [];
    });
    if (events.length === 0) return;
    try {
      await client.report(events);
    } catch (error) {
      metrics.errorReports.inc({ outcome: 'failed' });
      throw error;
    }
    metrics.errorReports.inc({ outcome: 'sent' });
    for (const { code, count } of events) reported.set(code, (reported.get(code) ?? 0) + count);
  };

  const schedule = (): void => {
    cancel = clock.after(reportEveryMs, () => {
      // A report that does not arrive is sent with the next one.
      void report()
        .catch(() => undefined)
        .finally(schedule);
    });
  };
  schedule();
  return {
    [Symbol.dispose]() {
      cancel();
    },
  };
}
