import assert from 'node:assert/strict';
import { join } from 'node:path';
import test from 'node:test';
import { callApi } from '../../proof/api.ts';
import { assertEverySlotOnce, assertNothingDoubled } from '../support/accounting.ts';
import { drawFault } from '../../proof/cases/cut.ts';
import { FaultProxy, type FaultKind } from '../../proof/fault-proxy.ts';
import { makeKeys, openAgent, openControlPlane } from '../support/in-process.ts';
import { isLong, seededRandom, testSeed } from '../support/random.ts';
import { scaledClock } from '../support/scaled-clock.ts';
import {
  eventually,
  openTarget,
  queryDatabase,
  temporaryFolder,
  type CheckWire,
} from '../support/system.ts';

/** Hours of bad link in minutes: all waits of agent and control plane run so much faster. */
const factor = 20;
const location = 'eu-central-1';
const rounds = isLong ? 60 : 24;

function countResults(file: string): number {
  return queryDatabase<{ n: number }>(file, 'select count(*) as n from check_results')[0]?.n ?? 0;
}

async function countDuplicates(healthPort: number): Promise<number> {
  const metrics = await (await fetch(`http://127.0.0.1:${healthPort}/metrics`)).text();
  return Number(/submissions_total\{outcome="duplicate"\} (\d+)/.exec(metrics)?.[1] ?? 0);
}

const moment = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

test(`${rounds} rounds of link faults lose and double no result`, async (t) => {
  const seed = testSeed();
  t.diagnostic(`TEST_SEED=${seed}`);
  const random = seededRandom(seed);
  using folder = temporaryFolder();
  await using target = await openTarget();
  const clock = scaledClock(factor);
  const file = join(folder.path, 'control-plane.db');
  await using controlPlane = await openControlPlane(folder.path, clock);
  const { apiKey, locationKeys } = await makeKeys(controlPlane, [location]);
  await using link = await FaultProxy.start(Number(new URL(controlPlane.url).port), random);
  await using agent = await openAgent(
    join(folder.path, 'agent'),
    link.url,
    locationKeys[0] ?? '',
    clock,
  );
  await agent.ready;
  const checks: CheckWire[] = [];
  for (let index = 0; index < 24; index += 1) {
    const isFailing = index % 4 === 0;
    checks.push(
      await callApi<CheckWire>({ baseUrl: controlPlane.url, apiKey }, 'POST', '/v1/checks/url', {
        name: `check ${index}`,
        frequency: 1,
        locations: [location],
        doubleCheck: false,
        request: { url: `${target.url}/${isFailing ? 'fail' : 'ok'}/${index}` },
        ...(isFailing
          ? { retryStrategy: { type: 'FIXED', baseBackoffSeconds: 2, maxRetries: 1 } }
          : {}),
      }),
    );
  }
  await moment(1_500);
  const suffered = new Map<FaultKind, number>();
  for (let round = 0; round < rounds; round += 1) {
    const fault = drawFault(random);
    suffered.set(fault.kind, (suffered.get(fault.kind) ?? 0) + 1);
    await link.fail(fault);
    // Up to a quarter of a minute on the clock of the agent, or once in a while a whole one.
    await moment(random() < 0.04 ? 2_000 : 20 + random() * 250);
    await link.heal();
    await moment(20 + random() * 150);
    if (round % 50 === 49) assertNothingDoubled(file);
  }
  // Faults at random may all miss the moment between a commit and its acknowledgement: once for certain. A
  // commit that was counted may have been acknowledged just before the fault: then once more.
  let again = await countDuplicates(agent.healthPort);
  for (let attempt = 0; attempt < 5 && again === 0; attempt += 1) {
    const stored = countResults(file);
    await link.fail({ kind: 'limit', bytes: 0, towards: 'client' });
    await eventually(
      () => countResults(file) > stored,
      60_000,
      () => 'nothing was committed while answers were lost',
    );
    await link.heal();
    const handedInAgain = async () => (again = await countDuplicates(agent.healthPort)) > 0;
    await eventually(handedInAgain, 20_000, () => '').catch(() => undefined);
  }
  assert.ok(again > 0, 'what was committed unheard was not handed in again');
  // The clock runs fast: a machine that is busy for a second misses slots here, and says so.
  const excuse = 'agent-overloaded';
  const slots = await assertEverySlotOnce(file, checks, clock.now(), 90_000, excuse);
  const overdue = queryDatabase(file, "select id from check_runs where state = 'MISSED'").length;
  t.diagnostic(
    `${slots} slots, each with exactly one FINAL but for ${overdue} that this machine was too slow for; ${countResults(file)} results, ${again} of them handed in twice, ${link.connections} connections, ` +
      [...suffered].map(([kind, count]) => `${kind} ${count}`).join(', '),
  );
  assert.ok(overdue <= slots / 10, 'the agent was at work all the time');
});
