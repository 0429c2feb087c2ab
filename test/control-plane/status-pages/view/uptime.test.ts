import assert from 'node:assert/strict';
import test from 'node:test';
import type { IncidentView } from '../../../../control-plane/status-pages/view/incidents.ts';
import {
  meanUptime,
  shownDays,
  shownSince,
  uptimeOf,
  uptimeWords,
} from '../../../../control-plane/status-pages/view/uptime.ts';
import { seededRandom } from '../../../support/random.ts';

const hour = 3_600_000;
const day = 24 * hour;
const now = Date.parse('2026-11-21T08:00:00.000Z');
const longAgo = now - 400 * day;

function incident(
  startedAt: number,
  endedAt: number | null,
  state: IncidentView['state'] = 'major_outage',
): IncidentView {
  return {
    id: 'x',
    name: 'x',
    severity: 'MAJOR',
    state,
    status: endedAt === null ? 'INVESTIGATING' : 'RESOLVED',
    isOpen: endedAt === null,
    services: [],
    updates: [],
    startedAt,
    endedAt,
    durationMs: (endedAt ?? now) - startedAt,
    createdAt: startedAt,
    updatedAt: startedAt,
  };
}

test('ninety days end with today, which counts as far as it has come', () => {
  assert.equal(new Date(shownSince(now)).toISOString(), '2026-08-24T00:00:00.000Z');
  const { days, uptime } = uptimeOf([], longAgo, now);
  assert.equal(days.length, shownDays);
  assert.equal(new Date(days.at(-1)?.startsAt ?? 0).toISOString(), '2026-11-21T00:00:00.000Z');
  assert.equal(uptime, 1);
  assert.ok(days.every(({ state, downMs }) => state === 'operational' && downMs === 0));
});

test('an incident over midnight takes its share of both days', () => {
  const midnight = Date.parse('2026-11-20T00:00:00.000Z');
  const { days, uptime } = uptimeOf([incident(midnight - hour, midnight + 2 * hour)], longAgo, now);
  assert.deepEqual(
    days.slice(-4).map(({ state, downMs }) => [state, downMs / hour]),
    [
      ['operational', 0],
      ['major_outage', 1],
      ['major_outage', 2],
      ['operational', 0],
    ],
  );
  assert.equal(uptime, 1 - (3 * hour) / (89 * day + 8 * hour));
});

test('what overlaps counts once, and the worst of a day is its state', () => {
  const { days, uptime } = uptimeOf(
    [
      incident(now - 4 * hour, now - 2 * hour, 'partial_outage'),
      incident(now - 3 * hour, null, 'major_outage'),
    ],
    longAgo,
    now,
  );
  assert.deepEqual([days.at(-1)?.state, days.at(-1)?.downMs], ['major_outage', 4 * hour]);
  assert.equal(uptime, 1 - (3.3 * hour) / (89 * day + 8 * hour));
});

test('a degraded service is up, a partial outage counts for three tenths of its time', () => {
  const minutes = 60_000;
  const born = now - 3 * minutes;
  const of = (state: IncidentView['state']) =>
    uptimeOf([incident(now - 2 * minutes, null, state)], born, now);
  assert.equal(of('degraded_performance').uptime, 1);
  assert.ok(Math.abs((of('partial_outage').uptime ?? 0) - 0.8) < 1e-9);
  assert.ok(Math.abs((of('major_outage').uptime ?? 0) - 1 / 3) < 1e-9);
  // The day still says that something was wrong, and for how long.
  const today = of('degraded_performance').days.at(-1);
  assert.deepEqual([today?.state, today?.downMs], ['degraded_performance', 2 * minutes]);
  assert.equal(of('major_outage').countedSince, born);
  assert.equal(uptimeOf([], longAgo, now).countedSince, null);
});

test('nothing is claimed of the time before a service', () => {
  const born = now - 10 * day;
  const { days, uptime } = uptimeOf([incident(now - day, now)], born, now);
  assert.equal(days.filter(({ state }) => state === null).length, 79);
  assert.equal(uptime, 0.9);
  assert.equal(uptimeOf([], now, now).uptime, null);
  const backdated = uptimeOf([incident(now - 20 * day, now - 19 * day)], born, now);
  assert.equal(backdated.uptime, 0.95);
});

test('only no incident at all is 100 %', () => {
  assert.equal(uptimeWords(1), '100%');
  assert.equal(uptimeWords(0.999_999), '99.99%');
  assert.equal(uptimeWords(0.9812), '98.12%');
  assert.equal(uptimeWords(null), 'no data yet');
  assert.equal(meanUptime([1, 0.5, null]), 0.75);
  assert.equal(meanUptime([null]), null);
});

test('days add up to the uptime, however incidents lie', () => {
  const random = seededRandom(7);
  for (let round = 0; round < 300; round += 1) {
    const minutes = new Set<number>();
    const incidents = Array.from({ length: Math.floor(random() * 6) }, () => {
      const from = Math.floor(random() * 100 * 24 * 60);
      const length = Math.floor(random() * 3 * 24 * 60);
      for (let at = from; at < from + length; at += 1) minutes.add(at);
      const origin = now - 100 * day;
      const to = origin + (from + length) * 60_000;
      return incident(origin + from * 60_000, to > now ? null : to);
    });
    const since = (shownSince(now) - (now - 100 * day)) / 60_000;
    const down = [...minutes].filter((at) => at >= since && at < 100 * 24 * 60).length;
    const { uptime, days } = uptimeOf(incidents, longAgo, now);
    const total = (now - shownSince(now)) / 60_000;
    assert.ok(Math.abs((uptime ?? 0) - (1 - down / total)) < 1e-9);
    assert.equal(days.reduce((sum, { downMs }) => sum + downMs, 0) / 60_000, down);
  }
});
