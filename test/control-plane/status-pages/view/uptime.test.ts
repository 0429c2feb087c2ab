import assert from 'node:assert/strict';
import test from 'node:test';
import { localeOf } from '../../../../control-plane/status-pages/languages/locale.ts';
import type { IncidentView } from '../../../../control-plane/status-pages/view/incidents.ts';
import {
  dayStarts,
  meanUptime,
  shownDays,
  shownSince,
  uptimeOf as uptimeOfService,
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
    open: [{ from: startedAt, to: endedAt }],
    createdAt: startedAt,
    updatedAt: startedAt,
  };
}

/** The uptime of a service without maintenance. */
function uptimeOf(
  incidents: readonly IncidentView[],
  createdAt: number,
  starts: readonly number[],
  at: number,
) {
  return uptimeOfService({ incidents, createdAt, maintenance: [] }, starts, at);
}

test('maintenance counts neither as up nor as down', () => {
  const starts = dayStarts(now, 'UTC');
  const window = (from: number, to: number) => ({ startsAt: now + from, endsAt: now + to });
  const uptime = (incidents: IncidentView[], maintenance: ReturnType<typeof window>[]) =>
    uptimeOfService({ incidents, createdAt: now - 10 * day, maintenance }, starts, now).uptime;
  const outage = incident(now - 4 * day, now - 2 * day);
  assert.equal(uptime([outage], []), 0.8);
  // An outage within maintenance is expected; what lasts longer counts, of the time that is left.
  assert.equal(uptime([outage], [window(-5 * day, -2 * day)]), 1);
  assert.equal(uptime([outage], [window(-5 * day, -3 * day)]), 1 - 1 / 8);
  assert.equal(uptime([], [window(-5 * day, -3 * day)]), 1);
  // Two windows at once are left out once, and what is to come is not.
  const twice = [window(-5 * day, -3 * day), window(-4 * day, -3 * day), window(day, 2 * day)];
  assert.equal(uptime([outage], twice), 1 - 1 / 8);
  assert.equal(uptime([outage], [window(-20 * day, day)]), null);
  const partial = incident(now - 4 * day, now - 2 * day, 'partial_outage');
  assert.ok(Math.abs((uptime([partial], twice) ?? 0) - (1 - 0.3 / 8)) < 1e-9);
});

test('ninety days end with today, which counts as far as it has come', () => {
  assert.equal(new Date(shownSince(now, 'UTC')).toISOString(), '2026-08-24T00:00:00.000Z');
  const { days, uptime } = uptimeOf([], longAgo, dayStarts(now, 'UTC'), now);
  assert.equal(days.length, shownDays);
  assert.equal(new Date(days.at(-1)?.startsAt ?? 0).toISOString(), '2026-11-21T00:00:00.000Z');
  assert.equal(uptime, 1);
  assert.ok(days.every(({ state, parts }) => state === 'operational' && parts.length === 0));
});

test('days begin at midnight of the page, and last as long as they do there', () => {
  const starts = dayStarts(now, 'America/New_York');
  assert.equal(starts.length, shownDays + 1);
  const hours = starts.slice(1).map((at, index) => (at - (starts[index] ?? 0)) / hour);
  // Clocks were put back on 1 November.
  assert.deepEqual([hours.filter((one) => one === 24).length, Math.max(...hours)], [89, 25]);
  assert.equal(new Date(starts.at(-2) ?? 0).toISOString(), '2026-11-21T05:00:00.000Z');
});

test('an incident over midnight takes its share of both days', () => {
  const midnight = Date.parse('2026-11-20T00:00:00.000Z');
  const { days, uptime } = uptimeOf(
    [incident(midnight - hour, midnight + 2 * hour)],
    longAgo,
    dayStarts(now, 'UTC'),
    now,
  );
  assert.deepEqual(
    days.slice(-4).map(({ state, parts }) => [state, (parts[0]?.ms ?? 0) / hour]),
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
    dayStarts(now, 'UTC'),
    now,
  );
  assert.equal(days.at(-1)?.state, 'major_outage');
  assert.deepEqual(days.at(-1)?.parts, [
    { state: 'major_outage', ms: 3 * hour },
    { state: 'partial_outage', ms: hour },
  ]);
  assert.equal(uptime, 1 - (3.3 * hour) / (89 * day + 8 * hour));
});

test('a degraded service is up, a partial outage counts for three tenths of its time', () => {
  const minutes = 60_000;
  const born = now - 3 * minutes;
  const of = (state: IncidentView['state']) =>
    uptimeOf([incident(now - 2 * minutes, null, state)], born, dayStarts(now, 'UTC'), now);
  assert.equal(of('degraded_performance').uptime, 1);
  assert.ok(Math.abs((of('partial_outage').uptime ?? 0) - 0.8) < 1e-9);
  assert.ok(Math.abs((of('major_outage').uptime ?? 0) - 1 / 3) < 1e-9);
  // The day still says that something was wrong, and for how long.
  const today = of('degraded_performance').days.at(-1);
  assert.deepEqual(today?.parts, [{ state: 'degraded_performance', ms: 2 * minutes }]);
  assert.equal(of('major_outage').countedSince, born);
  assert.equal(uptimeOf([], longAgo, dayStarts(now, 'UTC'), now).countedSince, null);
});

test('nothing is claimed of the time before a service', () => {
  const born = now - 10 * day;
  const { days, uptime } = uptimeOf([incident(now - day, now)], born, dayStarts(now, 'UTC'), now);
  assert.equal(days.filter(({ state }) => state === null).length, 79);
  assert.equal(uptime, 0.9);
  assert.equal(uptimeOf([], now, dayStarts(now, 'UTC'), now).uptime, null);
  const backdated = uptimeOf(
    [incident(now - 20 * day, now - 19 * day)],
    born,
    dayStarts(now, 'UTC'),
    now,
  );
  assert.equal(backdated.uptime, 0.95);
});

test('only no incident at all is 100 %', () => {
  const { uptime } = uptimeOf([incident(now - 1, now)], longAgo, dayStarts(now, 'UTC'), now);
  const locale = localeOf('en', 'UTC');
  assert.equal(locale.uptime(1), '100%');
  assert.equal(locale.uptime(uptime), '99.99%');
  assert.equal(locale.uptime(0.9812), '98.12%');
  assert.equal(locale.uptime(null), 'no data yet');
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
    const since = (shownSince(now, 'UTC') - (now - 100 * day)) / 60_000;
    const down = [...minutes].filter((at) => at >= since && at < 100 * 24 * 60).length;
    const { uptime, days } = uptimeOf(incidents, longAgo, dayStarts(now, 'UTC'), now);
    const total = (now - shownSince(now, 'UTC')) / 60_000;
    assert.ok(Math.abs((uptime ?? 0) - (1 - down / total)) < 1e-9);
    assert.equal(days.reduce((sum, { parts }) => sum + (parts[0]?.ms ?? 0), 0) / 60_000, down);
  }
});
