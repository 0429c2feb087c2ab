import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { CommitQueue } from '../../../../control-plane/db/commit-queue.ts';
import { openDatabase } from '../../../../control-plane/db/open.ts';
import { announceDueUpdates } from '../../../../control-plane/status-pages/subscribers/announce-due-updates.ts';
import { unsubscribe } from '../../../../control-plane/status-pages/subscribers/unsubscribe.ts';
import { isLeftOutOnPostgres } from '../../../support/postgres.ts';
import { seededRandom, testSeed } from '../../../support/random.ts';
import { hour, iso, minute, StatusPageBench, tokenIn } from '../../../support/status-page-bench.ts';

const ann = 'ann@example.com';
const investigating = '[Shop] Slow search – Investigating';
const resolved = '[Shop] Slow search – Resolved';

test('verified subscribers are notified of updates that ask for it, once per update', async () => {
  await using bench = await StatusPageBench.start();
  await bench.subscribe([ann]);
  await bench.subscribe(['pending@example.com'], false);
  await bench.takeMails();
  const { path } = await bench.openIncident();
  assert.deepEqual(await bench.told(), [[ann, investigating]]);
  const quiet = { description: 'Still looking', status: 'IDENTIFIED' };
  await bench.post(`${path}/incident-updates`, quiet);
  assert.deepEqual(await bench.told(), []);

  const over = { description: 'Over', status: 'RESOLVED', notifySubscribers: true };
  const update = await bench.post(`${path}/incident-updates`, over);
  assert.deepEqual(await bench.told(), [[ann, resolved]]);
  const changes = [
    { description: 'Really over' },
    { notifySubscribers: false },
    { notifySubscribers: true },
    { publicIncidentUpdateDate: iso(hour) },
  ];
  for (const change of changes) {
    const answer = await bench.cp.api('PUT', `${path}/incident-updates/${update.id}`, change);
    assert.equal(answer.status, 200);
  }
  bench.at(2 * hour);
  assert.deepEqual(await bench.told(), [], 'they know');
});

test('of several updates that are given at once the last one is the last word', async () => {
  await using bench = await StatusPageBench.start();
  await bench.subscribe([ann]);
  const statuses = ['INVESTIGATING', 'IDENTIFIED', 'MONITORING', 'RESOLVED'];
  for (const given of [statuses, ['RESOLVED', 'INVESTIGATING']]) {
    // Ids of updates are random.
    for (let times = 0; times < 4; times += 1) {
      const incidentUpdates = given.map((status) => ({
        ...{ status, description: status, notifySubscribers: true },
      }));
      await bench.openIncident({}, { incidentUpdates });
      await bench.announce();
      const said = (await bench.takeMails()).map(({ subject }) => subject.split(' – ')[1]);
      assert.deepEqual(
        said.map((word) => word?.toUpperCase()),
        given,
      );
    }
  }
});

test('a mail says what happened to what the page shows, with a way out', async () => {
  await using bench = await StatusPageBench.start();
  await bench.subscribe([ann]);
  const hidden = await bench.post('/v1/status-pages/services', { name: 'Secret back end' });
  const services = [{ id: bench.service.id }, hidden];
  const { id } = await bench.openIncident({}, { services });
  await bench.announce();
  const [mail] = await bench.mails();
  assert.ok(mail !== undefined);
  assert.match(mail.text, /Affected: Search\n/);
  for (const part of [mail.text, mail.html]) {
    assert.equal(part.includes('Secret back end'), false, 'a service that the page does not show');
    assert.ok(part.includes(`https://monitor.example/status/shop/incidents/${id}`));
  }
  const link = mail.headers['List-Unsubscribe'];
  assert.equal(
    link,
    `<https://monitor.example/status/shop/subscriptions/unsubscribe?token=${tokenIn(mail, 'unsubscribe')}>`,
  );
  assert.equal(mail.headers['List-Unsubscribe-Post'], 'List-Unsubscribe=One-Click');
});

