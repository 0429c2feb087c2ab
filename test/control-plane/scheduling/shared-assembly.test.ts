import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import test from 'node:test';
import { SharedAssembly } from '../../../control-plane/scheduling/shared-assembly.ts';
import { startTestControlPlane, type TestControlPlane } from '../../support/control-plane.ts';
import { StatementCount } from '../../support/interleaving.ts';
import { runRow } from '../../support/result-rows.ts';
import { minute, now, setUp } from '../../support/results.ts';

const location = 'eu-west-1';

async function makeCheck(cp: TestControlPlane, name: string): Promise<string> {
  const { status, body } = await cp.api('POST', '/v1/checks/browser', {
    ...{ name, script: '1', locations: [location] },
    environmentVariables: [{ key: 'TOKEN', value: name, secret: true }],
  });
  assert.equal(status, 201, JSON.stringify(body));
  return (body as { id: string }).id;
}

function assemblyOf(cp: TestControlPlane) {
  const { services } = cp.controlPlane;
  const statements = new StatementCount();
  const place = { accountId: cp.accountId, location };
  const db = services.db.withPlugin(statements);
  const assembly = new SharedAssembly({ ...services, db }, place);
  return { statements, assembly };
}

test('polls of one turn share the reads, and each gets its own checks', async () => {
  await using cp = await startTestControlPlane();
  const ids = [await makeCheck(cp, 'one'), await makeCheck(cp, 'two')];
  const { statements, assembly } = assemblyOf(cp);
  await assembly.assemble(ids.slice(0, 1), null);
  const ofOne = statements.count;
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, poll) =>
      assembly.assemble([ids[poll % 2] ?? '', randomUUID()], 'http://proxy.example'),
    ),
  );
  assert.equal(statements.count, 2 * ofOne);
  for (const [poll, checks] of answers.entries()) {
    assert.deepEqual(
      checks.map((check) => [check.name, check.environment[0]?.value, check.proxyUrl]),
      [[poll % 2 === 0 ? 'one' : 'two', poll % 2 === 0 ? 'one' : 'two', 'http://proxy.example']],
    );
  }
});

test('a secret that cannot be decrypted fails the polls that need it alone', async () => {
  await using cp = await startTestControlPlane();
  const [good, damaged] = [await makeCheck(cp, 'good'), await makeCheck(cp, 'damaged')];
  const { db } = cp.controlPlane.services;
  const { body_json: json } = await db
    .selectFrom('checks')
    .select('body_json')
    .where('id', '=', damaged)
    .executeTakeFirstOrThrow();
  const values = JSON.parse(json) as { environmentVariables: { value: string }[] };
  for (const variable of values.environmentVariables) {
    variable.value = `${variable.value.slice(0, -8)}AAAAAAAA`;
  }
  await db
    .updateTable('checks')
    .set({ body_json: JSON.stringify(values) })
    .where('id', '=', damaged)
    .execute();
  const { assembly } = assemblyOf(cp);
  const [one, other] = await Promise.allSettled([
    assembly.assemble([good], null),
    assembly.assemble([damaged], null),
  ]);
  assert.equal(one.status, 'fulfilled');
  assert.equal(other.status, 'rejected');
});

test('an assignment says which slot has its FINAL result, and nothing of one that may still get it', async () => {
  await using bench = await setUp();
  const { assembly } = assemblyOf(bench.cp);
  const slotOf = async (at: number, fields: Parameters<typeof bench.submit>[3]) => {
    const check = await bench.check('url');
    await bench.submit(check, 'URL', at, fields);
    const [assigned] = await assembly.assemble([check], null);
    return { check, slot: assigned?.finishedSlot };
  };
  const recent = now - minute / 3;
  const { check, slot } = await slotOf(recent, { hasFailures: true });
  assert.equal(slot, recent);
  const later = { ...runRow({ accountId: bench.cp.accountId, checkId: check }, now), location };
  const { db } = bench.cp.controlPlane.services;
  await db
    .insertInto('check_runs')
    .values([
      { ...later, run_id: randomUUID(), scheduled_for: recent + 1, state: 'MISSED' },
      { ...later, run_id: randomUUID(), scheduled_for: recent + 2, state: 'RUNNING' },
    ])
    .execute();
  assert.equal((await assembly.assemble([check], null))[0]?.finishedSlot, recent);
  const attempt = { resultType: 'ATTEMPT', hasFailures: true } as const;
  assert.equal((await slotOf(recent, attempt)).slot, undefined, 'its run goes on');
  assert.equal(
    (await slotOf(recent, { runLocation: 'us-east-1' })).slot,
    undefined,
    'at another location',
  );
  assert.equal((await slotOf(now - 2 * minute, {})).slot, undefined, 'nobody makes up for it');
  assert.equal((await slotOf(now + minute / 2, {})).slot, undefined, 'by a clock that was ahead');
});
