/** What every plain resource does alike. What one does besides has tests of its own. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { createApiKey } from '../../../control-plane/accounts/keys/store.ts';
import { selfSigned } from '../../support/certificates.ts';
import { startTestControlPlane, type TestControlPlane } from '../../support/control-plane.ts';
import { TestClock } from '../../support/test-clock.ts';

interface Case {
  path: string;
  /** A body that differs for each number. */
  body(number: number): Record<string, unknown>;
  /** A change, and what it leaves as it is. None cannot change. */
  change: Record<string, unknown> | null;
  /** What a body needs and lacks. */
  wrong?: Record<string, unknown>;
  list: 'pages' | 'cursor' | 'all' | 'none';
  /** The field that names it in paths. */
  id?: string;
  isNewestFirst?: true;
  /** The operation in the audit log: `createSnippet`. */
  name: string;
}

interface Entry {
  operation: string;
  outcome: string;
  resource: { id: string | null } | null;
}

const { cert, key } = await selfSigned({ host: 'a.internal', validForDays: 30 });
const hour = (at: number): string => new Date(Date.UTC(2099, 0, 1, at)).toISOString();

async function casesOf(cp: TestControlPlane): Promise<Case[]> {
  const { body: service } = await cp.api('POST', '/v1/status-pages/services', { name: 'Shop' });
  const { body: board } = await cp.api('POST', '/v1/dashboards', { header: 'Shop' });
  const { body: channel } = await cp.api('POST', '/v1/alert-channels', {
    ...{ type: 'EMAIL', config: { address: 'user@example.com' } },
  });
  const incidentUpdates = [{ description: 'x' }];
  return [
    {
      ...{ path: '/v1/snippets', name: 'Snippet', list: 'pages' },
      body: (number) => ({ name: `s${number}`, script: 'x = 1' }),
      change: { name: 'other', script: 'x = 2' },
      wrong: { name: 'x' },
    },
    {
      ...{ path: '/v1/variables', name: 'Variable', list: 'pages', id: 'key' },
      body: (number) => ({ key: `K${number}`, value: 'a' }),
      change: { value: 'b' },
    },
    {
      ...{ path: '/v1/client-certificates', name: 'ClientCertificate', list: 'all', change: null },
      body: (number) => ({ host: `a${number}.internal`, cert, key, ca: null }),
    },
    {
      ...{ path: '/v1/status-pages/services', name: 'Service', list: 'cursor' },
      body: (number) => ({ name: `s${number}` }),
      change: { name: 'other' },
    },
    {
      ...{ path: '/v1/status-pages', name: 'StatusPage', list: 'cursor' },
      body: (number) => ({ name: `p${number}`, url: `p${number}`, cards: [], description: 'd' }),
      change: { name: 'other', url: 'other', cards: [] },
    },
    {
      ...{ path: '/v1/status-pages/incidents', name: 'Incident', list: 'cursor' },
      body: (number) => ({
        ...{ name: `i${number}`, severity: 'MINOR', services: [{ id: service.id }] },
        incidentUpdates,
      }),
      change: { name: 'other', severity: 'MAJOR', services: [{ id: service.id }] },
      isNewestFirst: true,
    },
    {
      ...{ path: '/v1/dashboards', name: 'Dashboard', list: 'pages', id: 'dashboardId' },
      body: (number) => ({ header: `d${number}`, customUrl: `d${number}` }),
      change: { header: 'other' },
      wrong: { width: 'WIDE' },
    },
    {
      ...{ path: '/v1/incidents', name: 'DashboardIncident', list: 'none' },
      body: (number) => ({ name: `i${number}`, dashboardId: board.id, incidentUpdates }),
      change: { name: 'other' },
    },
    {
      ...{ path: '/v1/escalation-policies', name: 'EscalationPolicy', list: 'pages' },
      body: (number) => ({ name: `p${number}`, steps: [{ alertChannelIds: [channel.id] }] }),
      change: { repeats: 3 },
    },
    {
      ...{ path: '/v1/alert-channels', name: 'AlertChannel', list: 'pages' },
      body: (number) => ({ type: 'EMAIL', config: { address: `u${number}@example.com` } }),
      change: { sendDegraded: true },
    },
    {
      ...{ path: '/v1/maintenance-windows', name: 'MaintenanceWindow', list: 'pages' },
      body: (number) => ({
        ...{ name: `w${number}`, tags: ['x'], startsAt: hour(1), endsAt: hour(2) },
      }),
      change: { name: 'other' },
    },
    {
      ...{ path: '/v1/private-locations', name: 'PrivateLocation', list: 'all' },
      body: (number) => ({ name: `l${number}`, slugName: `l${number}`, icon: 'office' }),
      change: { name: 'other' },
    },
  ];
}

const entriesOf = (body: unknown): Record<string, unknown>[] =>
  (Array.isArray(body) ? body : (body as { entries: unknown }).entries) as Record<
    string,
    unknown
  >[];