test('a scheduled update is announced when its time comes, as it is then', async () => {
  await using bench = await StatusPageBench.start();
  await bench.subscribe([ann]);
  const { path } = await bench.openIncident({ notifySubscribers: false });
  const updates = `${path}/incident-updates`;
  const schedule = (sinceStart: number, more: object = {}) =>
    bench.post(updates, {
      description: 'Over',
      status: 'RESOLVED',
      notifySubscribers: true,
      publicIncidentUpdateDate: iso(sinceStart),
      ...more,
    });
  const kept = await schedule(hour);
  const deleted = await schedule(hour);
  const silenced = await schedule(hour);
  const moved = await schedule(hour);
  const voiced = await schedule(hour, { notifySubscribers: false });
  const change = (update: { id: string }, body: object) =>
    bench.cp.api('PUT', `${updates}/${update.id}`, body);
  await change(kept, { description: 'It is over' });
  assert.equal((await bench.cp.api('DELETE', `${updates}/${deleted.id}`)).status, 204);
  await change(silenced, { notifySubscribers: false });
  await change(moved, { publicIncidentUpdateDate: iso(2 * hour) });
  await change(voiced, { notifySubscribers: true, status: 'MONITORING' });

  bench.at(hour - 1);
  assert.deepEqual(await bench.told(), []);
  bench.at(hour);
  await bench.announce();
  const mails = await bench.takeMails();
  assert.deepEqual(mails.map(({ subject }) => subject).sort(), [
    '[Shop] Slow search – Monitoring',
    resolved,
  ]);
  assert.ok(mails.some(({ text }) => text.includes('It is over')));
  bench.at(2 * hour);
  assert.deepEqual(await bench.told(), [[ann, resolved]]);
  bench.at(3 * hour);
  assert.deepEqual(await bench.told(), []);
});

test('notifying subscribers of an update that is already public sends nothing', async () => {
  await using bench = await StatusPageBench.start();
  await bench.subscribe([ann]);
  const { path } = await bench.openIncident({ notifySubscribers: false });
  const { body } = await bench.cp.api('GET', `${path}/incident-updates`);
  const update = `${path}/incident-updates/${body[0].id}`;
  await bench.cp.api('PUT', update, { notifySubscribers: true });
  assert.deepEqual(await bench.told(), []);
  await bench.cp.api('PUT', update, { publicIncidentUpdateDate: iso(hour) });
  assert.deepEqual(await bench.told(), []);
  bench.at(hour);
  assert.deepEqual(await bench.told(), [[ann, investigating]], 'moved to later, it becomes public');
});

test('every page that shows a service tells its own subscribers, and no other page does', async () => {
  await using bench = await StatusPageBench.start();
  const card = { name: 'All', services: [{ id: bench.service.id }] };
  const domain = { url: 'two', customDomain: 'status.example.com', name: 'Two' };
  // The service stands on this page twice.
  const two = await bench.post('/v1/status-pages', { ...domain, cards: [card, card] });
  const other = await bench.post('/v1/status-pages', { name: 'Other', url: 'other', cards: [] });
  await bench.subscribe([ann]);
  await bench.subscribe([ann, 'bob@example.com'], true, two.id);
  await bench.subscribe([ann], true, other.id);
  await bench.openIncident();
  await bench.announce();
  const mails = await bench.takeMails();
  assert.deepEqual(mails.map(({ to, subject }) => `${subject} → ${to}`).sort(), [
    `${investigating} → ${ann}`,
    `[Two] Slow search – Investigating → ${ann}`,
    '[Two] Slow search – Investigating → bob@example.com',
  ]);
  const ofTwo = mails.find(({ to }) => to === 'bob@example.com');
  assert.ok(ofTwo !== undefined);
  assert.ok(ofTwo.text.includes('https://status.example.com/incidents/'));

  // To leave one page is not to leave the other.
  await unsubscribe(bench.services, tokenIn(ofTwo, 'unsubscribe'));
  await bench.openIncident();
  assert.deepEqual(
    (await bench.told()).map(([to]) => to),
    [ann, ann],
  );
});

