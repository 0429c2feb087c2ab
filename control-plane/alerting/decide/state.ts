/** What the alert machine remembers of a check. Instants in milliseconds since the epoch. */
import type { Gap } from '../../reception/decide/receivable-time.ts';

/** passing: nothing is wrong. degraded: it works, badly. failing: it does not work. */
export type Condition = 'passing' | 'degraded' | 'failing';
export type Trouble = Exclude<Condition, 'passing'>;

/** What people were told last, until they are told that it is over. */
export interface OpenAlert {
  /** The result of the first alert: the same until the recovery. */
  key: string;
  kind: Trouble;
  /** Alert channels that were told, by id. */
  told: number[];
  lastSentAt: number;
  /** Reminders since the last alert. */
  reminders: number;
  /** The check recovered while nothing could be said: the recovery is owed. */
  isOver: boolean;
}

/** A tick of a parallel check that some locations have yet to report for. */
export interface OpenTick {
  scheduledFor: number;
  /** When it is judged by what there is. */
  closesAt: number;
}

export interface AlertState {
  condition: Condition;
  /** Runs of this condition in a row; 0 while passing. */
  runs: number;
  /** Start of the first of them; null while passing. */
  stretchSince: number | null;
  /** Since when the check has not been passing; null while it is. */
  since: number | null;
  /** The result that the condition follows from. */
  resultId: string | null;
  newestStartedAt: number;
  newestStoppedAt: number;
  /** How long after its end the newest run was heard of; negative when its agent's clock is ahead. */
  lagMs: number;
  /** Time since then in which nothing could be heard: no escalation counts it. */
  unheardMs: number;
  /** The newest tick that was judged, of a check that runs in parallel. */
  decidedTick: number | null;
  openTicks: OpenTick[];
  alert: OpenAlert | null;
  /** Reminders and escalations wait till then. */
  heldUntil: number | null;
  /** It was noted once that they wait. */
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
 * The state after a gap, or after the wall clock was set: what was remembered keeps its distance to now,
 * and time in which nothing could be heard does not count.
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
    },
    heldUntil: moved(state.heldUntil),
  };
}

/** True when nothing is lost by forgetting the state. */
export function isIdle({ condition, alert, openTicks }: AlertState): boolean {
  return condition === 'passing' && alert === null && openTicks.length === 0;
}

/** What people believe to be wrong, as far as we told them; null when they believe all is well. */
export function toldOf({ alert }: AlertState): Trouble | null {
  return alert === null || alert.isOver ? null : alert.kind;
}
