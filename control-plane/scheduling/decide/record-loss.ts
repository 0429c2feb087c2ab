/** Which acknowledged results a database lacks. */

/** How far the database had come when results were acknowledged. */
export interface StoredMark {
  /** The process that acknowledged them. */
  run: string;
  /** Number of the newest result. */
  seq: number;
  at: number;
}

export interface RecordLoss {
  /** Instants between which the missing results were stored. */
  since: number;
  until: number;
  results: number;
}

/** What is missing where a process started behind a mark of an earlier one; null where nothing is. */
export function missingSince(
  mark: StoredMark,
  run: string,
  start: { seq: number; at: number },
): RecordLoss | null {
  if (mark.run === run || mark.seq <= start.seq) return null;
  return { since: start.at, until: Math.max(mark.at, start.at), results: mark.seq - start.seq };
}

/** True for a slot whose result, stored within `maxMs` of it, would have been lost. */
export function isRecordLost(
  scheduledFor: number,
  losses: readonly Pick<RecordLoss, 'since' | 'until'>[],
  maxMs: number,
): boolean {
  return losses.some(({ since, until }) => scheduledFor > since - maxMs && scheduledFor <= until);
}
