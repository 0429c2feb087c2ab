/**
 * Whether a check that should have results has none: the watchdog on outcomes. It does not ask why, so
 * that it also finds what nobody has thought of.
 */
import { checkTypes, type CheckType } from '@monitor/shared/contract/checks/index.ts';
import { accountAfterMs } from './sweep.ts';

/** The code of this alert. */
export const noResultsCode = 'NO_RESULTS';

const minMs = 5 * 60_000;
const periods = 3;

/**
 * After how much receivable time without a FINAL result a check counts as not monitored, in ms: three
 * periods, five minutes, and twice what a run of its type may take.
 */
export function missingAfterMs(type: CheckType, intervalMs: number): number {
  const runsLong = checkTypes[type].runtime !== 'never';
  return Math.max(minMs, periods * intervalMs, runsLong ? 2 * accountAfterMs(type) : 0);
}

/** What is known of why there are no results. */
export interface MissingResultsEvidence {
  /** Slots since then that nobody ran, by reason. */
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

/** One line on why, as far as it is known. */
export function explainMissingResults(evidence: MissingResultsEvidence): string {
  const { missed, overload, wasClockSet, clockProblem } = evidence;
  const [most] = missed.toSorted((one, other) => other.slots - one.slots);
  const causes = [
    most && `${most.slots} slots were missed: ${missedWords[most.reason] ?? most.reason}`,
    overload && `an agent there is overloaded${overload.reason ? ` (${overload.reason})` : ''}`,
    clockProblem ?? (wasClockSet && 'the clock of the control plane was set'),
  ].filter((cause) => typeof cause === 'string');
  return causes.length === 0
    ? 'agents check in and hand in no results; nothing more is known'
    : causes.join('; ');
}
