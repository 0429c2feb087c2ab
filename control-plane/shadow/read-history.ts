/**
 * Reads what the other side measured before a check was made here into the sums of analytics: newest first, some hours
 * at a time, each in one transaction with how far it has come. So a turn that ends anywhere is taken up by the next.
 */
import { findCheckType } from '@monitor/shared/contract/checks/index.ts';
import { ImportedSums } from '../analytics/index.ts';
import type { Window } from '../core/decide/results-window.ts';
import type { Services } from '../core/services.ts';
import type { SourceApi } from './source-api.ts';
import type { PastOfCheck } from './store.ts';

const hourMs = 3_600_000;
/** So many runs of a check are read at once, in hours. */
const runsAtOnce = 720;

/** The FINAL results of a check there, in the time of this installation. */
export async function* entriesWithin(api: SourceApi, otherId: string, { from, to }: Window) {
  const seconds = (at: number) => Math.floor((at + api.clockOffsetMs) / 1_000);
  const query = { from: seconds(from), to: seconds(to) + 1, resultType: 'FINAL' };
  const path = `/v2/check-results/${encodeURIComponent(otherId)}`;
  for await (const entries of api.byCursor(path, query)) {
    for (const entry of entries) {
      const { id, startedAt, hasFailures, hasErrors, isCancelled, runLocation } = entry;
      const at = Date.parse(String(startedAt));
      if (isCancelled === true || Number.isNaN(at)) continue;
      const responseTimeMs = Math.round(Number(entry['responseTime'] ?? NaN));
      const isTime = Number.isSafeInteger(responseTimeMs) && responseTimeMs >= 0;
      yield {
        ...{ entry, id: String(id).slice(0, 64), location: String(runLocation).slice(0, 64) },
        ...{ at: at - api.clockOffsetMs, isFailing: hasFailures === true || hasErrors === true },
        responseTimeMs: isTime ? responseTimeMs : null,
      };
    }
  }
}

/** Numbers that no installation measures break no sum. */
const plausible = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value ?? null), (_name, each: unknown) =>
    typeof each === 'number' && !(Math.abs(each) < 1e9) ? null : each,
  );

/** Reads the next hours of one check. */
export async function readHistory(
  { commits, clock }: Pick<Services, 'commits' | 'clock'>,
  api: SourceApi,
  past: Pick<PastOfCheck, 'type' | 'otherId' | 'gapMs' | 'history' | 'wantedFrom'>,
): Promise<void> {
  const { type, otherId, gapMs, history, wantedFrom } = past;
  const { account_id: accountId, check_id: checkId, from_at: to } = history;
  const hours = Math.max(1, Math.min(24, Math.floor((runsAtOnce * gapMs) / hourMs)));
  const from = Math.max(wantedFrom, to - hours * hourMs);
  const sums = new ImportedSums();
  for await (const seen of entriesWithin(api, otherId, { from, to })) {
    const { entry, at, isFailing, location, responseTimeMs } = seen;
    if (at < from || at >= to || (responseTimeMs === null && !isFailing)) continue;
    sums.add({
      ...{ accountId, checkId, checkType: type, startedAt: at, isFinal: true, hasErrors: false },
      ...{ hasFailures: isFailing, isDegraded: !isFailing && entry['isDegraded'] === true },
      ...{ runLocation: location, responseTimeMs: responseTimeMs ?? 0, states: [] },
      payload: plausible(entry[findCheckType(type)?.resultField ?? '']),
    });
  }
  await commits.run((unit) => sums.store(unit, { ...history, from_at: from }, clock.now()));
}
