// SQLite only: it tests what people are sent; tests of windows and of alerts run their statements on both.
import assert from 'node:assert/strict';
import test from 'node:test';
import { StatusPageBench, minute, start } from '../support/status-page-bench.ts';
import { announceMaintenance } from '../../control-plane/status-pages/index.ts';
import { notifyOverrun } from '../../control-plane/alerting/index.ts';
import { writeNotices } from '../../control-plane/maintenance/index.ts';
import { startTestControlPlane } from '../support/control-plane.ts';
import { Bench, iso } from '../support/results.ts';
import { TestClock } from '../support/test-clock.ts';

const failed = { hasFailures: true, errorMessages: ['HTTP 500'] };
/** The clocks of Berlin show 02:30 twice in this night: the window of two hours lasts for three. */
const begins = Date.parse('2026-10-24T23:30:00Z');
const ends = Date.parse('2026-10-25T02:30:00Z');
const local = { startsAt: '2026-10-25T01:30:00', endsAt: '2026-10-25T03:30:00' };

/** What a person does at an instant, and when the silence is over by that. */
const situations = {
  scheduled: { until: ends },
  extended: { until: ends + 30 * minute, does: { endsAt: '2026-10-25T04:00:00' } },
  'ended early': { until: begins + 90 * minute, does: { status: 'COMPLETED' } },
  overrun: { until: ends, visibility: { enabled: true, autoEnd: false } },
  // It lasts as long as it was planned.
  'begun early': {
    ...{ from: begins - 15 * minute, until: ends - 15 * minute },
    does: { status: 'IN_PROGRESS' },
  },
};
const doneAt: Record<string, number> = {
  extended: begins + 60 * minute,
  'ended early': begins + 90 * minute,
  'begun early': begins - 15 * minute,
};

const post = async (bench: Bench, path: string, body: unknown) => {
  const answer = await bench.cp.api('POST', path, body);
  assert.match(String(answer.status), /^20/, `${path}: ${JSON.stringify(answer.body)}`);
  return answer.body;
};

/** A check, and what a window must name so that it applies to it. */
const scopes: Record<string, (bench: Bench, name: string) => Promise<[object, object, object]>> = {
  tag: (_bench, name) =>
    Promise.resolve([{ tags: [name] }, { tags: [name] }, { silenceAlertsTags: [name] }]),
  check: () => Promise.resolve([{}, {}, {}]),
  async group(bench, name) {
    const { id } = await post(bench, '/v2/check-groups', { name, locations: ['eu-west-1'] });
    const scope = { groupIds: [id] };
    return [{ groupId: id }, { pauseScope: scope }, { silenceScope: scope }];
  },
  async service(bench, name) {
    const { id } = await post(bench, '/v1/status-pages/services', { name });
    const scope = { serviceIds: [id] };
    return [{ triggerIncident: reporting(id) }, { pauseScope: scope }, { silenceScope: scope }];
  },
  async page(bench, name) {
    const { id } = await post(bench, '/v1/status-pages/services', { name });
    const page = await post(bench, '/v1/status-pages', {
      ...{ name, url: name.replaceAll(' ', '-') },
      cards: [{ name, services: [{ id }] }],
    });
    const scope = { statusPageIds: [page.id] };
    return [{ triggerIncident: reporting(id) }, { pauseScope: scope }, { silenceScope: scope }];
  },
};
const reporting = (serviceId: string) => ({
  ...{ serviceId, severity: 'MAJOR', name: 'Down', description: 'It is down' },
  notifySubscribers: false,
});

test('pause and silence: nobody is paged within, by whatever the window selects, and nothing is lost outside', async () => {
  const clock = new TestClock(begins - 60 * minute);
  await using cp = await startTestControlPlane({ clock, requestsPerMinute: 0 });
  const bench = new Bench(clock, cp);
  const { db, outbox } = cp.controlPlane.services;
  outbox.onWake(() => {});
  const channel = await post(bench, '/v1/alert-channels', {
    ...{ type: 'WEBHOOK', config: { name: 'w', url: 'https://a.example' } },
    ...{ sendRecovery: false },
  });
  const cases: { name: string; check: string; from: number; until: number; window: number }[] = [];
  for (const [situation, { until, ...more }] of Object.entries(situations)) {
    for (const effect of ['pause', 'silence'] as const) {
      for (const [scope, select] of Object.entries(scopes)) {
        const name = `${effect} ${scope} ${situation}`;
        const [fields, pause, silence] = await select(bench, name);
        const check = await bench.check('url', {
          ...{ name, locations: ['eu-west-1'], useGlobalAlertSettings: false, ...fields },
          alertSettings: { runBasedEscalation: { failedRunThreshold: 1 } },
          alertChannelSubscriptions: [{ alertChannelId: channel.id, activated: true }],
          ...{ retryStrategy: null, doubleCheck: false },
        });
        const ofCheck = { checkIds: [check] };
        const named =
          scope === 'check'
            ? effect === 'pause'
              ? { pauseScope: ofCheck }
              : { silenceScope: ofCheck }
            : effect === 'pause'
              ? pause
              : silence;
        const { id } = await post(bench, '/v1/maintenance-windows', {
          ...{ name, timezone: 'Europe/Berlin', ...local, ...named },
          ...('visibility' in more && { statusPageVisibility: more.visibility }),
        });
        const from = 'from' in more ? more.from : begins;
        cases.push({ name, check, from, until, window: id });
      }
    }
  }
  const paged = new Map<string, number[]>();
  for (let at = begins - 45 * minute; at <= ends + 75 * minute; at += 15 * minute) {
    clock.setWall(at);
    for (const { name, window } of cases) {
      const situation = Object.keys(situations).find((each) => name.endsWith(each)) ?? '';
      if (doneAt[situation] !== at) continue;
      const does = (situations as Record<string, { does?: object }>)[situation]?.does;
      const path = `/v1/maintenance-windows/${window}/maintenances/${window}-${begins}`;
      const { status, body } = await cp.api('PATCH', path, does);
      assert.equal(status, 200, JSON.stringify(body));
    }
    for (const [after, fields] of [
      [1, failed],
      [5, {}],
    ] as const) {
      clock.setWall(at + after * minute);
      const results = cases.map(({ check }) =>
        bench.result(check, 'URL', at + after * minute, fields),
      );
      await bench.submitAll(results);
    }
    for (const { content_json: text } of await db
      .selectFrom('outbox')
      .select('content_json')
      .execute()) {
      const { check } = JSON.parse(text) as { check: { id: string } };
      paged.set(check.id, [...(paged.get(check.id) ?? []), at]);
    }
    await db.deleteFrom('outbox').execute();
  }
  for (const { name, check, from, until } of cases) {
    const expected = [];
    for (let at = begins - 45 * minute; at <= ends + 75 * minute; at += 15 * minute) {
      if (at < from || at >= until) expected.push(iso(at));
    }
    assert.deepEqual((paged.get(check) ?? []).map(iso), expected, name);
  }
  assert.equal(cases.length, 50);
  const silent = cases.find(({ name }) => name === 'silence page scheduled');
  const { body } = await cp.api(
    'GET',
    `/v1/maintenance-windows/${silent?.window}/maintenances/${silent?.window}-${begins}/suppressed-alerts`,
  );
  assert.deepEqual(
    [body.checks, body.runs, body.alerting[0].alerts, body.alerting[0].recoveries],
    [1, 24, 12, 12],
    'what would have alerted can be read at its end',
  );
});