test('who chose services is notified of incidents of these alone', async () => {
  await using bench = await StatusPageBench.start();
  const search = bench.service;
  const checkout = await bench.addService('Checkout');
  const login = await bench.addService('Login');
  await bench.subscribe(['all@example.com']);
  await bench.choose('search@example.com', [search]);
  await bench.choose('two@example.com', [checkout, login]);
  const told = async (services: readonly { id: string }[]) => {
    await bench.openIncident({}, { services: services.map(({ id }) => ({ id })) });
    return (await bench.told()).map(([to]) => to.split('@')[0]).sort();
  };
  assert.deepEqual(await told([search]), ['all', 'search']);
  assert.deepEqual(await told([login]), ['all', 'two']);
  assert.deepEqual(await told([search, checkout, login]), ['all', 'search', 'two'], 'once each');

  // A service that leaves the page leaves the others.
  await bench.showServices([search, login]);
  assert.deepEqual(await told([checkout]), []);
  assert.deepEqual(await told([checkout, login]), ['all', 'two']);
  await bench.showServices([checkout, login]);
  assert.deepEqual(await told([search, checkout]), ['all', 'two']);
  await bench.showServices([search, checkout, login]);
  assert.deepEqual(await told([search]), ['all', 'search'], 'it is back');
  const deleted = await bench.cp.api('DELETE', `/v1/status-pages/services/${search.id}`);
  assert.equal(deleted.status, 204);
  assert.deepEqual(await told([checkout]), ['all', 'two'], 'nothing else instead');
  const { body } = await bench.cp.api('GET', `/v1/status-pages/${bench.page.id}/subscriptions`);
  const chosen = body.map(({ address, services }: never) => [address, services]);
  assert.deepEqual(chosen, [
    ['all@example.com', null],
    ['search@example.com', []],
    ['two@example.com', [checkout, login].map(({ id, name }) => ({ id, name }))],
  ]);
});

test('batches pass over those who chose other services', async () => {
  await using bench = await StatusPageBench.start();
  const checkout = await bench.addService('Checkout');
  const addresses = Array.from({ length: 230 }, (_, index) => `s${index}@example.com`);
  await bench.subscribe(addresses);
  const others = new Set(addresses.filter((_, index) => index % 2 === 0));
  await bench.services.db
    .updateTable('status_page_subscriptions')
    .set({ services_json: JSON.stringify([checkout.id]) })
    .where('address', 'in', [...others])
    .execute();
  await bench.openIncident();
  assert.deepEqual(
    new Set((await bench.told()).map(([to]) => to)),
    new Set(addresses.filter((address) => !others.has(address))),
  );
});

