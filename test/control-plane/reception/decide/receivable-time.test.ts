import assert from 'node:assert/strict';
import test from 'node:test';
import {
  gapsBetween,
  gapsOverRestart,
  receivableSince,
  gracePeriodAfter,
  shiftOf,
  type Gap,
  type Reading,
} from '../../../../control-plane/reception/decide/receivable-time.ts';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const year = 365 * 24 * hour;
const start = Date.parse('2026-11-21T08:00:00Z');
const first: Reading = { wall: start, monotonic: 5_000, boot: 90_000 };

/** The reading after these have passed on each clock. */
function after(passed: Reading, from: Reading = first): Reading {
  return {
    wall: from.wall + passed.wall,
    monotonic: from.monotonic + passed.monotonic,
    boot: from.boot === null || passed.boot === null ? null : from.boot + passed.boot,
  };
}

/** What is found when so much passes on each clock, read every second. */
const found = (wall: number, monotonic = wall, boot: number | null = monotonic) =>
  gapsBetween(first, after({ wall, monotonic, boot }), second).map(
    ({ cause, lostMs, stepMs }) => `${cause} ${lostMs || stepMs}`,
  );

test('what happened between two readings follows from the clocks', () => {
  const timelines: [says: string, found: string[], expected: string[]][] = [
    ['a second', found(second), []],
    ['a second on a busy machine', found(1_900), []],
    ['stopped for two minutes', found(120 * second + second), ['stopped 120000']],
    ['the same without boot time', found(121 * second, 121 * second, null), ['stopped 120000']],
    [
      'the machine slept for an hour',
      found(hour + second, second, hour + second),
      ['machine-suspended 3600000'],
    ],
    [
      'it slept, and the process came late afterwards',
      found(hour + 6 * second, 6 * second, hour + 6 * second),
      ['machine-suspended 3605000'],
    ],
    ['set ahead', found(3 * hour + second, second), ['clock-step 10800000']],
    ['set back', found(-3 * hour + second, second), ['clock-step -10800000']],
    ['a year ahead', found(year + second, second), [`clock-step ${year}`]],
    ['set right by a second', found(2 * second, second), []],
    [
      'stopped, and set ahead meanwhile',
      found(hour + 31 * second, 31 * second),
      ['stopped 30000', 'clock-step 3600000'],
    ],
    [
      'slept, and set back meanwhile',
      found(second, second, 10 * minute + second),
      ['machine-suspended 600000', 'clock-step -600000'],
    ],
  ];
  for (const [says, gaps, expected] of timelines) assert.deepEqual(gaps, expected, says);
});

test('gaps follow each other, and deadlines move by what the wall clock did meanwhile', () => {
  const later = after({ wall: hour + 31 * second, monotonic: 31 * second, boot: 31 * second });
  const gaps = gapsBetween(first, later, second);
  assert.deepEqual(
    gaps.map(({ from, to }) => [from - start, to - start]),
    [
      [second, 31 * second],
      [31 * second, hour + 31 * second],
    ],
  );
  assert.equal(
    gaps.reduce((sum, gap) => sum + shiftOf(gap), 0),
    hour + 30 * second,
  );
});

test('a restart and a clock that was set in the meantime are distinguished', () => {
  const boot = { id: 'a', ms: 90_000 };
  const over = (wall: number, bootMs: number | null, id = 'a') =>
    gapsOverRestart(
      { wall: start, boot },
      { wall: start + wall, boot: bootMs === null ? null : { id, ms: boot.ms + bootMs } },
    ).map(({ cause, lostMs, stepMs }) => `${cause} ${lostMs || stepMs}`);
  assert.deepEqual(over(minute, minute), ['down 60000']);
  assert.deepEqual(over(700, 700), ['down 700'], 'what was sent meanwhile was refused');
  assert.deepEqual(over(3 * hour + minute, minute), ['down 60000', 'clock-step 10800000']);
  assert.deepEqual(over(-3 * hour + minute, minute), ['down 60000', 'clock-step -10800000']);
  assert.deepEqual(over(year, -80_000, 'b'), [`down ${year}`], 'another boot tells nothing');
  assert.deepEqual(over(-hour, null), ['clock-step -3600000']);
  assert.deepEqual(over(minute, -50_000), ['down 60000'], 'uptime of a container begins anew');
});

test('receivable time leaves out gaps, and is not moved by steps', () => {
  const gap = (fields: Partial<Gap>): Gap => ({
    ...{ cause: 'stopped', from: start, to: start, lostMs: 0, stepMs: 0 },
    ...fields,
  });
  const stopped = gap({ from: start + minute, to: start + 11 * minute, lostMs: 10 * minute });
  const now = start + 12 * minute;
  assert.equal(receivableSince(start, now, []), 12 * minute);
  assert.equal(receivableSince(start, now, [stopped]), 2 * minute);
  assert.equal(receivableSince(start + 5 * minute, now, [stopped]), minute, 'within the gap');
  assert.equal(receivableSince(now + hour, now, [stopped]), 0, 'yet to come');

  const ahead = gap({ from: start + minute, to: start + minute + 3 * hour, stepMs: 3 * hour });
  const aheadNow = ahead.to + minute;
  assert.equal(receivableSince(start, aheadNow, [ahead]), 2 * minute);
  assert.equal(receivableSince(ahead.to + second, aheadNow, [ahead]), 59 * second);

  const back = gap({ from: aheadNow, to: start + 2 * minute, stepMs: -3 * hour });
  const right = start + 5 * minute;
  assert.equal(receivableSince(start, right, [ahead, back]), 5 * minute);
  assert.equal(receivableSince(ahead.to + second, right, [ahead, back]), 3 * minute + 59 * second);
  assert.equal(receivableSince(start + 3 * minute, right, [ahead, back]), 2 * minute);
  assert.equal(receivableSince(right + year, right, [ahead, back]), 0);
});

test('agents have the more time after a gap the longer it was, and it comes to an end', () => {
  const lost = (lostMs: number): Gap => ({
    ...{ cause: 'stopped', from: start, to: start + lostMs, lostMs, stepMs: 0 },
  });
  assert.equal(gracePeriodAfter(null, [], 7), null);
  assert.deepEqual(gracePeriodAfter(null, [lost(2_000)], 7), { since: 7, until: 7 + 9_000 });
  assert.deepEqual(gracePeriodAfter(null, [lost(hour)], 7), { since: 7, until: 7 + 90_000 });
  const step: Gap = { cause: 'clock-step', from: start, to: start + hour, lostMs: 0, stepMs: hour };
  assert.deepEqual(gracePeriodAfter(null, [step], 7), { since: 7, until: 7 + 90_000 });
  let settling = gracePeriodAfter(null, [lost(hour)], 0);
  for (let at = minute; at < hour && settling !== null && settling.until > at; at += minute) {
    settling = gracePeriodAfter(settling, [lost(hour)], at);
  }
  assert.equal(settling?.until, 10 * minute, 'a process that is stopped every minute');
});