/** All entries of a list, in pages of two. */
async function readAll(cp: TestControlPlane, { path, list }: Case) {
  const seen: Record<string, unknown>[] = [];
  let query: string | null = list === 'all' ? '' : '?limit=2';
  for (let page = 2; query !== null; page += 1) {
    const { body, headers } = await cp.api('GET', `${path}${query}`);
    const entries = entriesOf(body);
    if (list === 'pages') {
      const range =
        entries.length === 0 ? '*' : `${seen.length}-${seen.length + entries.length - 1}`;
      assert.ok(headers.get('content-range')?.startsWith(`items ${range}/`));
    }
    seen.push(...entries);
    const isLast =
      list === 'all' || (list === 'cursor' ? body.nextId === null : entries.length < 2);
    query = isLast
      ? null
      : list === 'cursor'
        ? `?limit=2&nextId=${body.nextId}`
        : `?limit=2&page=${page}`;
  }
  return seen;
}

test('every plain resource is listed, made, read, changed and deleted, for its account and by whom may', async (t) => {
  const clock = new TestClock(Date.UTC(2026, 10, 21, 8));
  await using cp = await startTestControlPlane({ clock, requestsPerMinute: 0 });
  const foreign = { authorization: `Bearer ${await cp.foreignKey()}` };
  const reader = await createApiKey(cp.controlPlane.services, cp.accountId, {
    ...{ name: 'reader', role: 'READ_ONLY' },
  });
  const reading = { authorization: `Bearer ${reader.rawKey}` };
  for (const each of await casesOf(cp)) {
    const { path, name, change, list, id = 'id' } = each;
    await t.test(name, async () => {
      const before = list === 'none' ? [] : await readAll(cp, each);
      const made: Record<string, unknown>[] = [];
      for (const number of [1, 2, 3]) {
        const { status, body } = await cp.api('POST', path, each.body(number));
        assert.equal(status, 201);
        made.push(body);
        clock.advance(1_000);
      }
      const [first] = made;
      const place = `${path}/${String(first?.[id])}`;
      const { body: read } = await cp.api('GET', place);
      assert.partialDeepStrictEqual(read, { [id]: first?.[id], ...shown(each.body(1)) });
      if (list !== 'none') {
        const ids = (entries: Record<string, unknown>[]) => entries.map((entry) => entry[id]);
        const added = each.isNewestFirst === true ? made.toReversed() : made;
        const all = [...ids(before), ...ids(added)];
        assert.deepEqual(ids(await readAll(cp, each)), all);
        assert.deepEqual(entriesOf((await cp.api('GET', path, undefined, foreign)).body), []);
        for (const query of list === 'all' ? [] : ['limit=0', 'limit=101', 'page=0&nextId=-1']) {
          assert.equal((await cp.api('GET', `${path}?${query}`)).status, 400, query);
        }
      }
      assert.equal((await cp.api('POST', path, each.wrong ?? {})).status, 400);

      if (change !== null) {
        const { status, body } = await cp.api('PUT', place, change);
        assert.equal(status, 200);
        assert.partialDeepStrictEqual(body, { ...shown(each.body(1)), ...shown(change) });
        assert.deepEqual((await cp.api('GET', place)).body, { ...read, ...body });
        for (const headers of [foreign, reading]) {
          const refused = await cp.api('PUT', place, change, headers);
          assert.equal(refused.status, headers === foreign ? 404 : 403);
        }
      }
      for (const [method, headers, status] of [
        ['GET', foreign, 404],
        ['DELETE', foreign, 404],
        ['GET', reading, 200],
        ['DELETE', reading, 403],
      ] as const) {
        assert.equal((await cp.api(method, place, undefined, headers)).status, status, method);
      }
      assert.equal((await cp.api('POST', path, each.body(4), reading)).status, 403);

      assert.equal((await cp.api('DELETE', place)).status, 204);
      assert.equal((await cp.api('GET', place)).status, 404);
      assert.equal((await cp.api('DELETE', place)).status, 404);
      if (change !== null) assert.equal((await cp.api('PUT', place, change)).status, 404);
      assert.equal((await cp.api('GET', `${path}/${String(made[1]?.[id])}`)).status, 200);

      const { body: log } = await cp.api('GET', '/v1/audit-log?limit=100');
      const noted = log.entries.map(({ operation, outcome, resource }: Entry) =>
        [operation, outcome, resource?.id].join(' '),
      );
      // Its creation is noted by the id of its answer.
      const names = [`create${name} DONE ${String(first?.['id'] ?? first?.[id])}`];
      if (change !== null) names.push(`update${name} DONE ${String(first?.[id])}`);
      names.push(`delete${name} DONE ${String(first?.[id])}`, `create${name} REFUSED `);
      for (const entry of names) assert.ok(noted.includes(entry), `${entry} is noted`);
    });
  }
});

/** A body as answers have it: services come whole, keys of certificates never. */
function shown(body: Record<string, unknown>): Record<string, unknown> {
  const hidden = ['services', 'key', 'incidentUpdates', 'steps'];
  return Object.fromEntries(Object.entries(body).filter(([name]) => !hidden.includes(name)));
}
