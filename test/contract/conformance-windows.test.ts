/** Rows of the specification about time: windows, rates, and what is run at all. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import test from 'node:test';
import { checkInOf } from '../support/fake-agent.ts';
import { hour, minute, now, setUp, unix } from '../support/results.ts';

test('a check that is not activated is given to no agent', async () => {
  await using bench = await setUp();
  const id = await bench.check('url', { locations: ['eu-west-1'] });
  const key = await bench.cp.locationKey('eu-west-1');
  const snapshot = async () => {
    const { body } = await bench.cp.api(
      'POST',
      '/v1/agent/check-in',
      checkInOf({ agentId: randomUUID() }, ['URL']),
      { authorization: `Bearer ${key}` },
    );
    return JSON.stringify(body);
  };
  assert.ok((await snapshot()).includes(id));
  await bench.cp.api('PUT', `/v1/checks/url/${id}`, { activated: false });
  assert.ok(!(await snapshot()).includes(id));
});

test('alert notifications are listed in windows of 24 hours', async () => {
  await using bench = await setUp();
  const checkId = await bench.check('url');
  const channel = await bench.cp.api('POST', '/v1/alert-channels', {
    type: 'EMAIL',
    config: { address: 'a@a.example' },
  });
  const times = [30, 24, 23, 1].map((hours) => now - hours * hour);
  await bench.cp.controlPlane.services.db
    .insertInto('alert_notifications')
    .values(
      times.map((sent_at, index) => ({
        id: randomUUID(),
        account_id: bench.cp.accountId,
        type: 'EMAIL',
        status: index === 2 ? 'FAILURE' : 'SUCCESS',
        config_json: '{}',
        result: null,
        sent_at,
        check_type: 'URL',
        check_id: checkId,
        check_alert_id: null,
        alert_channel_id: index === 3 ? 999 : channel.body.id,
        check_result_id: null,
      })),
    )
    .execute();
  const hoursAgo = async (query: string) => {
    const answer = await bench.cp.api('GET', `/v1/alert-notifications?${query}`);
    assert.equal(answer.status, 200, query);
    return (answer.body as { timestamp: string }[]).map(
      ({ timestamp }) => (now - Date.parse(timestamp)) / hour,
    );
  };
  const at = (hours: number) => unix(now - hours * hour);
  assert.deepEqual(await hoursAgo(''), [1, 23, 24]);
  assert.deepEqual(await hoursAgo(`to=${at(1)}`), [23, 24]);
  assert.deepEqual(await hoursAgo(`from=${at(30)}`), [23, 24, 30]);
  assert.deepEqual(await hoursAgo(`from=${at(24)}&to=${at(0)}&hasFailures=true`), [23]);
  assert.deepEqual(await hoursAgo('alertChannelId=999'), [1]);
  bench.clock.advance(10_001);
  const tooLong = await bench.cp.api(
    'GET',
    `/v1/alert-notifications?from=${at(24)}&to=${at(0) + 1}`,
  );
  assert.deepEqual([tooLong.status, tooLong.body.attributes.keys], [400, ['to']]);
});

test('check results: the last six hours, or six hours after from', async () => {
  await using bench = await setUp();
  const id = await bench.check('url');
  for (const hours of [13, 12, 7, 6, 5, 1]) {
    await bench.submit(id, 'URL', now - hours * hour);
  }
  const hoursAgo = async (query: string) =>
    ((await bench.get(`check-results/${id}?${query}`)) as { startedAt: string }[]).map(
      ({ startedAt }) => (now - Date.parse(startedAt)) / hour,
    );
  assert.deepEqual(await hoursAgo(''), [1, 5, 6]);
  // The lower bound belongs to the window, the upper one does not.
  assert.deepEqual(await hoursAgo(`from=${unix(now - 13 * hour)}`), [12, 13]);
  assert.deepEqual(await hoursAgo(`from=${unix(now - 7 * hour)}`), [5, 6, 7]);
  assert.deepEqual(
    await hoursAgo(`from=${unix(now - 6 * hour - minute)}&to=${unix(now - 5 * hour)}`),
    [6],
  );
});

test('the alert notification list takes five requests in ten seconds', async () => {
  await using bench = await setUp();
  const ask = () => bench.cp.api('GET', '/v1/alert-notifications');
  for (let asked = 0; asked < 5; asked += 1) assert.equal((await ask()).status, 200);
  const refused = await ask();
  assert.equal(refused.status, 429);
  assert.equal(refused.headers.get('retry-after'), '10');
  assert.equal((await bench.cp.api('GET', '/v1/alert-channels')).status, 200);
  bench.clock.advance(9_999);
  assert.equal((await ask()).status, 429);
  bench.clock.advance(1);
  assert.equal((await ask()).status, 200);
});
