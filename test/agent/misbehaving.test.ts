// Own process: it waits for time-outs.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { systemClock } from '@monitor/shared/clock.ts';
import { protocolVersion, type AssignedCheck } from '@monitor/shared/contract/agent-protocol.ts';
import { createKeyFile } from '@monitor/shared/encryption/encryption.ts';
import { readRecipients } from '../../agent/encryption/recipients.ts';
import { FakeControlPlane, refusalBy } from '../support/fake-control-plane.ts';
import { openAgent } from '../support/in-process.ts';
import { definitionOf } from '../support/runner-context.ts';
import { scaledClock } from '../support/scaled-clock.ts';
import { httpServer } from '../support/servers.ts';
import { temporaryFolder } from '../support/system.ts';
import { assignedCheck } from '../support/plain.ts';

const everyMs = 30_000;

/** A check whose latest slot is due as soon as it is assigned. */
function check(url: string, fields: Partial<AssignedCheck> = {}): AssignedCheck {
  return assignedCheck({
    ...{ frequency: 0, frequencyOffset: everyMs / 1000, locations: ['test-place'] },
    definition: definitionOf('URL', { url }),
    ...fields,
  });
}

async function setUp() {
  const folder = temporaryFolder();
  const target = await httpServer((_request, response) => response.end('ok'));
  const fake = await FakeControlPlane.start();
  const agent = await openAgent(folder.path, fake.url, fake.key, systemClock);
  await agent.ready;
  return {
    ...{ target, fake, agent },
    async [Symbol.asyncDispose]() {
      await agent[Symbol.asyncDispose]();
      await fake[Symbol.asyncDispose]();
      await target[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}

test('an agent whose protocol is not spoken goes on and keeps all it has until it is', async () => {
  using folder = temporaryFolder();
  const clock = scaledClock(60);
  const firstVisits = new Map<string, number>();
  await using target = await httpServer(({ url = '' }, response) => {
    const id = url.slice(1);
    if (!firstVisits.has(id)) firstVisits.set(id, clock.now());
    response.end('ok');
  });
  await using fake = await FakeControlPlane.start({ clock });
  await using agent = await openAgent(folder.path, fake.url, fake.key, clock);
  await agent.ready;
  const how = refusalBy({ oldest: protocolVersion + 1, newest: protocolVersion + 1 });
  const since = clock.now();
  fake.misbehave('submitResults', how);
  for (let index = 0; index < 20; index += 1) {
    const id = randomUUID();
    fake.assign(check(`${target.url}/${id}`, { id }));
  }
  await fake.until('there are results', () => fake.misbehaved.has('submitResults'));
  fake.misbehave('checkIn', how);
  const health = async (): Promise<object> => {
    const answer = await fetch(`http://127.0.0.1:${agent.healthPort}/health`);
    assert.equal(answer.status, 200);
    // The machine of the test may be busy.
    const {
      overloadedSince: _since,
      overloaded: _reason,
      ...link
    } = (await answer.json()) as Record<string, unknown>;
    return link;
  };
  await fake.until(
    'it was refused everything for a while',
    () =>
      firstVisits.size === 20 &&
      (fake.misbehaved.get('submitResults') ?? 0) >= 3 &&
      (fake.misbehaved.get('checkIn') ?? 0) >= 2,
  );
  const minutes = (clock.now() - since) / 60_000;
  const asked = fake.misbehaved.get('checkIn') ?? 0;
  assert.ok(asked <= minutes + 1, `${asked} check-ins in ${minutes} minutes`);
  assert.deepEqual(await health(), {
    ...{ status: 'ok', controlPlane: 'refused', code: 'PROTOCOL_REFUSED' },
    reason: `this control plane speaks protocol ${protocolVersion + 1} of agents and the agent protocol ${protocolVersion}: the agent is the older one, upgrade it`,
  });
  assert.equal(fake.results.size, 0);
  const until = clock.now();
  fake.misbehave('checkIn', null);
  fake.misbehave('submitResults', null);
  // A busy agent makes an attempt again, so a visit more says nothing. It says something of each slot.
  const isKept = (): boolean =>
    [...fake.checks.keys()].every((id) => {
      const slots = [...fake.results.values()]
        .flatMap((one) => (one.kind !== 'certificate' && one.checkId === id ? one : []))
        .map(({ scheduledFor }) => scheduledFor ?? assert.fail('it has no slot'))
        .sort((a, b) => a - b);
      const [first = Infinity] = slots;
      return (
        first <= (firstVisits.get(id) ?? 0) &&
        (slots.at(-1) ?? 0) >= until &&
        slots.every((slot, index) => slot === first + index * everyMs)
      );
    });
  await fake.until('each slot of each check', isKept);
  assert.deepEqual([...firstVisits.keys()].sort(), [...fake.checks.keys()].sort());
  assert.deepEqual(
    fake.outcomes.filter(({ outcome }) => outcome !== 'accepted'),
    [],
  );
  const isUp = { status: 'ok', controlPlane: 'up' };
  while (!isDeepStrictEqual(await health(), isUp)) await setTimeout(20);
});

test('an agent that was asked for readable results and lost its memory goes on to encrypt as before', async () => {
  using folder = temporaryFolder();
  await using fake = await FakeControlPlane.start();
  const { publicKey, id } = await createKeyFile(null);
  for (const [resultKeys, expected] of [
    [[publicKey], [id]],
    // With the file, and without it twice: what the control plane says last is no excuse.
    ...Array.from({ length: 3 }, () => [[], [id]]),
  ] as string[][][]) {
    fake.resultKeys = resultKeys ?? [];
    await using agent = await openAgent(folder.path, fake.url, fake.key, systemClock);
    const before = fake.requestsOf('checkIn').length;
    await fake.until('it has heard', () => fake.requestsOf('checkIn').length >= before + 2);
    await agent.drain();
    assert.deepEqual(readRecipients(folder.path)?.recipients, expected);
    if (resultKeys?.length === 0) rmSync(join(folder.path, 'recipients.json'));
  }
});

test('a check of a type from the future is answered with an error result', async () => {
  await using world = await setUp();
  const { fake, target } = world;
  fake.assign(
    check(target.url, { type: 'TELEPATHY' }),
    check(target.url, { definition: { request: 7 } }),
  );
  await fake.until('both answers', () => fake.results.size >= 2);
  for (const result of fake.results.values()) {
    assert.ok(result.kind === 'result');
    assert.deepEqual([result.hasErrors, result.hasFailures], [true, false]);
  }
});

test('a job that is cancelled ends at once and is recorded as cancelled', async () => {
  await using world = await setUp();
  const { fake } = world;
  const { promise: visited, resolve: visit } = Promise.withResolvers<void>();
  const { promise: left, resolve: leave } = Promise.withResolvers<void>();
  await using silentTarget = await httpServer((_request, response) => {
    visit();
    response.once('close', leave);
  });
  const runId = randomUUID();
  const now = Date.now();
  fake.hand({
    ...{ id: randomUUID(), runId, check: check(silentTarget.url), source: 'SCHEDULE_NOW' },
    ...{ scheduledFor: null, slotLocation: 'test-place', attempt: 1, sequenceStartedAt: null },
    ...{ notBefore: now, leaseUntil: now + 60_000, environmentUrl: null },
  });
  await visited;
  fake.cancel(runId);
  await left;
  assert.equal(await world.agent.drain(), 0);
  const [result] = fake.results.values();
  assert.ok(result?.kind === 'result');
  assert.deepEqual(
    [result.isCancelled, result.hasFailures, result.errorMessages],
    [true, false, []],
  );
});