test('2,000 subscribers are notified once each, despite a crash in the middle of a batch', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'subscribers-'));
  const file = join(folder, 'control-plane.db');
  try {
    await using bench = await StatusPageBench.start({ file });
    const addresses = Array.from({ length: 2_000 }, (_, index) => `s${index}@example.com`);
    await bench.subscribe(addresses);
    await bench.openIncident();
    for (let batch = 0; batch < 3; batch += 1) await announceDueUpdates(bench.services);
    const before = await bench.mails();
    assert.ok(before.length > 0 && before.length < 2_000, String(before.length));

    // What the batch wrote is lost with the process, before its commit.
    class Dying extends CommitQueue {
      override run<T>(work: Parameters<CommitQueue['run']>[0]): Promise<T> {
        return super.run<T>(async (db) => {
          await work(db);
          throw new Error('killed');
        });
      }
    }
    const dying = { ...bench.services, commits: new Dying(bench.services.db) };
    await assert.rejects(announceDueUpdates(dying), /killed/);
    assert.equal((await bench.mails()).length, before.length);

    // Another process goes on, while some of the mails are out already.
    const db = openDatabase(file);
    const next = { ...bench.services, db, commits: new CommitQueue(db) };
    const sent = await bench.takeMails();
    while (await announceDueUpdates(next));
    await db.destroy();
    const all = [...sent, ...(await bench.mails())];
    assert.equal(all.length, 2_000);
    assert.deepEqual(new Set(all.map(({ to }) => to)), new Set(addresses));
    assert.equal(new Set(all.map(({ id }) => id)).size, 2_000);
    assert.equal(await bench.announce(), 0, 'nothing is left to do');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('a subscriber who leaves while mails wait gets none of them; nor does one of a deleted page', async () => {
  await using bench = await StatusPageBench.start();
  const addresses = [ann, 'bob@example.com', 'cy@example.com'];
  await bench.subscribe(addresses);
  await bench.openIncident();
  await bench.openIncident();
  await bench.announce();
  const mails = await bench.mails();
  assert.equal(mails.length, 6);
  const toAnn = mails.find(({ to }) => to === ann);
  assert.ok(toAnn !== undefined);
  assert.ok(await unsubscribe(bench.services, tokenIn(toAnn, 'unsubscribe')));
  const left = await bench.mails();
  assert.deepEqual(new Set(left.map(({ to }) => to)), new Set(addresses.slice(1)));
  assert.equal(left.length, 4);

  const path = `/v1/status-pages/${bench.page.id}`;
  const { body } = await bench.cp.api('GET', `${path}/subscriptions`);
  const bob = body.find(({ address }: { address: string }) => address === 'bob@example.com');
  assert.equal((await bench.cp.api('DELETE', `${path}/subscriptions/${bob.id}`)).status, 204);
  assert.deepEqual(new Set((await bench.mails()).map(({ to }) => to)), new Set(['cy@example.com']));
  assert.equal((await bench.cp.api('DELETE', path)).status, 204);
  assert.deepEqual(await bench.mails(), []);
});

test('an incident that is deleted before its batches are through is announced no further', async () => {
  await using bench = await StatusPageBench.start();
  await bench.subscribe([ann]);
  const { path } = await bench.openIncident();
  assert.equal((await bench.cp.api('DELETE', path)).status, 204);
  bench.at(minute);
  assert.deepEqual(await bench.told(), []);
});

interface Known {
  path: string;
  publicAt: number;
  notifySubscribers: boolean;
  wasPublic: boolean;
}

test('however updates are scheduled, moved, silenced and deleted: notified once, on becoming public', async (t) => {
  if (isLeftOutOnPostgres(t)) return;
  const seed = testSeed();
  t.diagnostic(`TEST_SEED=${seed}`);
  const random = seededRandom(seed);
  const upTo = (limit: number) => Math.floor(random() * limit);
  await using bench = await StatusPageBench.start();
  await bench.subscribe([ann]);
  const { path } = await bench.openIncident({ notifySubscribers: false });
  await bench.told();
  const known = new Map<string, Known>();
  const toldOf = new Set<string>();
  let now = 0;
  for (let step = 0; step < 300; step += 1) {
    const fields = { publicAt: now + (upTo(9) - 4) * minute, notifySubscribers: random() < 0.6 };
    const body = {
      publicIncidentUpdateDate: iso(fields.publicAt),
      notifySubscribers: fields.notifySubscribers,
    };
    const [id, update] = [...known][upTo(known.size)] ?? [];
    const choice = upTo(10);
    if (choice < 3 || id === undefined || update === undefined) {
      const made = await bench.post(`${path}/incident-updates`, { description: 'x', ...body });
      const at = `${path}/incident-updates/${made.id}`;
      known.set(made.id, { ...fields, path: at, wasPublic: false });
    } else if (choice < 7) {
      assert.equal((await bench.cp.api('PUT', update.path, body)).status, 200);
      Object.assign(update, fields);
    } else if (choice < 8) {
      assert.equal((await bench.cp.api('DELETE', update.path)).status, 204);
      known.delete(id);
    } else {
      now += upTo(3) * minute;
      bench.at(now);
    }
    const expected: string[] = [];
    for (const [each, one] of known) {
      const isPublic = one.publicAt <= now;
      if (isPublic && !one.wasPublic && one.notifySubscribers && !toldOf.has(each)) {
        expected.push(each);
        toldOf.add(each);
      }
      one.wasPublic = isPublic;
    }
    await bench.announce();
    const told = (await bench.takeMails()).map((mail) => mail.id.split('.')[1]);
    assert.deepEqual(told.sort(), expected.sort(), `step ${step}`);
  }
  assert.ok(toldOf.size > 20, String(toldOf.size));
});

test('an announcement that cannot be made holds up no other, and is made once it can be', async () => {
  await using bench = await StatusPageBench.start();
  await bench.subscribe(['ann@example.com']);
  const pages = (customDomain: string) =>
    bench.services.db
      .updateTable('status_pages')
      .set({ custom_domain: customDomain })
      .where('id', '=', bench.page.id)
      .execute();
  await pages('<not-a-host>.example');
  await bench.openIncident();
  const { body: service } = await bench.cp.api('POST', '/v1/status-pages/services', { name: 'S' });
  const other = await bench.post('/v1/status-pages', {
    name: 'Other',
    url: 'other',
    cards: [{ name: 'Web', services: [{ id: service.id }] }],
  });
  await bench.subscribe(['ben@example.com'], true, other.id);
  bench.at(minute);
  await bench.openIncident({}, { services: [{ id: service.id }] });
  assert.deepEqual(
    (await bench.told()).map(([to]) => to),
    ['ben@example.com'],
  );
  await pages('status.example');
  bench.at(5 * minute);
  assert.deepEqual(
    (await bench.told()).map(([to]) => to),
    ['ann@example.com'],
  );
});
