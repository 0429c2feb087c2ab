/**
 * What a check would have alerted about: its past runs go through the alert machine again, with other
 * rules. Nothing is sent and nothing is stored.
 */
import type { AlertType } from './decision.ts';
import type { AlertRules } from './rules.ts';
import { initialState, type AlertState } from './state.ts';
import { stepAlert, type AlertEvent, type Step } from './step.ts';
import type { LocationResult, Outcome } from './tick.ts';

/** A finished run. Instants in milliseconds since the epoch. */
export interface PastRun {
  resultId: string;
  location: string;
  outcome: Outcome;
  /** Null for a triggered run. */
  scheduledFor: number | null;
  startedAt: number;
  stoppedAt: number;
  isInMaintenance: boolean;
}

export interface ReplayedAlert {
  at: number;
  alertType: AlertType;
  /** 0 for an alert or a recovery. */
  reminder: number;
  resultId: string;
}

class Replay {
  readonly alerts: ReplayedAlert[] = [];
  readonly #rules: AlertRules;
  #state: AlertState = initialState;
  #wakeAt: number | null = null;

  constructor(rules: AlertRules) {
    this.#rules = rules;
  }

  #take(event: AlertEvent, now: number): Step {
    const step = stepAlert(this.#state, event, this.#rules, now);
    for (const effect of step.effects) {
      if (effect.kind !== 'alert') continue;
      const { alertType, reminder, resultId } = effect;
      this.alerts.push({ at: now, alertType, reminder, resultId });
    }
    this.#state = step.state;
    this.#wakeAt = step.wakeAt;
    return step;
  }

  /** Escalations and reminders that fell due before an instant. */
  wakeUntil(instant: number): void {
    while (this.#wakeAt !== null && this.#wakeAt <= instant) {
      const at = this.#wakeAt;
      const before = this.#state;
      this.#take({ kind: 'wake' }, at);
      // A deadline of a tick alone: there is nothing to do before its results.
      if (this.#wakeAt === at && this.#state === before) return;
    }
  }

  run(run: PastRun): void {
    this.wakeUntil(run.stoppedAt);
    this.#take({ kind: 'run', ...run, isTriggered: run.scheduledFor === null }, run.stoppedAt);
  }

  /** The results of a tick as they came; all locations that ever reported count as expected. */
  tick(scheduledFor: number, runs: readonly PastRun[]): void {
    const expected = [...new Set(runs.map(({ location }) => location))];
    const results: LocationResult[] = [];
    for (const { resultId, location, outcome, stoppedAt, isInMaintenance } of runs) {
      this.wakeUntil(stoppedAt);
      results.push({ resultId, location, stoppedAt, outcome });
      this.#take(
        {
          ...{ kind: 'tick', scheduledFor, results: [...results], expected, isInMaintenance },
          closesAt: Number.MAX_SAFE_INTEGER,
          newest: { resultId, outcome },
        },
        stoppedAt,
      );
    }
  }
}

/** The alerts, reminders and recoveries of runs, which are in the order in which they began. */
export function replayAlerts(
  runs: readonly PastRun[],
  rules: AlertRules,
  until: number,
): ReplayedAlert[] {
  const replay = new Replay({ ...rules, mute: null });
  const inOrder = runs.toSorted((left, right) => left.stoppedAt - right.stoppedAt);
  if (rules.isParallel) {
    const ticks = Map.groupBy(inOrder, ({ scheduledFor }) => scheduledFor);
    for (const [scheduledFor, ofTick] of [...ticks].sort(([a], [b]) => (a ?? 0) - (b ?? 0))) {
      if (scheduledFor === null) continue;
      replay.tick(scheduledFor, ofTick);
    }
  } else {
    for (const run of inOrder) replay.run(run);
  }
  replay.wakeUntil(until);
  return replay.alerts;
}
