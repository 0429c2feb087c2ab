// PostgreSQL in the long tier: pages.test.ts runs its statements on both.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import test from 'node:test';
import { buildApp } from '../../../control-plane/app/app.ts';
import { serveStatusPages } from '../../../control-plane/status-pages/status-pages.ts';
import { readPage } from '../../../control-plane/status-pages/read-page.ts';
import { Snapshots } from '../../../control-plane/status-pages/snapshots.ts';
import { day, iso, minute, PageVisitor } from '../../support/page-visitor.ts';

test('look-ups are limited per visitor, and the page itself is always served', async () => {
  await using visitor = await PageVisitor.open();
  await visitor.page(await visitor.services('Checkout'));
  const { services } = visitor.cp.controlPlane;
  const { clock, db, writes, logger } = services;
  const read = serveStatusPages({
    services,
    snapshots: new Snapshots({ clock, logger, read: (address, now) => readPage(db, address, now) }),
    canSubscribe: false,
    host: '127.0.0.1',
    lookUps: { requests: 3, seconds: 60 },
  });
  const server = createServer(
    buildApp({
      publicUrl: 'http://127.0.0.1',
      before: [read],
      doors: {} as never,
      trustedProxies: ['127.0.0.1'],
      logger,
      writes,
    }),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/status`;
  const ask = async (path: string, from: string) => {
    const answer = await fetch(url + path, { headers: { 'x-forwarded-for': from } });
    await answer.arrayBuffer();
    return answer;
  };
  const statuses: number[] = [];
  assert.equal((await ask('/shop', '203.0.113.8')).status, 200);
  for (const path of ['/shop/history', '/nothing', '/shop/history?month=2026-10', '/else']) {
    statuses.push((await ask(path, '203.0.113.7')).status);
  }
  assert.deepEqual(statuses, [200, 404, 200, 429]);
  const refused = await ask('/shop/history', '203.0.113.7');
  assert.deepEqual([refused.status, refused.headers.get('retry-after')], [429, '60']);
  for (const path of ['/shop', '/shop/api/v2/summary.json', '/shop/feed.rss']) {
    assert.equal((await ask(path, '203.0.113.7')).status, 200, path);
  }
  assert.equal((await ask('/shop/history', '203.0.113.8')).status, 200);
  visitor.clock.advance(minute);
  assert.equal((await ask('/shop/history', '203.0.113.7')).status, 200);
  server.closeAllConnections();
  server.close();
});

test('the documents for programs tell the newest updates of an incident, however long it goes on', async () => {
  await using visitor = await PageVisitor.open();
  const [service] = await visitor.services('Checkout');
  assert.ok(service !== undefined);
  await visitor.page([service]);
  await visitor.done('POST', '/v1/status-pages/incidents', {
    name: 'Long',
    severity: 'MAJOR',
    services: [service],
    incidentUpdates: Array.from({ length: 40 }, (_, index) => ({
      description: `update ${index}`,
      status: 'INVESTIGATING',
      publicIncidentUpdateDate: iso(-day + index * minute),
    })),
  });
  visitor.pass(minute);
  const { incidents } = await visitor.json('/api/v2/summary.json');
  const [{ incident_updates: updates }] = incidents;
  assert.equal(updates.length, 25);
  assert.deepEqual([updates[0].body, updates[24].body], ['update 39', 'update 15']);
});
