/** Finds acknowledged results that the database lost. */

/** The position of the database when results were acknowledged. */
export interface StoredMark {
  /** Id of the process. */
  run: string;
  /** Number of the newest result. */
  seq: number;
  at: number;
}

export interface RecordLoss {
  /** The missing results were stored between these instants. */
  since: number;
  until: number;
  results: number;
}

/** The missing results when a process starts behind the mark of an earlier one; null without any. */
export function missingSince(
  mark: StoredMark,
  run: string,
  start: { seq: number; at: number },
): RecordLoss | null {
  if (mark.run === run || mark.seq <= start.seq) return null;
  return { since: start.at, until: Math.max(mark.at, start.at), results: mark.seq - start.seq };
}

/** True for a slot whose result was probably lost: stored within `maxMs` of the slot. */
export function isRecordLost(
  scheduledFor: number,
  losses: readonly Pick<RecordLoss, 'since' | 'until'>[],
  maxMs: number,
): boolean {
  return losses.some(({ since, until }) => scheduledFor > since - maxMs && scheduledFor <= until);
}
