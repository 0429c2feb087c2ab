/**
 * What becomes of a submitted result, given what is stored. Every run ends with exactly one FINAL.
 *
 *   no run, or run RUNNING   an ATTEMPT is stored; a FINAL closes the run
 *   run MISSED               a result that arrives after all takes the place of the missed record
 *   run FINAL                the same result again is a duplicate; an ATTEMPT from before its FINAL came
 *                            by another way and is stored as one; any other is late: kept apart,
 *                            counted, never a second FINAL
 */
export type RunState = 'RUNNING' | 'FINAL' | 'MISSED';

export type IngestDecision =
  | { kind: 'duplicate' }
  | { kind: 'late' }
  | { kind: 'store'; closesRun: boolean }
  /** The attempt is stored, but another agent said it was not the last: now it, or one after it, is. */
  | { kind: 'promote' };

/** Decides on one result. `stored` is what already has this result's id. */
export function decideResult(
  run: { state: RunState; finalAttempt: number | null } | undefined,
  stored: { resultType: 'FINAL' | 'ATTEMPT' | 'LATE' } | undefined,
  { resultType, attempt }: { resultType: 'FINAL' | 'ATTEMPT'; attempt: number },
): IngestDecision {
  if (stored !== undefined) {
    const isCorrection =
      stored.resultType === 'ATTEMPT' && resultType === 'FINAL' && run?.state !== 'FINAL';
    return isCorrection ? { kind: 'promote' } : { kind: 'duplicate' };
  }
  if (run?.state !== 'FINAL') return { kind: 'store', closesRun: resultType === 'FINAL' };
  const isBeforeFinal =
    resultType === 'ATTEMPT' && run.finalAttempt !== null && attempt < run.finalAttempt;
  return isBeforeFinal ? { kind: 'store', closesRun: false } : { kind: 'late' };
}
