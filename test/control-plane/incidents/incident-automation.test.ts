import assert from 'node:assert/strict';
import test from 'node:test';
import {
  openIncidentOf,
  resolveIncidentOf,
} from '../../../control-plane/incidents/incident-automation.ts';
import { moveIncidents } from '../../../control-plane/incidents/move-incidents.ts';
import { minute, start, StatusPageBench } from '../../support/status-page-bench.ts';

interface Wire {
  id: string;
  lastUpdateStatus: string;
  incidentUpdates: { status: string; description: string }[];
}

/** A check of the page's service, and what alerting would do about it. */
async function monitoredCheck(bench: StatusPageBench, more: object = {}) {
  const template = {
    serviceId: bench.service.id,
    severity: 'CRITICAL' as const,
    name: 'Search is down',
    description: 'Searches fail',
    notifySubscribers: true,
    ...more,
  };
  const { id } = await bench.post('/v1/checks/url', {
    name: 'internal-search-01',
    request: { url: 'https://a.example' },
    frequency: 10,
    locations: ['eu-central-1'],
    triggerIncident: template,
  });
  const about = (at: number) => ({
    accountId: bench.cp.accountId,
    checkId: id as string,
    checkName: 'internal-search-01',
    at: start + at,
  });
  const { commits } = bench.services;
  return {
    path: `/v1/checks/url/${id}`,
    alert: (at: number) =>
      commits.run((db) => openIncidentOf(bench.services, db, about(at), template)),
    recover: (at: number) => commits.run((db) => resolveIncidentOf(bench.services, db, about(at))),
  };
}

async function incidents(bench: StatusPageBench): Promise<Wire[]> {
  return (await bench.cp.api('GET', '/v1/status-pages/incidents')).body.entries;
}

const statuses = ({ incidentUpdates }: Wire) => incidentUpdates.map(({ status }) => status);

test('an alert opens one incident, the recovery resolves it, the next alert opens another', async () => {
  await using bench = await StatusPageBench.start();
  await bench.subscribe(['ann@example.com']);
  const check = await monitoredCheck(bench);
  await check.recover(0);
  assert.deepEqual(await incidents(bench), [], 'nothing to resolve');

  await check.alert(0);
  bench.at(minute);
  await check.alert(minute);
  const [opened, ...others] = await incidents(bench);
  assert.ok(opened !== undefined);
  assert.equal(others.length, 0);
  const { id, ...first } = opened.incidentUpdates[0] as { id: string } & Wire['incidentUpdates'][0];
  assert.equal(typeof id, 'string');
  assert.deepEqual(first, {
    description: 'Searches fail',
    created_at: '2026-11-21T08:00:00.000Z',
    status: 'INVESTIGATING',
    publicIncidentUpdateDate: '2026-11-21T08:00:00.000Z',
    notifySubscribers: true,
  });
  assert.deepEqual(opened, {
    name: 'Search is down',
    severity: 'CRITICAL',
    services: [bench.service],
    id: opened.id,
    incidentUpdates: opened.incidentUpdates,
    lastUpdateStatus: 'INVESTIGATING',
    created_at: '2026-11-21T08:00:00.000Z',
    updated_at: null,
    duration: minute,
  });
  assert.deepEqual(await bench.told(), [
    ['ann@example.com', '[Shop] Search is down – Investigating'],
  ]);

  bench.at(5 * minute);
  await check.recover(5 * minute);
  await check.recover(5 * minute);
  bench.at(60 * minute);
  const [resolved] = (await incidents(bench)) as [Wire & { duration: number }];
  assert.deepEqual(statuses(resolved), ['RESOLVED', 'INVESTIGATING']);
  assert.equal(resolved.duration, 5 * minute);
  assert.match(resolved.incidentUpdates[0]?.description ?? '', /passes again/);
  assert.equal(JSON.stringify(resolved).includes('internal-search'), false, 'strangers read this');
  assert.deepEqual(await bench.told(), [['ann@example.com', '[Shop] Search is down – Resolved']]);

  await check.alert(60 * minute);
  assert.deepEqual(
    (await incidents(bench)).map(({ lastUpdateStatus }) => lastUpdateStatus),
    ['INVESTIGATING', 'RESOLVED'],
  );
});

