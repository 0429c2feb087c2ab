import assert from 'node:assert/strict';
import test from 'node:test';
import { explain } from '../../../../control-plane/alerting/decide/explain.ts';
import type { AlertRules } from '../../../../control-plane/alerting/decide/rules.ts';
import { initialState, type AlertState } from '../../../../control-plane/alerting/decide/state.ts';
import { stepAlert } from '../../../../control-plane/alerting/decide/step.ts';
import type { Outcome } from '../../../../control-plane/alerting/decide/tick.ts';

const minute = 60_000;
const rules: AlertRules = {
  escalation: { type: 'RUN_BASED', runs: 1 },
  reminders: { amount: 0, intervalMs: 5 * minute },
  isParallel: false,
  parallelPercentage: null,
  mute: null,
};
const runsInARow = (runs: number): AlertRules => ({
  ...rules,
  escalation: { type: 'RUN_BASED', runs },
});
const minutes = (lasting: number): AlertRules => ({
  ...rules,
  escalation: { type: 'TIME_BASED', minutes: lasting },
});

/** A minute of a timeline: what happened, and what was said, or why nothing was. */
type Moment = [atMinute: number, what: Outcome | 'wake', said: string, rules?: AlertRules];

function play(base: AlertRules, moments: readonly Moment[]): string[] {
  let state: AlertState = initialState;
  const sentences: string[] = [];
  for (const [at, what, said, own = base] of moments) {
    const now = at * minute;
    const step = stepAlert(
      state,
      what === 'wake'
        ? { kind: 'wake' }
        : {
            kind: 'run',
            resultId: `run at ${at}`,
            outcome: what,
            startedAt: now,
            stoppedAt: now,
            isInMaintenance: false,
            isTriggered: false,
          },
      own,
      now,
    );
    const alert = step.effects.find((effect) => effect.kind === 'alert');
    const reason = step.decision?.reason ?? 'nothing';
    assert.equal(alert?.alertType ?? reason, said, `minute ${at}`);
    if (step.decision !== null) sentences.push(explain(step.decision, own));
    ({ state } = step);
  }
  return sentences;
}

test('every transition has its code', () => {
  play(rules, [
    [0, 'passing', 'nothing'],
    [1, 'degraded', 'ALERT_DEGRADED'],
    [2, 'passing', 'ALERT_DEGRADED_RECOVERY'],
    [3, 'failing', 'ALERT_FAILURE'],
    [4, 'failing', 'ALREADY_ALERTED'],
    [5, 'degraded', 'ALERT_FAILURE_DEGRADED'],
    [6, 'degraded', 'ALREADY_ALERTED'],
    [7, 'failing', 'ALERT_DEGRADED_FAILURE'],
    [8, 'passing', 'ALERT_RECOVERY'],
    [9, 'passing', 'nothing'],
  ]);
});

test('an alert whose threshold is reached later has the code of what remains', () => {
  const sentences = play(runsInARow(3), [
    [0, 'failing', 'THRESHOLD_NOT_REACHED'],
    [1, 'failing', 'THRESHOLD_NOT_REACHED'],
    [2, 'failing', 'ALERT_FAILURE_REMAIN'],
    [3, 'passing', 'ALERT_RECOVERY'],
    [4, 'degraded', 'THRESHOLD_NOT_REACHED'],
    [5, 'degraded', 'THRESHOLD_NOT_REACHED'],
    [6, 'degraded', 'ALERT_DEGRADED_REMAIN'],
    [7, 'passing', 'ALERT_DEGRADED_RECOVERY'],
  ]);
  assert.equal(sentences[1], '2 of 3 failed runs in a row; the third will alert.');
  assert.equal(sentences[2], '3 of 3 failed runs in a row.');
  assert.equal(sentences[3], 'The check passed again after an alert.');
});

test('a pass resets the count and recovers only what was sent', () => {
  play(runsInARow(2), [
    [0, 'failing', 'THRESHOLD_NOT_REACHED'],
    [1, 'passing', 'NOTHING_TO_RECOVER'],
    [2, 'failing', 'THRESHOLD_NOT_REACHED'],
    [3, 'failing', 'ALERT_FAILURE_REMAIN'],
  ]);
});

test('going between degraded and failing alerts whatever the threshold', () => {
  play(runsInARow(5), [
    [0, 'degraded', 'THRESHOLD_NOT_REACHED'],
    [1, 'failing', 'ALERT_DEGRADED_FAILURE'],
    [2, 'degraded', 'ALERT_FAILURE_DEGRADED'],
    [3, 'passing', 'ALERT_DEGRADED_RECOVERY'],
  ]);
  play(minutes(30), [
    [0, 'failing', 'THRESHOLD_NOT_REACHED'],
    [1, 'degraded', 'ALERT_FAILURE_DEGRADED'],
  ]);
});

test('an agent error is neither a failure nor a pass', () => {
  play(runsInARow(2), [
    [0, 'inconclusive', 'INCONCLUSIVE'],
    [1, 'failing', 'THRESHOLD_NOT_REACHED'],
    [2, 'inconclusive', 'INCONCLUSIVE'],
    [3, 'failing', 'ALERT_FAILURE_REMAIN'],
    [4, 'inconclusive', 'INCONCLUSIVE'],
    [5, 'passing', 'ALERT_RECOVERY'],
  ]);
});

test('time alone escalates, on the minute, however many runs there were', () => {
  const sentences = play(minutes(5), [
    [0, 'failing', 'THRESHOLD_NOT_REACHED'],
    [4, 'failing', 'THRESHOLD_NOT_REACHED'],
    [4.9, 'wake', 'nothing'],
    [5, 'wake', 'ALERT_FAILURE_REMAIN'],
    [6, 'wake', 'nothing'],
    [7, 'passing', 'ALERT_RECOVERY'],
    [60, 'wake', 'nothing'],
  ]);
  assert.equal(sentences[1], 'Failing for 4 of 5 minutes; the alert comes if it lasts.');
});

