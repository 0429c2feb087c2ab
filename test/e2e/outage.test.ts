import assert from 'node:assert/strict';
import { join } from 'node:path';
import test from 'node:test';
import { sleep } from '@monitor/shared/clock.ts';
import { assertEverySlotOnce } from '../support/accounting.ts';
import { callApi } from '../../proof/api.ts';
import { makeKeys, openAgent, openControlPlane } from '../support/in-process.ts';
import { isLong } from '../support/random.ts';
import { freePort } from '../../proof/program.ts';
import { scaledClock } from '../support/scaled-clock.ts';
import { openTarget, queryDatabase, temporaryFolder, type CheckWire } from '../support/system.ts';

const factor = 60;
/** Longer than a slot waits until it is recorded as missed. */
const outageMinutes = isLong ? 60 : 10;
const location = 'eu-central-1';

test(`after ${outageMinutes} minutes without the control plane every slot is there, with its original time`, async (t) => {
  using folder = temporaryFolder();
  await using target = await openTarget();
  const clock = scaledClock(factor);
  const file = join(folder.path, 'control-plane.db');
  const port = await freePort();
  const first = await openControlPlane(folder.path, clock, port);
  const { apiKey, locationKeys } = await makeKeys(first, [location]);
  await using agent = await openAgent(
    join(folder.path, 'agent'),
    first.url,
    locationKeys[0] ?? '',
    clock,
  );
  await agent.ready;
  const checks: CheckWire[] = [];
  for (const [index, frequency] of [1, 1, 1, 2, 2, 5, 10].entries()) {
    checks.push(
      await callApi<CheckWire>({ baseUrl: first.url, apiKey }, 'POST', '/v1/checks/url', {
        name: `check ${index}`,
        frequency,
        locations: [location],
        doubleCheck: false,
        request: { url: `${target.url}/ok/${index}` },
      }),
    );
  }
  await sleep(clock, 2 * 60_000);
  await first[Symbol.asyncDispose]();

  const outageFrom = clock.now();
  await sleep(clock, outageMinutes * 60_000);
  const outageTo = clock.now();
  await using second = await openControlPlane(folder.path, clock, port);

  t.diagnostic(`away from ${outageFrom} to ${outageTo}`);
  const slots = await assertEverySlotOnce(file, checks, outageTo);
  const during = queryDatabase<{ started_at: number; scheduled_for: number }>(
    file,
    `select started_at, scheduled_for from check_results
     where result_type = 'FINAL' and scheduled_for between ${outageFrom} and ${outageTo}`,
  );
  t.diagnostic(`${slots} slots, ${during.length} of them during the outage`);
  // The checks have 4.3 slots a minute.
  assert.ok(during.length >= 3.3 * outageMinutes, `${during.length} results from the outage`);
  for (const { started_at: startedAt, scheduled_for: slot } of during) {
    const lateMs = startedAt - slot;
    assert.ok(lateMs >= 0 && lateMs <= 35_000, `a result is ${lateMs} ms away from its slot`);
  }
  assert.ok(second.url.endsWith(String(port)));
});
