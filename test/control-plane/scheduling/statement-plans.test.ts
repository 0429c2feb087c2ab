// SQLite only: the plans of PostgreSQL follow its statistics.
import assert from 'node:assert/strict';
import test from 'node:test';
import {
  sql,
  type KyselyPlugin,
  type PluginTransformQueryArgs,
  type RootOperationNode,
} from 'kysely';
import { runFirst } from '../../../control-plane/scheduling/schedule-check.ts';
import { SharedAssembly } from '../../../control-plane/scheduling/shared-assembly.ts';
import { startTestControlPlane } from '../../support/control-plane.ts';

const location = 'eu-west-1';

class Recorder implements KyselyPlugin {
  readonly nodes: RootOperationNode[] = [];

  transformQuery({ node }: PluginTransformQueryArgs) {
    this.nodes.push(node);
    return node;
  }

  transformResult({ result }: Parameters<KyselyPlugin['transformResult']>[0]) {
    return Promise.resolve(result);
  }
}

test('a check-in looks checks up by their ids, and reads no other check of the account', async () => {
  await using cp = await startTestControlPlane();
  const { status, body } = await cp.api('POST', '/v1/checks/url', {
    ...{ name: 'shop', locations: [location], request: { url: 'https://a.example' } },
  });
  assert.equal(status, 201);
  const { id } = body as { id: string };
  const { services } = cp.controlPlane;
  const recorder = new Recorder();
  const db = services.db.withPlugin(recorder);
  const place = { accountId: cp.accountId, location };
  await new SharedAssembly({ ...services, db }, place).assemble([id], null);
  await runFirst({ ...services, db }, place, [id]);
  const plans: string[] = [];
  for (const node of recorder.nodes) {
    const { sql: text, parameters } = services.db
      .getExecutor()
      .compileQuery(node, { queryId: 'plan' });
    const explained = await sql<{ detail: string }>`explain query plan ${sql.raw(
      text.replaceAll('?', `'[]'`),
    )}`.execute(services.db);
    assert.ok(parameters.length > 0);
    plans.push(...explained.rows.map(({ detail }) => detail));
  }
  const ofChecks = plans.filter((plan) => /^(SEARCH|SCAN) checks\b/.test(plan));
  assert.ok(ofChecks.length >= 2, plans.join('\n'));
  for (const plan of ofChecks) assert.match(plan, /\(id=\?\)/);
});
