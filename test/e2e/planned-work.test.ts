import assert from 'node:assert/strict';
import test from 'node:test';
import { mailServer } from '../support/mail-server.ts';
import { eventually, openTarget, System, temporaryFolder } from '../support/system.ts';

const iso = (instant: number) => new Date(instant).toISOString();

test('published work: one mail at its start and one at its end over kills, and nobody is paged within', async () => {
  using folder = temporaryFolder();
  await using mailbox = await mailServer();
  await using target = await openTarget();
  await using system = await System.start(folder.path, {
    ...{ SMTP_URL: mailbox.url, MAIL_FROM: 'Monitor <monitor@a.example>' },
  });
  const agent = system.startAgent('agent', await system.makeLocation('here'));
  await agent.log('checked in');
  const { id: serviceId } = await system.api<{ id: string }>('POST', '/v1/status-pages/services', {
    name: 'Search',
  });
  const cards = [{ name: 'Web', services: [{ id: serviceId }] }];
  const page = { name: 'Shop', url: 'shop', cards };
  const { id: pageId } = await system.api<{ id: string }>('POST', '/v1/status-pages', page);
  await system.api('POST', `/v1/status-pages/${pageId}/subscriptions/bulk`, {
    ...{ subscriptions: [{ config: 'ann@a.example' }], autoVerify: true },
  });
  await system.api('POST', '/v1/alert-channels', {
    ...{ type: 'EMAIL', config: { address: 'ops@a.example' }, autoSubscribe: true },
  });
  const begins = Date.now();
  const window = await system.api<{ id: number }>('POST', '/v1/maintenance-windows', {
    ...{ name: 'Move', startsAt: iso(begins), endsAt: iso(begins + 3_600_000) },
    silenceAllAlerts: true,
    statusPageVisibility: { serviceIds: [serviceId], notifyOnStart: true, notifyOnEnd: true },
  });
  const check = await system.createUrlCheck(`${target.url}/bad`, {
    ...{
      name: 'front door',
      privateLocations: ['here'],
      frequency: 1,
      retryStrategy: null,
      doubleCheck: false,
    },
  });
  const to = (address: string) => mailbox.received.filter((mail) => mail.to.includes(address));
  const subjects = () => to('ann@a.example').map(({ headers }) => headers.get('subject'));
  await eventually(
    () => system.runs().some((run) => run.check_id === check.id && run.state === 'FINAL'),
    () => JSON.stringify(system.runs()),
  );
  await eventually(
    () => subjects().length === 1,
    () => String(subjects()),
  );
  await system.controlPlane.kill9();
  await system.restartControlPlane();
  const path = `/v1/maintenance-windows/${window.id}/maintenances/${window.id}-${begins}`;
  await system.api('PATCH', path, { status: 'COMPLETED' });
  await eventually(
    () => subjects().length === 2,
    () => String(subjects()),
  );
  assert.deepEqual(to('ops@a.example'), []);
  await system.controlPlane.kill9();
  await system.restartControlPlane();
  // The first failure after it is sent: by then whatever would be sent twice has been.
  await eventually(
    () => to('ops@a.example').length > 0,
    () => 'nobody was paged after it',
  );
  assert.equal(subjects().length, 2, String(subjects()));
});
