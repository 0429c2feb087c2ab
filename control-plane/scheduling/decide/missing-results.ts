/**
 * Decides whether a check that should have results has none. The cause does not matter, so that
 * unforeseen causes are found too.
 */
import { checkTypes, type CheckType } from '@monitor/shared/contract/checks/index.ts';
import { accountAfterMs } from './sweep.ts';

/** The code of this alert. */
export const noResultsCode = 'NO_RESULTS';

const minMs = 5 * 60_000;
const periods = 3;

/**
 * Receivable time without a FINAL result after which a check counts as not monitored, in ms: at
 * least three periods, five minutes, and twice the maximum run time of its type.
 */
export function missingAfterMs(type: CheckType, intervalMs: number): number {
  const runsLong = checkTypes[type].runtime !== 'never';
  return Math.max(minMs, periods * intervalMs, runsLong ? 2 * accountAfterMs(type) : 0);
}

/** Facts that may explain missing results. */
export interface MissingResultsEvidence {
  /** Missed slots since then, by reason. */
  missed: readonly { reason: string; slots: number }[];
  overload: { reason: string | null } | null;
  /** The clock was set since then. */
  wasClockSet: boolean;
  clockProblem: string | null;
}

const missedWords: Readonly<Record<string, string>> = {
  'no-agent': 'no agent was there',
  'agent-lost': 'the agent was lost',
  'agent-overloaded': 'the agent was overloaded',
  'agent-stopping': 'the agent was stopping',
  'no-runtime': 'no agent there has the runtime that the check needs',
  'type-not-served': 'no agent there runs checks of this type',
  'not-run': 'an agent was there and did not run them',
};

/** The most likely cause in one line. */
export function explainMissingResults(evidence: MissingResultsEvidence): string {
  const { missed, overload, wasClockSet, clockProblem } = evidence;
  const [most] = missed.toSorted((one, other) => other.slots - one.slots);
  const causes = [
    most && `${most.slots} slots were missed: ${missedWords[most.reason] ?? most.reason}`,
    overload && `an agent there is overloaded${overload.reason ? ` (${overload.reason})` : ''}`,
    clockProblem ?? (wasClockSet && 'the clock of the control plane was set'),
  ].filter((cause) => typeof cause === 'string');
  return causes.length === 0
    ? 'agents check in but submit no results; nothing more is known'
    : causes.join('; ');
}
