import assert from 'node:assert/strict';
import { join } from 'node:path';
import test from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { callApi } from '../../proof/api.ts';
import { makeKeys, openAgent, openControlPlane } from '../support/in-process.ts';
import { sleep } from '@monitor/shared/clock.ts';
import { freePort } from '../../proof/program.ts';
import { scaledClock } from '../support/scaled-clock.ts';
import {
  eventually,
  openTarget,
  queryDatabase,
  slotsUntil,
  temporaryFolder,
  type CheckWire,
  type RunRow,
} from '../support/system.ts';

const factor = 40;
const minute = 60_000;
const location = 'eu-central-1';

test('an agent keeps to a window while the control plane is away, and when it is started again', async (t) => {
  using folder = temporaryFolder();
  await using target = await openTarget();
  const clock = scaledClock(factor);
  const until = (instant: number) => sleep(clock, instant - clock.now());
  const file = join(folder.path, 'control-plane.db');
  const port = await freePort();
  const first = await openControlPlane(folder.path, clock, port);
  const { accountId, apiKey, locationKeys } = await makeKeys(first, [location]);
  const startAgent = () =>
    openAgent(join(folder.path, 'agent'), first.url, locationKeys[0] ?? '', clock);
  const agent = await startAgent();
  await agent.ready;
  const api = { baseUrl: first.url, apiKey };
  const makeCheck = (name: string, tags: string[]) =>
    callApi<CheckWire>(api, 'POST', '/v1/checks/url', {
      name,
      tags,
      frequency: 1,
      locations: [location],
      doubleCheck: false,
      request: { url: `${target.url}/ok/${name}` },
    });
  const paused = await makeCheck('paused', ['shop']);
  const other = await makeCheck('other', []);
  const told = (): string | undefined =>
    first.services.hub.lastAnswer({ accountId, location }, agent.agentId)?.revisions.get(paused.id);
  await eventually(
    () => ['paused', 'other'].every((name) => target.visits.has(`/ok/${name}`)),
    () => 'the agent does not run the checks',
  );
  const withoutPauses = told();
  const from = clock.now() + 2 * minute;
  const to = from + 4 * minute;
  await callApi(api, 'POST', '/v1/maintenance-windows', {
    name: 'deploy',
    startsAt: new Date(from).toISOString(),
    endsAt: new Date(to).toISOString(),
    repeatUnit: null,
    tags: ['shop'],
  });
  await eventually(
    () => told() !== withoutPauses,
    () => 'the agent was not told of the window',
  );
  await until(from - minute / 2);
  assert.ok(clock.now() < from, 'the agent was told in time');
  await first[Symbol.asyncDispose]();
  await until(from + 1.5 * minute);
  await agent[Symbol.asyncDispose]();
  await using _again = await startAgent();
  await until(to + 2 * minute);
  const end = clock.now();
  await using _second = await openControlPlane(folder.path, clock, port);

  const slotsOf = (check: CheckWire, since: number, before: number): number[] =>
    [...slotsUntil([check], before - 1)]
      .map((slot) => Number(slot.split('@')[1]))
      .filter((slot) => slot >= since);
  const runsOf = (check: CheckWire, state: string): number[] =>
    queryDatabase<RunRow>(
      file,
      `select * from check_runs where check_id = '${check.id}' and state = '${state}'
       and scheduled_for between ${from} and ${end - minute / 2} order by scheduled_for`,
    ).map((run) => run.scheduled_for ?? 0);
  const inWindow = slotsOf(paused, from, to);
  const afterwards = slotsOf(paused, to, end - minute / 2);
  const ranBeside = slotsOf(other, from, end - minute / 2);
  // Results of the outage come in one by one, and take the place of what was missed until then.
  await eventually(
    () =>
      isDeepStrictEqual(runsOf(paused, 'MISSED'), inWindow) &&
      isDeepStrictEqual(runsOf(paused, 'FINAL'), afterwards) &&
      // One may have been under way when the agent was stopped.
      runsOf(other, 'FINAL').length >= ranBeside.length - 1,
    () =>
      JSON.stringify({
        inWindow,
        missed: runsOf(paused, 'MISSED'),
        afterwards,
        ran: runsOf(paused, 'FINAL'),
        beside: [runsOf(other, 'FINAL').length, ranBeside.length],
      }),
  );
  t.diagnostic(`${inWindow.length} slots in the window, ${ranBeside.length} beside it`);
  assert.equal(inWindow.length, 4);
  assert.ok(afterwards.length >= 1);
  const reasons = queryDatabase<RunRow>(
    file,
    `select distinct missed_reason from check_runs where check_id = '${paused.id}'
     and state = 'MISSED' and scheduled_for between ${from} and ${end - minute / 2}`,
  );
  assert.deepEqual(
    reasons.map((run) => run.missed_reason),
    ['maintenance'],
  );
});
