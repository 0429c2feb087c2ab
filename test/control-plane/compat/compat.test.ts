// PostgreSQL in the long tier: newest-operations.test.ts, result-fields.test.ts, accounts.test.ts and
// variables.test.ts run its statements on both.
import assert from 'node:assert/strict';
import test from 'node:test';
import type { ResultSubmission } from '@monitor/shared/contract/agent-protocol.ts';
import { startTestControlPlane } from '../../support/control-plane.ts';
import { insertMember } from '../../support/people.ts';
import { now, setUp } from '../../support/results.ts';

type Fields = Record<string, unknown>;

test('an existing client finds its account and its user', async () => {
  await using cp = await startTestControlPlane();
  const own = await cp.api('GET', `/v1/accounts/${cp.accountId}`);
  assert.deepEqual((await cp.api('GET', `/next/accounts/${cp.accountId}`)).body, own.body);
  assert.deepEqual((await cp.api('GET', '/next/accounts')).body, [own.body]);
  const me = await cp.api('GET', '/v1/users/me');
  assert.deepEqual((await cp.api('GET', '/next/users/me')).body, me.body);
  const wrong = await cp.api('GET', '/next/users/me', undefined, { authorization: 'Bearer cu_no' });
  assert.equal(wrong.status, 401);
  assert.equal((await cp.api('GET', '/next/accounts/nobody')).status, 404);
});

test('members are people and open invitations: found, paged, changed and removed', async () => {
  await using cp = await startTestControlPlane();
  const { accountId, controlPlane } = cp;
  const ids: string[] = [];
  for (const name of ['Ada', 'Ben']) {
    ids.push((await insertMember(controlPlane.services, { accountId, name, role: 'READ_RUN' })).id);
  }
  await cp.api('POST', '/v1/invitations', { email: 'cleo@example.com', role: 'READ_ONLY' });
  const path = '/v1/accounts/me/members';
  const list = async (query: string): Promise<string[]> => {
    const { status, body } = await cp.api('GET', `${path}${query}`);
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal(body.length, body.members.length);
    return body.members.map(({ email }: { email: string }) => email.split('@')[0]);
  };
  const all = await cp.api('GET', path);
  assert.deepEqual(
    all.body.members.map(({ type, status }: Record<string, string>) => [type, status]),
    [
      ['member', 'ACTIVE'],
      ['member', 'ACTIVE'],
      ['invite', 'PENDING'],
    ],
  );
  assert.deepEqual(await list('?type=invite'), ['cleo']);
  assert.deepEqual(await list('?status=PENDING'), ['cleo']);
  assert.deepEqual(await list('?role=READ_ONLY'), ['cleo']);
  assert.deepEqual(await list('?search=CLEO'), ['cleo']);
  assert.deepEqual(await list('?status=EXPIRED'), []);
  assert.equal((await cp.api('GET', `${path}?rolle=READ_ONLY`)).status, 400);

  const first = await cp.api('GET', `${path}?limit=2`);
  const second = await cp.api('GET', `${path}?limit=2&nextId=${first.body.nextId}`);
  assert.deepEqual([...first.body.members, ...second.body.members], all.body.members);
  assert.equal(second.body.nextId, null);

  const changed = await cp.api('PATCH', `${path}/${ids[0]}`, { role: 'ADMIN' });
  assert.deepEqual([changed.body.userId, changed.body.role], [ids[0], 'ADMIN']);
  assert.equal((await cp.api('DELETE', `${path}/${ids[1]}`)).status, 204);
  assert.equal((await cp.api('DELETE', `${path}/${ids[1]}`)).status, 404);
  assert.equal((await list('?type=member')).length, 1);
  const { entries } = (await cp.api('GET', '/v1/audit-log?limit=2')).body;
  assert.deepEqual(
    entries.map(({ resource, before, after }: Record<string, Fields>) => [
      ...[resource?.['type'], resource?.['id'], before?.['role'], after?.['role']],
    ]),
    [
      ['people', ids[1], 'READ_RUN', undefined],
      ['people', ids[0], 'READ_RUN', 'ADMIN'],
    ],
  );
});

test('FALLBACK on a check is kept, and stored as what earlier releases know', async () => {
  await using cp = await startTestControlPlane();
  const request = { url: 'https://a.example/' };
  const { body: made } = await cp.api('POST', '/v1/checks/url', {
    ...{ name: 'a', request, retryStrategy: 'FALLBACK' },
  });
  const strategy = async () => (await cp.api('GET', `/v1/checks/${made.id}`)).body.retryStrategy;
  assert.equal(made.retryStrategy, 'FALLBACK');
  await cp.api('PUT', `/v1/checks/url/${made.id}`, { name: 'b' });
  assert.equal(await strategy(), 'FALLBACK');
  const [row] = await cp.controlPlane.services.db
    .selectFrom('checks')
    .select('body_json')
    .execute();
  assert.equal((JSON.parse(row?.body_json ?? '') as Fields)['retryStrategy'], null);
  await cp.api('PUT', `/v1/checks/url/${made.id}`, { retryStrategy: null });
  assert.equal(await strategy(), null);
});

test('an existing client reads what every result asked and what was answered', async () => {
  await using bench = await setUp();
  const { cp } = bench;
  const read = async (type: string, request: Fields, response: Fields | null, error?: string) => {
    const checkId = await bench.check(type, { request });
    const given = bench.result(checkId, type.toUpperCase(), now - 60_000, { response });
    const seen = { ...given.apiCheckResult, request, requestError: error ?? null };
    await bench.submitAll([{ ...given, apiCheckResult: seen } as ResultSubmission]);
    const path = `/v1/check-results/${checkId}/${given.id}`;
    assert.deepEqual((await cp.api('GET', path)).body.apiCheckResult.response, response);
    const asClient = await cp.api('GET', path, undefined, { 'x-checkly-account': cp.accountId });
    const { request: asked, response: answered } = asClient.body.apiCheckResult;
    return [asked.method, asked.url, answered.status, answered.statusText];
  };
  assert.deepEqual(
    await read('tcp', { hostname: 'mail.example', port: 25 }, null, 'connection refused'),
    ['TCP', 'mail.example:25', 0, 'connection refused'],
  );
  assert.deepEqual(
    await read('dns', { query: 'a.example', recordType: 'MX' }, { returnCode: 'NOERROR' }),
    ['DNS', 'MX a.example', 0, 'NOERROR'],
  );
  assert.deepEqual(
    await read('icmp', { hostname: 'a.example' }, { packetsSent: 4, packetsReceived: 3 }),
    ['ICMP', 'a.example', 0, '3 of 4 packets answered'],
  );
});
