/**
 * Reads what the other side measured before a check was made here into the sums of analytics: newest first, some hours
 * at a time, each in one transaction with how far it has come. So a turn that ends anywhere is taken up by the next.
 */
import { findCheckType } from '@monitor/shared/contract/checks/index.ts';
import { hourMs, ImportedSums } from '../analytics/index.ts';
import type { Window } from '../core/decide/results-window.ts';
import type { Services } from '../core/services.ts';
import type { Db } from '../db/tables.ts';
import { type SourceApi, SourceApiError } from './source-api.ts';
import type { PastOfCheck } from './store.ts';

/** So many runs of a check are read at once, in hours. */
const runsAtOnce = 720;

/**
 * The FINAL results of a check there, each once, in the time of this installation. An error of that installation alone
 * is no verdict about the target.
 */
export async function* entriesWithin(api: SourceApi, otherId: string, { from, to }: Window) {
  const seconds = (at: number) => Math.floor((at + api.clockOffsetMs) / 1_000);
  const query = { from: seconds(from), to: seconds(to) + 1, resultType: 'FINAL' };
  const path = `/v2/check-results/${encodeURIComponent(otherId)}`;
  const seen = new Set<unknown>();
  for await (const entries of api.byCursor(path, query)) {
    for (const entry of entries) {
      const { id, checkId, startedAt, isCancelled, runLocation } = entry;
      const at = Date.parse(String(startedAt));
      if (typeof checkId === 'string' && checkId !== otherId) {
        throw new SourceApiError(`${path} at ${api.host} gives results of another check`);
      }
      if (isCancelled === true || Number.isNaN(at) || seen.has(id)) continue;
      if (id !== undefined) seen.add(id);
      const isFailing = entry['hasFailures'] === true;
      const responseTimeMs = Math.round(Number(entry['responseTime'] ?? NaN));
      const isTime = Number.isSafeInteger(responseTimeMs) && responseTimeMs >= 0;
      yield {
        ...{ entry, id: String(id).slice(0, 64), at: at - api.clockOffsetMs },
        location: typeof runLocation === 'string' ? runLocation.slice(0, 64) : 'unknown',
        ...{ isFailing, isError: !isFailing && entry['hasErrors'] === true },
        responseTimeMs: isTime ? responseTimeMs : null,
      };
    }
  }
}

/** How many hours of a check are read at once. */
export const hoursOfPart = ({ gapMs, history }: Pick<PastOfCheck, 'gapMs' | 'history'>): number =>
  history.part_hours ?? Math.max(1, Math.min(24, Math.floor((runsAtOnce * gapMs) / hourMs)));

/** Reads the next hours of one check. Gives what stores them. */
export async function readHistory(
  { clock }: Pick<Services, 'clock'>,
  api: SourceApi,
  past: Pick<PastOfCheck, 'type' | 'otherId' | 'gapMs' | 'history' | 'wantedFrom'>,
): Promise<(unit: Db) => Promise<void>> {
  const { type, otherId, history, wantedFrom } = past;
  const { account_id: accountId, check_id: checkId, from_at: to } = history;
  const from = Math.max(wantedFrom, to - hoursOfPart(past) * hourMs);
  const sums = new ImportedSums();
  for await (const seen of entriesWithin(api, otherId, { from, to })) {
    const { entry, at, isFailing, location, responseTimeMs } = seen;
    if (at < from || at >= to) continue;
    if (seen.isError) {
      sums.leftOut += 1;
      continue;
    }
    sums.add({
      ...{ accountId, checkId, checkType: type, startedAt: at, isFinal: true, hasErrors: false },
      ...{ hasFailures: isFailing, isDegraded: !isFailing && entry['isDegraded'] === true },
      ...{ runLocation: location, responseTimeMs, states: [] },
      payload: entry[findCheckType(type)?.resultField ?? ''],
    });
  }
  const read = { ...history, from_at: from, problem: null, retry_at: null };
  return (unit) => sums.store(unit, read, clock.now());
}
