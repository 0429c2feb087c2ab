import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import test from 'node:test';
import { SharedAssembly } from '../../../control-plane/scheduling/shared-assembly.ts';
import { startTestControlPlane, type TestControlPlane } from '../../support/control-plane.ts';
import { StatementCount } from '../../support/interleaving.ts';

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
  const { db, secrets } = cp.controlPlane.services;
  const statements = new StatementCount();
  const place = { accountId: cp.accountId, location };
  const assembly = new SharedAssembly({ db: db.withPlugin(statements), secrets }, place);
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