test('reminders come at their interval, as many as asked for, and end with the recovery', () => {
  const reminded = { ...rules, reminders: { amount: 2, intervalMs: 5 * minute } };
  const sentences = play(reminded, [
    [0, 'failing', 'ALERT_FAILURE'],
    [4, 'wake', 'nothing'],
    [5, 'wake', 'ALERT_FAILURE_REMAIN'],
    [10, 'wake', 'ALERT_FAILURE_REMAIN'],
    [60, 'wake', 'nothing'],
    [61, 'passing', 'ALERT_RECOVERY'],
    [62, 'failing', 'ALERT_FAILURE'],
    [63, 'passing', 'ALERT_RECOVERY'],
    [70, 'wake', 'nothing'],
  ]);
  assert.equal(sentences[2], 'The check is still failing: reminder 2 of 2.');
});

test('nothing is sent while muted; a lasting failure is sent with the next run afterwards', () => {
  const muted: AlertRules = { ...rules, mute: { reason: 'MUTED' } };
  play(rules, [
    [0, 'failing', 'MUTED', muted],
    [1, 'failing', 'MUTED', muted],
    [2, 'failing', 'ALERT_FAILURE_REMAIN'],
    [3, 'passing', 'MUTED', muted],
    [4, 'passing', 'nothing', muted],
    [5, 'passing', 'ALERT_RECOVERY'],
  ]);
});

test('reminders and escalations wait for the end of a maintenance', () => {
  const during: AlertRules = {
    ...minutes(5),
    reminders: { amount: 1, intervalMs: 5 * minute },
    mute: { reason: 'MAINTENANCE', until: 30 * minute },
  };
  const after = { ...during, mute: null };
  const sentences = play(during, [
    [0, 'failing', 'THRESHOLD_NOT_REACHED'],
    [5, 'wake', 'MAINTENANCE'],
    [29, 'wake', 'nothing'],
    [30, 'wake', 'ALERT_FAILURE_REMAIN', after],
    [35, 'wake', 'ALERT_FAILURE_REMAIN', after],
  ]);
  assert.equal(sentences[1], 'The alert waits for the first run after the maintenance.');
});

/** A run that is heard of at `now`, in minutes. */
function late(outcome: Outcome, from: number, to: number, isInMaintenance = false) {
  return {
    kind: 'run' as const,
    resultId: `run at ${from}`,
    outcome,
    startedAt: from * minute,
    stoppedAt: to * minute,
    isInMaintenance,
    isTriggered: false,
  };
}

test('a late result does not undo newer ones, and keeps its times', () => {
  const failing = stepAlert(initialState, late('failing', 10, 10.1), rules, 10.1 * minute).state;
  const stale = stepAlert(failing, late('passing', 9, 9.1), rules, 40 * minute);
  assert.deepEqual([stale.decision?.reason, stale.state], ['OUTDATED', failing]);
  // It took so long to fail that a run which passed at once overtook it.
  const passed = stepAlert(failing, late('passing', 11, 11.1), rules, 11.1 * minute).state;
  const slow = stepAlert(passed, late('failing', 10.9, 11.4), rules, 11.4 * minute);
  assert.equal(slow.decision?.alertType, 'ALERT_FAILURE');
  // A backlog: five minutes have passed where it comes from, not only here.
  const first = stepAlert(initialState, late('failing', 0, 0.1), minutes(5), 60 * minute);
  assert.equal(first.wakeAt, 3_894_000);
  const fifth = stepAlert(first.state, late('failing', 5, 5.1), minutes(5), 60.1 * minute);
  assert.equal(fifth.decision?.isRaised, true);
});

test('a failure within a maintenance counts for nothing, a pass counts silently', () => {
  const failing = stepAlert(initialState, late('failing', 0, 0.1), rules, minute).state;
  const during = stepAlert(failing, late('failing', 2, 2.1, true), rules, 3 * minute);
  assert.deepEqual([during.decision?.reason, during.state.runs], ['MAINTENANCE', 1]);
  const pass = stepAlert(during.state, late('passing', 4, 4.1, true), rules, 5 * minute);
  assert.deepEqual(pass.effects, [{ kind: 'resolve-incident' }]);
  const after = stepAlert(pass.state, late('passing', 9, 9.1), rules, 10 * minute);
  assert.equal(after.effects[0]?.kind === 'alert' && after.effects[0].alertType, 'ALERT_RECOVERY');
  const quiet = stepAlert(initialState, late('failing', 2, 2.1, true), rules, 3 * minute);
  assert.deepEqual([quiet.effects, quiet.state.condition], [[], 'passing']);
});

test('of a parallel check one triggered run can say that it fails, not that it works', () => {
  const parallel = { ...rules, isParallel: true };
  const triggered = (outcome: Outcome, at: number) => ({
    ...late(outcome, at, at),
    isTriggered: true,
  });
  const failing = stepAlert(initialState, triggered('failing', 1), parallel, minute);
  assert.equal(failing.decision?.alertType, 'ALERT_FAILURE');
  const passing = stepAlert(failing.state, triggered('passing', 2), parallel, 2 * minute);
  assert.equal(passing.decision?.reason, 'OUTSIDE_SCHEDULE');
  const shared = { ...parallel, parallelPercentage: 50 };
  const some = stepAlert(initialState, triggered('failing', 1), shared, minute);
  assert.equal(some.decision?.reason, 'OUTSIDE_SCHEDULE');
});
