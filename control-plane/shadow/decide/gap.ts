/** Why an empty list of differences says little. Pure. */
import { behindAfterHours, type ShadowState } from '@monitor/shared/contract/shadow.ts';

/** Null where it says that both sides agree, and that what was measured before the move is here. */
export function gapIn(state: Omit<ShadowState, 'mostHistoryDays'>, now: number): string | null {
  const { isOn, problem, checks, readUntil, compared, undecided, historyRefused } = state;
  if (!isOn) return 'verdicts are not compared';
  if (problem !== null) return 'nothing is read at present';
  if (checks === 0) return 'no check is compared';
  if (readUntil === null) return 'not every check has been compared yet';
  if (Date.parse(readUntil) < now - behindAfterHours * 3_600_000) {
    return `some checks have not been compared for more than ${behindAfterHours} hours`;
  }
  if (compared === 0) return `no result had one of the other side beside it, ${undecided} had none`;
  return historyRefused === 0 ? null : 'some of the history before the move cannot be read';
}
