// SQLite only: it tests what people are sent; tests of windows run their statements on both.
import assert from 'node:assert/strict';
import test from 'node:test';
import { StatusPageBench, minute, start } from '../../support/status-page-bench.ts';
import { announceMaintenance } from '../../../control-plane/status-pages/index.ts';
import { notifyOverrun } from '../../../control-plane/alerting/index.ts';
import { plannedBetween, writeNotices } from '../../../control-plane/maintenance/index.ts';

const at = (minutes: number) => new Date(start + minutes * minute).toISOString();

/** What somebody does with a window that is planned from minute 120 to 180. */
type Deed = (window: Planned) => Promise<{ status: number; body: unknown }>;
interface Planned {
  bench: StatusPageBench;
  path: string;
  occurrence: string;
  visibility: object;
}

const put =
  (body: object): Deed =>
  ({ bench, path }) =>
    bench.cp.api('PUT', path, body);
const patch =
  (body: object): Deed =>
  ({ bench, occurrence }) =>
    bench.cp.api('PATCH', occurrence, body);
const write =
  (body: object): Deed =>
  ({ bench, occurrence }) =>
    bench.cp.api('POST', `${occurrence}/updates`, { description: 'We look', ...body });
const remove: Deed = ({ bench, path }) => bench.cp.api('DELETE', path);
const cancel: Deed = ({ bench, occurrence }) => bench.cp.api('DELETE', occurrence);
const show =
  (more: object): Deed =>
  ({ bench, path, visibility }) =>
    bench.cp.api('PUT', path, { statusPageVisibility: { ...visibility, ...more } });
const moved = { startsAt: at(120 + 24 * 60), endsAt: at(180 + 24 * 60) };

/** Every fifth minute, and those just after something is due. */
const passes = Array.from({ length: 240 }, (_each, minutes) => minutes).filter(
  (minutes) => minutes % 5 === 0 || minutes === 2 || minutes === 121,
);

interface Row {
  name: string;
  fields?: object;
  shown?: object;
  does?: Record<number, Deed>;
  until?: number;
  said: string[];
}