test('two checks of one service open two incidents, and each resolves its own', async () => {
  await using bench = await StatusPageBench.start();
  const one = await monitoredCheck(bench);
  const two = await monitoredCheck(bench, { name: 'Search is slow', severity: 'MINOR' });
  await one.alert(0);
  await two.alert(0);
  await one.recover(0);
  assert.deepEqual(
    (await incidents(bench)).map((each) => [
      (each as Wire & { name: string }).name,
      each.lastUpdateStatus,
    ]),
    [
      ['Search is slow', 'INVESTIGATING'],
      ['Search is down', 'RESOLVED'],
    ],
  );
});

test('what people write to the incident of a check stays, and they may resolve it', async () => {
  await using bench = await StatusPageBench.start();
  const check = await monitoredCheck(bench);
  await check.alert(0);
  const [incident] = await incidents(bench);
  const path = `/v1/status-pages/incidents/${incident?.id}`;
  bench.at(2 * minute);
  const written = { description: 'It was us', status: 'IDENTIFIED' };
  await bench.post(`${path}/incident-updates`, written);
  await bench.cp.api('PATCH', path, { name: 'Search, and more' });
  // The run that recovered had ended before: the recovery is the last word still.
  bench.at(3 * minute);
  await check.recover(minute);
  const [resolved] = (await incidents(bench)) as [Wire & { name: string; duration: number }];
  assert.deepEqual(statuses(resolved), ['RESOLVED', 'IDENTIFIED', 'INVESTIGATING']);
  assert.deepEqual([resolved.name, resolved.duration], ['Search, and more', 2 * minute]);

  await check.alert(3 * minute);
  const [second] = await incidents(bench);
  const secondPath = `/v1/status-pages/incidents/${second?.id}/incident-updates`;
  await bench.post(secondPath, { description: 'Done', status: 'RESOLVED' });
  await check.recover(3 * minute);
  const [left] = (await incidents(bench)) as [Wire];
  assert.deepEqual(
    left.incidentUpdates.map(({ description }) => description),
    ['Done', 'Searches fail'],
  );

  await bench.post(secondPath, { description: 'No, not yet', status: 'MONITORING' });
  await check.alert(3 * minute);
  assert.equal((await incidents(bench)).length, 2, 're-opened by a person, it is open');
  await check.recover(3 * minute);
  assert.equal((await incidents(bench))[0]?.lastUpdateStatus, 'RESOLVED');
  assert.equal((await bench.cp.api('DELETE', path)).status, 204);
  await check.recover(3 * minute);
});

test('a resolution that is scheduled for later does not resolve yet', async () => {
  await using bench = await StatusPageBench.start();
  const check = await monitoredCheck(bench);
  await check.alert(0);
  const [incident] = await incidents(bench);
  await bench.post(`/v1/status-pages/incidents/${incident?.id}/incident-updates`, {
    description: 'We expect it to be over',
    status: 'RESOLVED',
    publicIncidentUpdateDate: '2026-11-21T09:00:00Z',
  });
  bench.at(minute);
  await check.recover(minute);
  const [resolved] = await incidents(bench);
  assert.deepEqual(resolved && statuses(resolved), ['RESOLVED', 'RESOLVED', 'INVESTIGATING']);
  assert.equal(resolved?.lastUpdateStatus, 'RESOLVED');
});

test('without its service a check opens nothing, and the alert goes on', async () => {
  await using bench = await StatusPageBench.start();
  const check = await monitoredCheck(bench);
  await bench.cp.api('DELETE', `/v1/status-pages/services/${bench.service.id}`);
  await check.alert(0);
  assert.deepEqual(await incidents(bench), []);
  await check.recover(0);
});

