// PostgreSQL in the long tier: agent-boundary.test.ts and lock-checks.test.ts run its statements on both.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import test from 'node:test';
import {
  learnedScriptsOf,
  saveLearnedScript,
} from '../../../control-plane/checks/learned-scripts.ts';
import { startTestControlPlane } from '../../support/control-plane.ts';

test('the newest script of a check is kept, for its own account alone, and goes with the check', async () => {
  await using cp = await startTestControlPlane();
  const { db } = cp.controlPlane.services;
  const created = await cp.api('POST', '/v1/checks/agentic', {
    name: 'shop',
    prompt: 'buy a lamp',
  });
  assert.equal(created.status, 201);
  const { id } = created.body as { id: string };
  const script = (text: string) => ({ promptHash: 'h', script: text });
  const location = 'eu-west-1';
  const save = (text: string, at: number, accountId = cp.accountId, checkId = id) =>
    saveLearnedScript(db, { accountId, checkId, location }, script(text), at);
  const kept = async (accountId = cp.accountId, where = location) =>
    (await learnedScriptsOf(db, { accountId, location: where }, [id, randomUUID()])).get(id)
      ?.script;

  assert.equal(await save('second', 2_000), true);
  assert.equal(await save('first, late', 1_000), false);
  assert.equal(await kept(), 'second');
  assert.equal(await save('third', 3_000), true);
  assert.equal(await kept(), 'third');
  assert.equal(await kept(cp.accountId, 'us-east-1'), undefined, 'another location plays nothing');

  const stranger = randomUUID();
  assert.equal(await save('foreign', 4_000, stranger), false);
  assert.equal(await kept(stranger), undefined);
  assert.equal(await save('no such check', 4_000, cp.accountId, randomUUID()), false);
  assert.deepEqual(
    await learnedScriptsOf(db, { accountId: cp.accountId, location }, []),
    new Map(),
  );

  assert.equal((await cp.api('DELETE', `/v1/checks/${id}`)).status, 204);
  assert.equal(await kept(), undefined);
});