const rows: Row[] = [
  { name: 'nothing', said: ['60 Scheduled', '120 In progress', '180 Completed'] },
  // Deleted, hidden and moved away.
  { name: 'deleted unknown', does: { 50: remove }, said: [] },
  {
    name: 'deleted once scheduled',
    does: { 70: remove },
    said: ['60 Scheduled', '70 Cancelled'],
  },
  {
    name: 'deleted in progress',
    does: { 130: remove },
    said: ['60 Scheduled', '120 In progress', '130 Cancelled'],
  },
  {
    name: 'deleted once over',
    does: { 190: remove },
    said: ['60 Scheduled', '120 In progress', '180 Completed'],
  },
  {
    name: 'hidden',
    does: { 70: show({ enabled: false }) },
    said: ['60 Scheduled', '70 Cancelled'],
  },
  {
    name: 'not published any more',
    does: { 130: put({ statusPageVisibility: null }) },
    said: ['60 Scheduled', '120 In progress', '130 Cancelled'],
  },
  {
    name: 'moved to the next day',
    does: { 70: put(moved) },
    until: 26 * 60,
    said: ['60 Scheduled', '70 Cancelled', '1500 Scheduled', '1560 In progress'],
  },
  // Corrected.
  {
    name: 'start corrected in progress',
    does: { 130: put({ startsAt: at(119) }) },
    said: ['60 Scheduled', '120 In progress', '180 Completed'],
  },
  {
    name: 'start corrected, then cancelled',
    does: {
      125: put({ startsAt: at(119) }),
      130: ({ bench, path, occurrence }) =>
        cancel({ bench, path, occurrence: again(occurrence, 119), visibility: {} }),
    },
    said: ['60 Scheduled', '120 In progress', '130 Cancelled'],
  },
  {
    name: 'start corrected while scheduled',
    does: { 70: put({ startsAt: at(121) }) },
    said: ['60 Scheduled', '121 In progress', '180 Completed'],
  },
  {
    name: 'renamed in progress',
    does: { 130: put({ description: 'We move more' }) },
    said: ['60 Scheduled', '120 In progress', '180 Completed'],
  },
  {
    name: 'extended, its start corrected',
    does: { 125: patch({ endsAt: at(210) }), 130: put({ startsAt: at(119) }) },
    said: ['60 Scheduled', '120 In progress', '210 Completed'],
  },
  {
    name: 'extended, then its own end is later',
    does: { 125: patch({ endsAt: at(210) }), 130: put({ endsAt: at(230) }) },
    said: ['60 Scheduled', '120 In progress', '230 Completed'],
  },
  {
    name: 'extended, then something else is changed',
    does: { 125: patch({ endsAt: at(210) }), 130: put({ description: 'We move more' }) },
    said: ['60 Scheduled', '120 In progress', '210 Completed'],
  },
  // Opened again.
  {
    name: 'opened again',
    does: {
      130: patch({ status: 'COMPLETED' }),
      140: patch({ status: 'IN_PROGRESS', endsAt: at(200) }),
    },
    said: [
      ...['60 Scheduled', '120 In progress', '130 Completed'],
      ...['140 In progress', '200 Completed'],
    ],
  },
  {
    name: 'verified, and in progress again',
    does: { 130: patch({ status: 'VERIFYING' }), 140: patch({ status: 'IN_PROGRESS' }) },
    said: ['60 Scheduled', '120 In progress', '180 Completed'],
  },
  {
    name: 'begun early',
    does: { 90: patch({ status: 'IN_PROGRESS' }) },
    said: ['60 Scheduled', '90 In progress', '150 Completed'],
  },
  {
    name: 'begun early with an end',
    does: { 90: patch({ status: 'IN_PROGRESS', endsAt: at(185) }) },
    said: ['60 Scheduled', '90 In progress', '185 Completed'],
  },
  // Updates and reminders.
  {
    name: 'cancelled after an update',
    shown: { reminderMinutesBefore: [] },
    does: { 10: write({ notifySubscribers: true }), 20: cancel },
    said: ['10 Scheduled', '20 Cancelled'],
  },
  {
    name: 'cancelled after an update that nobody was sent',
    shown: { reminderMinutesBefore: [] },
    does: { 10: write({}), 20: cancel },
    said: [],
  },
  {
    name: 'another reminder, then cancelled',
    does: { 70: show({ reminderMinutesBefore: [30] }), 75: cancel },
    said: ['60 Scheduled', '75 Cancelled'],
  },
  {
    name: 'an earlier reminder once it is over',
    does: { 70: show({ reminderMinutesBefore: [70] }) },
    said: ['60 Scheduled', '120 In progress', '180 Completed'],
  },
  {
    name: 'a later reminder',
    does: { 70: show({ reminderMinutesBefore: [30] }) },
    said: ['60 Scheduled', '90 Scheduled', '120 In progress', '180 Completed'],
  },
  // What people begin and end.
  {
    name: 'nobody begins it',
    shown: { autoStart: false, autoEnd: false },
    said: ['60 Scheduled', '180 OVERRUN'],
  },
  {
    name: 'nobody ends it',
    shown: { autoEnd: false },
    said: ['60 Scheduled', '120 In progress', '180 OVERRUN'],
  },
  {
    name: 'nobody ends it, and it is renamed',
    shown: { autoEnd: false },
    does: { 200: put({ description: 'x' }), 210: patch({ status: 'COMPLETED' }) },
    said: ['60 Scheduled', '120 In progress', '180 OVERRUN', '210 Completed'],
  },
  // History.
  {
    name: 'a daily window of weeks ago is published',
    fields: {
      ...{ startsAt: at(60 - 40 * 24 * 60), endsAt: at(90 - 40 * 24 * 60), repeatUnit: 'DAY' },
      statusPageVisibility: null,
    },
    does: { 2: show({ autoEnd: false, reminderMinutesBefore: [] }) },
    said: ['60 In progress', '90 OVERRUN'],
  },
  {
    name: 'published in progress',
    fields: { statusPageVisibility: null },
    does: { 130: show({}) },
    said: ['130 In progress', '180 Completed'],
  },
  {
    name: 'published once over',
    fields: { statusPageVisibility: null },
    does: { 190: show({ autoEnd: false }) },
    said: [],
  },
];

const again = (occurrence: string, minutes: number) =>
  occurrence.replace(/\d+$/, String(start + minutes * minute));