test('the service goes while the incident is open: it is resolved all the same', async () => {
  await using bench = await StatusPageBench.start();
  const check = await monitoredCheck(bench);
  await check.alert(0);
  await bench.cp.api('DELETE', `/v1/status-pages/services/${bench.service.id}`);
  await check.recover(0);
  assert.equal((await incidents(bench))[0]?.lastUpdateStatus, 'RESOLVED');
  assert.deepEqual(await bench.told(), []);
});

test('a check that is deactivated or deleted does not leave its incident open for ever', async () => {
  await using bench = await StatusPageBench.start();
  const group = await bench.post('/v2/check-groups', { name: 'Group' });
  const [stopped, stoppedByGroup, deleted] = [
    await monitoredCheck(bench),
    await monitoredCheck(bench),
    await monitoredCheck(bench),
  ];
  await bench.cp.api('PUT', stoppedByGroup.path, { groupId: group.id });
  for (const check of [stopped, stoppedByGroup, deleted]) await check.alert(0);
  bench.at(minute);
  const off = { activated: false };
  assert.equal((await bench.cp.api('PUT', stopped.path, off)).status, 200);
  assert.equal(
    (await bench.cp.api('PUT', `/v2/check-groups/${group.id}`, { name: 'Group', ...off })).status,
    200,
  );
  const id = deleted.path.split('/').at(-1);
  assert.equal((await bench.cp.api('DELETE', `/v1/checks/${id}`)).status, 204);
  assert.deepEqual(
    (await incidents(bench)).map(({ incidentUpdates: [last] }) => last?.description),
    ['deleted', 'deactivated', 'deactivated'].map(
      (reason) => `Closed without a recovery: the check that opened this incident was ${reason}.`,
    ),
  );
  await stopped.recover(minute);
  assert.deepEqual((await incidents(bench)).map(statuses), [
    ['RESOLVED', 'INVESTIGATING'],
    ['RESOLVED', 'INVESTIGATING'],
    ['RESOLVED', 'INVESTIGATING'],
  ]);
});

test('after a step back of the clock an incident that was resolved is, and what is planned for later stays planned', async () => {
  await using bench = await StatusPageBench.start();
  await bench.subscribe(['ann@example.com']);
  const check = await monitoredCheck(bench);
  // The clock is ten minutes ahead.
  bench.at(10 * minute);
  await check.alert(10 * minute);
  bench.at(11 * minute);
  await check.recover(11 * minute);
  const planned = await bench.post('/v1/status-pages/incidents', {
    ...{ name: 'Move', severity: 'MINOR', services: [bench.service] },
    incidentUpdates: [
      {
        ...{ status: 'IDENTIFIED', description: 'We move.' },
        publicIncidentUpdateDate: new Date(start + 60 * minute).toISOString(),
      },
    ],
  });
  const gap = { cause: 'clock', from: start + 11 * minute, to: start + minute } as const;
  bench.at(minute);
  await bench.services.commits.run((db) =>
    moveIncidents(db, { ...gap, lostMs: 0, stepMs: -10 * minute } as never),
  );
  await check.alert(minute);
  const [again, later, resolved, ...others] = await incidents(bench);
  assert.equal(others.length, 0);
  assert.deepEqual(
    [again, resolved].map((each) => each && statuses(each).sort()),
    [['INVESTIGATING'], ['INVESTIGATING', 'RESOLVED']],
  );
  assert.deepEqual([resolved?.lastUpdateStatus, later?.id], ['RESOLVED', planned.id]);
  const [update] = later?.incidentUpdates as unknown as { publicIncidentUpdateDate: string }[];
  assert.equal(update?.publicIncidentUpdateDate, new Date(start + 60 * minute).toISOString());
  const due = await bench.services.db
    .selectFrom('incident_announcements')
    .select('due_at')
    .where('due_at', '>', start + minute)
    .execute();
  assert.deepEqual(
    due.map(({ due_at }) => due_at),
    [],
  );
});
