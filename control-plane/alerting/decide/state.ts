/** State of the alert state machine for one check. Instants in milliseconds since the epoch. */
import type { Gap } from '../../reception/decide/receivable-time.ts';

/** passing: nothing is wrong. degraded: it works badly. failing: it does not work. */
export type Condition = 'passing' | 'degraded' | 'failing';
export type ProblemCondition = Exclude<Condition, 'passing'>;

/** The alert that is open: it was sent, and its recovery was not sent yet. */
export interface OpenAlert {
  /** Id of the result that opened the alert; it stays the same until the recovery. */
  key: string;
  kind: ProblemCondition;
  /** Ids of the channels that were notified. The name is part of the stored state. */
  told: number[];
  lastSentAt: number;
  /** Reminders since the last alert. */
  reminders: number;
  /** The check recovered while muted or in maintenance: the recovery is still to be sent. */
  isOver: boolean;
  /** Somebody took it on: no reminder before `untilAt`, or none at all. Absent otherwise. */
  acknowledged?: { untilAt: number | null };
}

/** A tick of a parallel check for which some locations have not reported yet. */
export interface OpenTick {
  scheduledFor: number;
  /** When the tick is decided without the missing locations. */
  closesAt: number;
}

export interface AlertState {
  condition: Condition;
  /** Consecutive runs in this condition; 0 while passing. */
  runs: number;
  /** Start of the first of these runs; null while passing. The name is part of the stored state. */
  stretchSince: number | null;
  /** Start of the present problem, degraded or failing; null while passing. */
  since: number | null;
  /** Id of the result that set the condition. */
  resultId: string | null;
  newestStartedAt: number;
  newestStoppedAt: number;
  /** Time from the end of the newest run to its arrival; negative when the clock of its agent is ahead. */
  lagMs: number;
  /** Time since the newest run in which nothing could be received; escalations do not count it. */
  unheardMs: number;
  /** The newest decided tick of a parallel check. */
  decidedTick: number | null;
  openTicks: OpenTick[];
  alert: OpenAlert | null;
  /** Reminders and escalations are held until this instant. */
  heldUntil: number | null;
  /** The decision about this hold was recorded; it is recorded only once. */
  isHoldNoted: boolean;
}

export const initialState: AlertState = {
  condition: 'passing',
  runs: 0,
  stretchSince: null,
  since: null,
  resultId: null,
  newestStartedAt: 0,
  newestStoppedAt: 0,
  lagMs: 0,
  unheardMs: 0,
  decidedTick: null,
  openTicks: [],
  alert: null,
  heldUntil: null,
  isHoldNoted: false,
};

/**
 * The state after a gap in reception, or after the wall clock was set: stored instants keep their
 * distance to now, and time in which nothing could be received does not count.
 */
export function afterGap(state: AlertState, { lostMs, stepMs }: Gap): AlertState {
  const moved = <T extends number | null>(at: T) => (at === null ? at : at + stepMs) as T;
  return {
    ...state,
    stretchSince: moved(state.stretchSince),
    since: moved(state.since),
    newestStartedAt: moved(state.newestStartedAt),
    newestStoppedAt: moved(state.newestStoppedAt),
    unheardMs: state.unheardMs + lostMs,
    decidedTick: moved(state.decidedTick),
    openTicks: state.openTicks.map(({ scheduledFor, closesAt }) => ({
      scheduledFor: moved(scheduledFor),
      closesAt: moved(closesAt) + lostMs,
    })),
    alert: state.alert && {
      ...state.alert,
      lastSentAt: moved(state.alert.lastSentAt) + lostMs,
      ...(state.alert.acknowledged === undefined
        ? {}
        : { acknowledged: { untilAt: moved(state.alert.acknowledged.untilAt) } }),
    },
    heldUntil: moved(state.heldUntil),
  };
}

/** True for a state without information: its row can be deleted. */
export function isIdle({ condition, alert, openTicks }: AlertState): boolean {
  return condition === 'passing' && alert === null && openTicks.length === 0;
}

/** The condition of the last notification; null when people were notified of no problem. */
export function notifiedCondition({ alert }: AlertState): ProblemCondition | null {
  return alert === null || alert.isOver ? null : alert.kind;
}
