// Few share a process: it starts programs.
// PostgreSQL in the long tier: agent-boundary.test.ts and ingest-results.test.ts run its statements on both.
/**
 * The agent protocol under 20,000 submissions of a hostile key, most of them damaged, beside check-ins,
 * leases, files and reports. TEST_SEED plays another sequence.
 */
import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import test from 'node:test';
import {
  protocolVersion,
  type ItemOutcome,
  type ResultSubmission,
} from '@monitor/shared/contract/agent-protocol.ts';
import { createApiKey } from '../../control-plane/accounts/keys/store.ts';
import { startTestControlPlane } from '../support/control-plane.ts';
import { checkInOf } from '../support/fake-agent.ts';
import { damaged, hostileValue, pick } from '../support/hostile-values.ts';
import { KeyedAgent, type SlotCheck } from '../support/keyed-agent.ts';
import { seededRandom } from '../support/random.ts';
import { dumpTables } from '../support/tables.ts';
import { TestClock } from '../support/test-clock.ts';
import { buildWorld, createAccount } from '../support/world.ts';
import { scheduleOf, slotAtOrAfter } from '@monitor/shared/domain/frequency.ts';

const seed = Number(process.env['TEST_SEED'] ?? 13);
const submissions = 20_000;
const start = Date.parse('2026-11-21T08:00:00Z');
const dayMs = 86_400_000;
const location = 'eu-west-1';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

function usedMegabytes(): number {
  collect();
  return process.memoryUsage().heapUsed / 1_048_576;
}

const details = {
  assertions: [],
  request: { method: 'GET', url: 'https://a.example/', headers: { accept: '*/*' } },
  response: { status: 200, headers: { server: 'x' }, timings: { total: 12 } },
  requestError: null,
  jobLog: { setup: [], request: [{ time: start, msg: 'asked', level: 'INFO' }], teardown: [] },
  jobAssets: null,
  pcapDataUrl: null,
  networkDiagnostics: null,
};

