import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestControlPlane } from '../../support/control-plane.ts';

test('a change with If-Match is refused when the entry was changed since it was read', async () => {
  await using cp = await startTestControlPlane();
  const { body: check } = await cp.api('POST', '/v1/checks/url', {
    name: 'Shop',
    request: { url: 'https://shop.example/' },
  });
  const path = `/v1/checks/${check.id}`;
  const before = (await cp.api('GET', path)).headers.get('etag') ?? '';
  assert.notEqual(before, '');
  const first = await cp.api('PUT', path, { name: 'Shop of Ann' }, { 'if-match': before });
  assert.equal(first.status, 200);
  const second = await cp.api('PUT', path, { name: 'Shop of Bob' }, { 'if-match': before });
  assert.deepEqual([second.status, second.body.attributes.code], [412, 'PRECONDITION_FAILED']);
  const removal = await cp.api('DELETE', path, undefined, { 'if-match': before });
  assert.equal(removal.status, 412);
  const now = await cp.api('GET', path);
  assert.equal(now.body.name, 'Shop of Ann');
  assert.equal(now.headers.get('etag'), second.body.attributes.etag);
  const third = await cp.api(
    'PUT',
    path,
    { name: 'Shop of Bob' },
    {
      'if-match': `"other", ${second.body.attributes.etag}`,
    },
  );
  assert.equal(third.status, 200);
  assert.equal((await cp.api('PUT', path, { muted: true }, { 'if-match': '*' })).status, 200);
});

test('If-Match also works where an entry is read by an earlier version of the path', async () => {
  await using cp = await startTestControlPlane();
  const { body: group } = await cp.api('POST', '/v2/check-groups', { name: 'Shops' });
  const etag = (await cp.api('GET', `/v1/check-groups/${group.id}`)).headers.get('etag') ?? '';
  const headers = { 'if-match': etag };
  const path = `/v2/check-groups/${group.id}`;
  assert.equal((await cp.api('PUT', path, { name: 'All shops' }, headers)).status, 200);
  assert.equal((await cp.api('PUT', path, { name: 'No shops' }, headers)).status, 412);
});

test('If-Match answers 404 for what does not exist, and 400 where nothing has an ETag', async () => {
  await using cp = await startTestControlPlane();
  const headers = { 'if-match': '"x"' };
  const gone = await cp.api('PUT', '/v1/snippets/77', { name: 'a', script: 'b' }, headers);
  assert.equal(gone.status, 404);
  const { body: key } = await cp.api('POST', '/v1/api-keys', { name: 'a' });
  const refused = await cp.api('DELETE', `/v1/api-keys/${key.id}`, undefined, headers);
  assert.deepEqual([refused.status, refused.body.attributes.keys], [400, ['if-match']]);
});

test('a condition that nobody compares is refused by name, and the change is not made', async () => {
  await using cp = await startTestControlPlane();
  const snippet = { name: 'a', script: 'b' };
  const { body: made } = await cp.api('POST', '/v1/snippets', snippet);
  for (const [method, header, kept] of [
    ['POST', 'idempotency-key', false],
    ['POST', 'if-match', false],
    ['POST', 'if-none-match', false],
    ['PUT', 'if-none-match', false],
    ['DELETE', 'if-unmodified-since', false],
    ['PUT', 'idempotency-key', true],
    ['GET', 'if-none-match', true],
    ['DELETE', 'idempotency-key', true],
  ] as const) {
    const path = method === 'POST' ? '/v1/snippets' : `/v1/snippets/${made.id}`;
    const body = method === 'POST' || method === 'PUT' ? snippet : undefined;
    const before = (await cp.api('GET', '/v1/snippets')).body;
    const { status, body: answer } = await cp.api(method, path, body, { [header]: 'x' });
    if (kept) {
      assert.ok(status < 300, `${method} ${header}`);
      continue;
    }
    assert.deepEqual([status, answer.attributes.keys], [400, [header]], method);
    assert.deepEqual((await cp.api('GET', '/v1/snippets')).body, before);
  }
});

test('of changes of any entry with the same If-Match that come at once, one is made', async () => {
  await using cp = await startTestControlPlane();
  const paths = [
    ['/v1/snippets', { name: 'a', script: '0' }, (index: number) => ({ script: `${index}` })],
    ['/v1/status-pages/services', { name: 'a' }, (index: number) => ({ name: `${index}` })],
    ['/v2/check-groups', { name: 'a' }, (index: number) => ({ name: `${index}` })],
  ] as const;
  for (const [list, fields, changed] of paths) {
    const { body } = await cp.api('POST', list, fields);
    const path = `${list}/${body.id}`;
    const etag = (await cp.api('GET', path.replace('v2', 'v1'))).headers.get('etag') ?? '';
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        cp.api('PUT', path, { ...fields, ...changed(index) }, { 'if-match': etag }),
      ),
    );
    const statuses = answers.map(({ status }) => status).sort();
    assert.deepEqual(statuses, [200, ...Array<number>(7).fill(412)], path);
  }
});

test('of changes of a check with the same If-Match that come at once, one is made', async () => {
  await using cp = await startTestControlPlane();
  const { body: check } = await cp.api('POST', '/v1/checks/url', {
    name: 'Shop',
    request: { url: 'https://shop.example/' },
  });
  const path = `/v1/checks/${check.id}`;
  const etag = (await cp.api('GET', path)).headers.get('etag') ?? '';
  const headers = { 'if-match': etag };
  const answers = await Promise.all([
    ...Array.from({ length: 6 }, (_, index) =>
      cp.api('PUT', path, { name: `Shop ${index}` }, headers),
    ),
    ...Array.from({ length: 6 }, (_, index) =>
      cp.api('PUT', `/v1/checks/url/${check.id}`, { tags: [`${index}`] }, headers),
    ),
  ]);
  const statuses = answers.map(({ status }) => status).sort();
  assert.deepEqual(statuses, [200, ...Array<number>(11).fill(412)]);
  const removals = await Promise.all([
    cp.api('DELETE', path, undefined, headers),
    cp.api('PUT', path, { muted: true }),
  ]);
  assert.deepEqual(
    removals.map(({ status }) => status),
    [412, 200],
  );
});
