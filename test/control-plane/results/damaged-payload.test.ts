import assert from 'node:assert/strict';
import test from 'node:test';
import { setUp, minute, now } from '../../support/results.ts';

test('a payload that is damaged spoils itself alone', async () => {
  await using bench = await setUp({ requestsPerMinute: 0 });
  const { cp } = bench;
  const checkId = await bench.check('url');
  const results = [5, 4, 3, 2, 1].map((at) =>
    bench.result(checkId, 'URL', now - at * minute, {
      response: { body: 'x'.repeat(at > 3 ? 9_000 : 10) },
    }),
  );
  await bench.submitAll(results);
  const { db } = cp.controlPlane.services;
  const rows = await db.selectFrom('result_payloads').selectAll().orderBy('result_seq').execute();
  for (const [index, row] of rows.entries()) {
    if (index === 2) continue;
    const payload = Buffer.from(row.payload);
    payload[30] = (payload[30] ?? 0) ^ 4;
    await db
      .updateTable('result_payloads')
      .set({ payload, ...(index === 3 ? { checksum: null, payload: Buffer.from('{"a":') } : {}) })
      .where('result_seq', '=', row.result_seq)
      .execute();
  }
  for (const path of [`/v1/check-results/${checkId}`, `/v2/check-results/${checkId}`]) {
    const { status, body } = await cp.api('GET', path);
    assert.equal(status, 200);
    const list = (Array.isArray(body) ? body : body.entries) as Record<string, unknown>[];
    const seen = new Map(list.map((one) => [one['id'], one]));
    for (const [index, { id }] of results.entries()) {
      const one = seen.get(id);
      assert.equal(one?.['apiCheckResult'] === null, index !== 2, path);
      assert.equal('payloadError' in (one ?? {}), index !== 2, path);
    }
  }
  const one = await cp.api('GET', `/v1/check-results/${checkId}/${results[0]?.id}`);
  assert.equal(one.status, 200);
  assert.match(String(one.body.payloadError), /damaged/);
});
