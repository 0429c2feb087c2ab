import assert from 'node:assert/strict';
import test from 'node:test';
import {
  effectiveAlertSettings,
  rulesOf,
} from '../../../../control-plane/alerting/decide/rules.ts';

const runs = (failedRunThreshold: number) => ({ runBasedEscalation: { failedRunThreshold } });
const account = runs(2);
const own = runs(3);
const ofGroup = runs(4);

test('the settings of check, group and account, in their order', () => {
  const cases: [useGlobal: boolean, group: [boolean | null, unknown] | null, expected: number][] = [
    [true, null, 2],
    [false, null, 3],
    [true, [null, null], 2],
    [false, [null, null], 3],
    [true, [null, ofGroup], 4],
    [false, [null, ofGroup], 4],
    [false, [false, ofGroup], 4],
    [false, [true, ofGroup], 2],
    [true, [false, null], 3],
  ];
  for (const [useGlobalAlertSettings, group, expected] of cases) {
    const settings = effectiveAlertSettings({
      check: { useGlobalAlertSettings, alertSettings: own },
      group: group === null ? null : { useGlobalAlertSettings: group[0], alertSettings: group[1] },
      account,
    });
    assert.equal(
      settings.runBasedEscalation.failedRunThreshold,
      expected,
      JSON.stringify([useGlobalAlertSettings, group]),
    );
  }
});

test('without any settings the first failed run alerts, without reminders', () => {
  const settings = effectiveAlertSettings({
    check: { useGlobalAlertSettings: true, alertSettings: null },
    group: null,
    account: null,
  });
  const check = { runParallel: false, locations: 1, isPinged: false, mute: null };
  assert.deepEqual(rulesOf(settings, check), {
    escalation: { type: 'RUN_BASED', runs: 1 },
    reminders: { amount: 0, intervalMs: 300_000 },
    isParallel: false,
    parallelPercentage: null,
    mute: null,
  });
});

test('a share of locations applies to parallel checks with two of them; a heartbeat fails once', () => {
  const settings = effectiveAlertSettings({
    check: {
      useGlobalAlertSettings: false,
      alertSettings: { ...own, parallelRunFailureThreshold: { enabled: true, percentage: 50 } },
    },
    group: null,
    account: null,
  });
  const check = { runParallel: true, locations: 2, isPinged: false, mute: null };
  const share = (fields: Partial<typeof check>) =>
    rulesOf(settings, { ...check, ...fields }).parallelPercentage;
  assert.deepEqual(
    [share({}), share({ locations: 1 }), share({ runParallel: false })],
    [50, null, null],
  );
  const heartbeat = rulesOf(settings, { ...check, isPinged: true });
  assert.deepEqual(heartbeat.escalation, { type: 'RUN_BASED', runs: 1 });
});