test('what subscribers and owners are sent when a window is changed, deleted, opened again or forgotten', async () => {
  await using bench = await StatusPageBench.start();
  const { services } = bench;
  await bench.subscribe(['ann@example.com']);
  for (const { name, fields, shown, does = {}, until = 240, said } of rows) {
    bench.at(0);
    const visibility = {
      ...{ serviceIds: [bench.service.id], notifyOnStart: true, notifyOnEnd: true },
      ...{ reminderMinutesBefore: [60], ...shown },
    };
    const { id } = await bench.post('/v1/maintenance-windows', {
      ...{ name: 'Move', description: 'We move', startsAt: at(120), endsAt: at(180) },
      ...{ pauseAllChecks: true, statusPageVisibility: visibility, ...fields },
    });
    const path = `/v1/maintenance-windows/${id}`;
    const occurrence = `${path}/maintenances/${id}-${start + 120 * minute}`;
    const sent: string[] = [];
    for (const minutes of [0, 1, 2, 3, 4, 5, 6].flatMap((each) =>
      passes.map((one) => 240 * each + one),
    )) {
      if (minutes > until) break;
      bench.at(minutes * minute);
      const done = await does[minutes]?.({ bench, path, occurrence, visibility });
      if (done !== undefined) assert.match(String(done.status), /^20/, JSON.stringify(done));
      while (await writeNotices(services));
      while (await announceMaintenance(services));
      while (await notifyOverrun(services));
      for (const { subject } of await bench.takeMails()) {
        sent.push(`${minutes} ${subject.replace('[Shop] Move – ', '')}`);
      }
      for (const row of await services.db
        .selectFrom('maintenance_updates')
        .select('kind')
        .where('kind', '=', 'OVERRUN')
        .where('finished_at', '=', start + minutes * minute)
        .execute()) {
        sent.push(`${minutes} ${row.kind}`);
      }
    }
    assert.deepEqual(sent, said, name);
    await services.db.deleteFrom('maintenance_updates').execute();
    await services.db.deleteFrom('maintenance_windows').execute();
    await services.db.deleteFrom('past_maintenance_windows').execute();
  }
});

test('an occurrence that is opened again or extended after its end begins then: the gap is not planned', async () => {
  await using bench = await StatusPageBench.start();
  const { db } = bench.services;
  const { id: checkId } = await bench.post('/v1/checks/heartbeat', {
    ...{ name: 'nightly' },
    heartbeat: { period: 10, periodUnit: 'minutes', grace: 1, graceUnit: 'minutes' },
  });
  for (const [name, shown, does, expected] of [
    ['nothing', {}, {}, [[120, 180]]],
    ['extended in time', {}, { 170: { endsAt: at(200) } }, [[120, 200]]],
    [
      'opened again',
      {},
      { 130: { status: 'COMPLETED' }, 150: { status: 'IN_PROGRESS', endsAt: at(200) } },
      [
        [120, 130],
        [150, 200],
      ],
    ],
    [
      'opened twice',
      {},
      {
        130: { status: 'COMPLETED' },
        150: { status: 'IN_PROGRESS' },
        160: { status: 'COMPLETED' },
        170: { status: 'IN_PROGRESS' },
      },
      [
        [120, 130],
        [150, 160],
        [170, 180],
      ],
    ],
    [
      'extended once it overran',
      { autoEnd: false },
      { 230: { endsAt: at(250) } },
      [
        [120, 180],
        [230, 250],
      ],
    ],
    ['begun early', {}, { 90: { status: 'IN_PROGRESS' } }, [[90, 150]]],
  ] as const) {
    bench.at(0);
    const { id } = await bench.post('/v1/maintenance-windows', {
      ...{ name, startsAt: at(120), endsAt: at(180), silenceScope: { checkIds: [checkId] } },
      statusPageVisibility: { serviceIds: [bench.service.id], ...shown },
    });
    const path = `/v1/maintenance-windows/${id}/maintenances/${id}-${start + 120 * minute}`;
    for (const [minutes, body] of Object.entries(does)) {
      bench.at(Number(minutes) * minute);
      const done = await bench.cp.api('PATCH', path, body);
      assert.equal(done.status, 200, JSON.stringify(done.body));
    }
    const range = { from: start, to: start + 600 * minute };
    const planned = await plannedBetween(db, bench.cp.accountId, [checkId], range);
    const stretches = (planned.get(checkId) ?? [])
      .map(({ startsAt, endsAt }) => [(startsAt - start) / minute, (endsAt - start) / minute])
      .sort(([one = 0], [other = 0]) => one - other);
    assert.deepEqual(stretches, expected, name);
    await db.deleteFrom('maintenance_windows').execute();
    await db.deleteFrom('past_maintenance_windows').execute();
  }
});