test('subscribers get one notice before, at the start and at the end, whatever runs twice', async () => {
  await using bench = await StatusPageBench.start();
  const { services } = bench;
  const other = { ...services };
  await bench.subscribe(['ann@example.com']);
  const at = (minutes: number) => new Date(start + minutes * minute).toISOString();
  const publish = async (fields: object) =>
    bench.post('/v1/maintenance-windows', {
      ...{ name: 'Move', description: 'We move', startsAt: at(120), endsAt: at(180) },
      statusPageVisibility: {
        ...{ serviceIds: [bench.service.id], notifyOnStart: true, notifyOnEnd: true },
        reminderMinutesBefore: [60, 7],
        ...fields,
      },
    });
  const said: [number, string][] = [];
  const pass = async (until: number, from = 0) => {
    for (let minutes = from; minutes <= until; minutes += 1) {
      bench.at(minutes * minute);
      // Two replicas work at once, and one starts again: nothing is remembered in a process.
      await Promise.all([writeNotices(services), writeNotices(other)]);
      while (await writeNotices(services));
      await Promise.all([announceMaintenance(services), announceMaintenance(other)]);
      while (await announceMaintenance(services));
      while (await notifyOverrun(services));
      for (const { subject } of await bench.takeMails()) said.push([minutes, subject]);
    }
  };
  const cut = (subject: string) => subject.replace('[Shop] Move – ', '');
  const take = () => said.splice(0).map(([minutes, subject]) => `${minutes} ${cut(subject)}`);

  await publish({});
  await pass(200);
  assert.deepEqual(take(), ['60 Scheduled', '113 Scheduled', '120 In progress', '180 Completed']);

  bench.at(0);
  const { id } = await publish({ autoEnd: false });
  const path = `/v1/maintenance-windows/${id}/maintenances/${id}-${start + 120 * minute}`;
  await pass(130);
  assert.deepEqual(take(), ['60 Scheduled', '113 Scheduled', '120 In progress']);
  const verifying = { description: 'We look', status: 'VERIFYING', notifySubscribers: true };
  const update = await bench.post(`${path}/updates`, verifying);
  await bench.post(`${path}/updates`, { description: 'Longer', endsAt: at(200) });
  await pass(230, 131);
  assert.deepEqual(take(), ['131 Verifying'], 'it waits for a person');
  const overruns = await services.db
    .selectFrom('maintenance_updates')
    .select(['id', 'finished_at'])
    .where('kind', '=', 'OVERRUN')
    .execute();
  assert.deepEqual(
    overruns.map((row) => [row.id, (row.finished_at ?? 0) - start]),
    [[`${id}-${start + 120 * minute}-overrun-${start + 200 * minute}`, 200 * minute]],
  );
  assert.equal((await bench.cp.api('PATCH', path, { status: 'COMPLETED' })).status, 200);
  await pass(240, 231);
  assert.deepEqual(take(), ['231 Completed']);
  const shown = await bench.cp.api('GET', path);
  assert.deepEqual(
    [shown.body.status, shown.body.updates.map((each: typeof update) => each.description)],
    ['COMPLETED', ['Longer', 'We look']],
  );
  assert.equal((await bench.cp.api('PUT', `${path}/updates/${update.id}`, verifying)).status, 200);
  assert.equal((await bench.cp.api('DELETE', `${path}/updates/${update.id}`)).status, 204);
  assert.equal((await bench.cp.api('DELETE', `${path}/updates/${update.id}`)).status, 404);

  bench.at(0);
  const called = await publish({});
  await pass(70);
  await bench.cp.api(
    'DELETE',
    `/v1/maintenance-windows/${called.id}/maintenances/${called.id}-${start + 120 * minute}`,
  );
  await pass(200, 71);
  assert.deepEqual(take(), ['60 Scheduled', '71 Cancelled']);

  bench.at(0);
  await publish({ autoStart: false });
  await pass(200);
  assert.deepEqual(take(), ['60 Scheduled', '113 Scheduled', '180 Completed']);
});
