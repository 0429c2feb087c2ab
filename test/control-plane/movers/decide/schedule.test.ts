import assert from 'node:assert/strict';
import test from 'node:test';
import { goDuration } from '../../../../control-plane/movers/decide/go-duration.ts';
import { frequencyFor } from '../../../../control-plane/movers/decide/interval.ts';
import { jsonPathOf, jsonPathOfKeys } from '../../../../control-plane/movers/decide/json-path.ts';
import {
  confirmationFor,
  remindersFor,
  thresholdFor,
} from '../../../../control-plane/movers/decide/retries.ts';
import { windowsOf } from '../../../../control-plane/movers/windows.ts';

test('an interval becomes the next shorter one, unless the next longer one is hardly longer', () => {
  const seconds = (given: number, longer = false) => frequencyFor(given, longer).seconds;
  for (const [given, wanted] of [
    ...[
      [1, 10],
      [10, 10],
      [45, 30],
      [55, 60],
      [59, 60],
      [60, 60],
      [90, 60],
      [270, 120],
    ],
    ...[
      [280, 300],
      [1000, 900],
      [100_000, 86_400],
      [2_000_000, 86_400],
    ],
  ] as const) {
    assert.equal(seconds(given ?? 0), wanted, String(given));
  }
  assert.equal(seconds(45, true), 60);
  assert.equal(seconds(270, true), 300);
  assert.deepEqual(frequencyFor(20).fields, { frequency: 0, frequencyOffset: 20 });
  assert.deepEqual(frequencyFor(3600).fields, { frequency: 60 });
});

test('retries stay retries while they fit, then become thresholds', () => {
  assert.equal(confirmationFor(0, 60, 60).retryStrategy, null);
  assert.equal(confirmationFor(3, 60, 60).retryStrategy?.['maxRetries'], 3);
  assert.equal(confirmationFor(3, 60, 60).change, null);
  const runs = confirmationFor(3, 300, 300);
  assert.equal(runs.retryStrategy, null);
  assert.deepEqual(runs.escalation['runBasedEscalation'], { failedRunThreshold: 4 });
  assert.match(runs.change ?? '', /after 4 failed runs/);
  const minutes = confirmationFor(12, 100, 60);
  assert.deepEqual(minutes.escalation['timeBasedEscalation'], { minutesFailingThreshold: 15 });
});

test('thresholds and reminders take the next shorter value, and say so', () => {
  assert.equal(thresholdFor(3, 60).change, null);
  assert.match(thresholdFor(8, 60).change ?? '', /5 minutes/);
  assert.match(thresholdFor(6, 10).change ?? '', /5 failed runs/);
  assert.deepEqual(remindersFor(0), { reminders: { amount: 0, interval: 5 }, change: null });
  assert.deepEqual(remindersFor(600), {
    reminders: { amount: 100_000, interval: 10 },
    change: null,
  });
  assert.match(remindersFor(7200).change ?? '', /every 120 min → every 30 min/);
});

test('durations are those of Go and Prometheus', () => {
  for (const [text, seconds] of [
    ['1h30m', 5400],
    ['1.5s', 1.5],
    ['300ms', 0.3],
    ['2d', 172_800],
    ['0', 0],
  ] as const) {
    assert.equal(goDuration(text), seconds, text);
  }
  for (const text of ['', '5', '5 m', 'abc', '1h-3m']) assert.equal(goDuration(text), null, text);
});

test('plain paths of JSONata become JSONPath, and nothing else does', () => {
  assert.equal(jsonPathOf('a.b[0].c'), '$.a.b[0].c');
  assert.equal(jsonPathOf('$'), '$');
  assert.equal(jsonPathOf('a.`b-c`'), '$.a["b-c"]');
  for (const query of ['$count(a)', 'a[b=1]', 'a + b', 'a.', 'a[-1]', 'a..b', '$..a', '.a']) {
    assert.equal(jsonPathOf(query), null, query);
  }
  assert.equal(jsonPathOfKeys('.user-id[0].x'), '$["user-id"][0].x');
  assert.equal(jsonPathOfKeys('.a[b]'), null);
});

test('a schedule of weekdays or days of a month is one window for each', () => {
  const weekly = windowsOf({
    recurrence: { kind: 'weekdays', days: [1, 0] },
    ...{ firstDay: '2026-01-01', startTime: '23:00', durationSeconds: 7200 },
  });
  assert.deepEqual(
    weekly.map(({ suffix, startsAt, endsAt }) => [suffix, startsAt, endsAt]),
    [
      ['-weekday-1', '2026-01-05T23:00:00', '2026-01-06T01:00:00'],
      ['-weekday-0', '2026-01-04T23:00:00', '2026-01-05T01:00:00'],
    ],
  );
  const [last] = windowsOf({
    recurrence: { kind: 'monthdays', days: [0] },
    ...{ firstDay: '2026-02-10', startTime: '04:00', durationSeconds: 60 },
  });
  assert.equal(last?.startsAt, '2026-03-31T04:00:00');
});
