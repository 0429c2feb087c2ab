import assert from 'node:assert/strict';
import test from 'node:test';
import { startTestControlPlane } from '../../support/control-plane.ts';

test('a NUL in a body leaves every list of the account readable', async () => {
  await using cp = await startTestControlPlane();
  const hidden = 'a\0b';
  const { body: channel } = await cp.api('POST', '/v1/alert-channels', {
    type: 'WEBHOOK',
    config: { name: hidden, url: 'http://example.com/', method: 'POST', template: hidden },
  });
  assert.ok(channel.id > 0);
  const group = await cp.api('POST', '/v2/check-groups', { name: hidden });
  assert.equal(group.status, 201);
  const check = await cp.api('POST', '/v1/checks/api', {
    name: hidden,
    groupId: group.body.id,
    locations: ['eu-west-1'],
    request: { url: 'https://example.com/', method: 'POST', body: hidden },
  });
  assert.equal(check.status, 201);
  const location = await cp.api('POST', '/v1/private-locations', { name: 'a', slugName: 'a' });
  const snippet = await cp.api('POST', '/v1/snippets', { name: hidden, script: hidden });
  for (const path of ['/v1/checks', '/v1/checks?apiCheckUrlFilterPattern=example']) {
    const { status, body } = await cp.api('GET', path);
    assert.equal(status, 200, path);
    assert.deepEqual(
      (body as { id: string }[]).map(({ id }) => id),
      [check.body.id],
    );
  }
  assert.equal((await cp.api('GET', '/v1/check-overview')).status, 200);
  assert.equal((await cp.api('GET', '/v1/checks?tag=%00')).status, 200);
  assert.equal((await cp.api('DELETE', `/v1/private-locations/${location.body.id}`)).status, 204);
  assert.equal((await cp.api('DELETE', `/v1/snippets/${snippet.body.id}`)).status, 204);
});