test('whatever agents send: no 5xx, nothing of other accounts changes, and all that is valid is stored', async (t) => {
  t.diagnostic(`seed ${seed}`);
  const random = seededRandom(seed);
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock, requestsPerMinute: 0 });
  const { services } = cp.controlPlane;
  const other = await createAccount(services, 'other');
  const otherKey = (await createApiKey(services, other, { name: 'other' })).rawKey;
  const target = { url: cp.url, key: otherKey };
  const world = await buildWorld(services, target, other, 'other');
  const neighbour = await KeyedAgent.open(cp, location, other);

  const checks: SlotCheck[] = [];
  for (let index = 0; index < 4; index += 1) {
    const { body } = await cp.api('POST', '/v1/checks/url', {
      ...{ name: `c${index}`, locations: [location], frequency: 0, frequencyOffset: 10 },
      request: { url: 'https://a.example' },
    });
    checks.push(body as SlotCheck);
  }
  await services.db
    .updateTable('schedule_periods')
    .set((set) => ({ starts_at: set('starts_at', '-', dayMs) }))
    .where('account_id', '=', cp.accountId)
    .execute();
  const agent = await KeyedAgent.open(cp, location);

  let taken = 0;
  /** A result of a slot that no other submission is about. */
  const fresh = (): ResultSubmission => {
    const { id: checkId, frequency, frequencyOffset } = checks[taken % checks.length] as SlotCheck;
    const first = slotAtOrAfter(
      scheduleOf({ checkId, frequency, frequencyOffset }),
      start - dayMs + 1,
    );
    const slot = first + Math.floor(taken / checks.length) * 10_000;
    taken += 1;
    const isFailure = random() < 0.1;
    return agent.result(checkId, slot, {
      apiCheckResult: details,
      hasFailures: isFailure,
      errorMessages: isFailure ? ['no answer'] : [],
      artifacts: [
        ...(random() < 0.2
          ? [
              {
                name: 'a.log',
                type: 'log' as const,
                contentType: 'text/plain',
                size: 5,
                withheld: null,
              },
            ]
          : []),
      ],
    });
  };
  const foreign = (): unknown => ({
    ...neighbour.result(String(pick(random, world.ids.check)), start - dayMs),
    ...(random() < 0.5 ? { runId: fresh().runId } : {}),
  });
  const bad = (): unknown => {
    const how = random();
    if (how < 0.1) return hostileValue(random);
    if (how < 0.2) return foreign();
    if (how < 0.3) {
      const { id, runId, checkId, slotLocation, scheduledFor } = fresh();
      const reason = 'agent-overloaded';
      return damaged(random, {
        kind: 'missed',
        id,
        runId,
        checkId,
        slotLocation,
        scheduledFor,
        reason,
      });
    }
    if (how < 0.4) {
      return damaged(random, {
        ...{ kind: 'certificate', id: randomUUID(), checkId: checks[0]?.id, host: 'a.example' },
        ...{ port: 443, measuredAt: start, validFrom: start, validTo: start, issuer: 'x' },
        ...{ subject: 'x', fingerprint256: 'x', problem: null },
      });
    }
    return damaged(random, fresh());
  };

  const statuses = new Map<number, number>();
  const note = ({ status }: { status: number }): void => {
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    assert.ok(status < 500, `answered ${status}`);
  };
  const between = async (valid: readonly ResultSubmission[]): Promise<void> => {
    const jobIds = [randomUUID(), ...world.ids.session.map(String)];
    const request = checkInOf({ agentId: agent.id, protocol: protocolVersion }, ['URL']);
    note(await agent.call('check-in', damaged(random, { ...request, waitMs: 0 })));
    for (const path of ['leases/renew', 'release', 'goodbye', 'results']) {
      const body = { agentId: random() < 0.5 ? neighbour.id : agent.id, jobIds, items: [null] };
      note(await agent.call(path, random() < 0.5 ? damaged(random, body) : body));
    }
    const report = { agentId: agent.id, version: '1', events: [{ code: 'A', count: 1 }] };
    note(await agent.call('reports', damaged(random, report)));
    const one = pick(random, valid);
    const content = pick(random, ['12345', '1234', 'x'.repeat(100_000)]);
    const digest = createHash('sha256').update(content).digest('base64');
    const name = pick(random, ['a.log', '..%2Fa', 'b', '%00', 'a%2Fb%2Fc']);
    note(
      await agent.call(`artifacts/${one.id}/${name}`, content, 'PUT', {
        ...{ 'content-type': 'text/plain', digest: `sha-256=${digest}` },
      }),
    );
    note(
      await agent.call(`code-bundles/${String(pick(random, world.ids.check))}`, undefined, 'GET'),
    );
  };

  const before = await dumpTables(services.db, { accountId: other });
  const valid: ResultSubmission[] = [];
  const refusals = new Map<string, number>();
  let sent = 0;
  let memoryAfterFirst = 0;
  for (let batch = 0; sent < submissions; batch += 1) {
    const size = Math.min(1 + Math.floor(random() ** 2 * 500), submissions - sent);
    const isValid = Array.from({ length: size }, () => random() < 0.25);
    const items = isValid.map((one) => (one ? fresh() : bad()));
    const outcomes = await agent.handIn(...items);
    assert.equal(outcomes.length, size);
    for (const [index, { outcome, reason = '' }] of outcomes.entries()) {
      if (isValid[index] === true) {
        assert.equal(outcome, 'accepted', reason);
        valid.push(items[index] as ResultSubmission);
      } else if (outcome === 'refused') {
        const [field = ''] = reason.split(':');
        refusals.set(field, (refusals.get(field) ?? 0) + 1);
      }
    }
    sent += size;
    if (valid.length > 0) await between(valid);
    if (batch === 10) memoryAfterFirst = usedMegabytes();
  }

  const stored = new Set(
    (
      await services.db
        .selectFrom('check_results')
        .select('id')
        .where('account_id', '=', cp.accountId)
        .execute()
    ).map(({ id }) => id),
  );
  assert.deepEqual(
    valid.filter(({ id }) => !stored.has(id)),
    [],
  );
  assert.deepEqual(await dumpTables(services.db, { accountId: other }), before);
  const grownBy = usedMegabytes() - memoryAfterFirst;
  assert.ok(grownBy < 100, `${grownBy.toFixed(0)} MB more than after the first batches`);
  assert.equal(({} as { polluted?: boolean }).polluted, undefined);
  const [again] = (await agent.handIn(fresh())) as [ItemOutcome];
  assert.equal(again.outcome, 'accepted');
  // A generator that is refused for one reason alone would find nothing.
  for (const field of ['runId', 'scheduledFor', 'checkId', 'checkType', 'attempt', 'startedAt']) {
    assert.ok((refusals.get(field) ?? 0) > 0, `nothing was refused for its ${field}`);
  }
  t.diagnostic(
    `${sent} submissions, ${valid.length} valid ones; answers ${JSON.stringify([...statuses])}; heap ${grownBy.toFixed(0)} MB more`,
  );
});
