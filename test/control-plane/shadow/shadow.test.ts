import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import type { ShadowDifference, ShadowState } from '@monitor/shared/contract/shadow.ts';
import { setImmediate } from 'node:timers/promises';
import { pino } from 'pino';
import { addressRule } from '../../../control-plane/notifications/allowed-addresses.ts';
import { openOutgoing } from '../../../control-plane/notifications/outgoing.ts';
import {
  type Mail,
  type Send,
  type ReportFacts,
} from '../../../control-plane/notifications/index.ts';
import { compareChecks, reportVerdicts } from '../../../control-plane/shadow/index.ts';
import {
  passTime,
  startTestControlPlane,
  type TestControlPlane,
} from '../../support/control-plane.ts';
import { httpReceiver, type ReceiverAnswer } from '../../support/http-receiver.ts';
import { makeChannel } from '../../support/notifications.ts';
import { isLeftOutOnPostgres } from '../../support/postgres.ts';
import { deployed, projectOf, resource } from '../../support/projects.ts';
import { resultRow, runRow } from '../../support/result-rows.ts';
import { Operator } from '../../support/control-plane-command.ts';
import { eventually, temporaryFolder } from '../../support/system.ts';
import { TestClock } from '../../support/test-clock.ts';
import { createAccount } from '../../support/world.ts';

const minute = 60_000;
const start = Date.parse('2026-06-01T00:00:00Z');
const key = 'cu_shadow-0123456789';
/** Their clock is ahead. */
const offsetMs = 47_000;
const checks = 4;
const hours = 12;

type Spans = [number, number][];

interface World {
  cp: TestControlPlane;
  /** That of both sides. The timers of the control plane have another one, which stands still. */
  clock: TestClock;
  send: Send;
  url: string;
  /** By the id of the check there: when it fails there, in minutes. */
  down: Map<string, { there: Spans; here: Spans; errors?: Spans }>;
  answers: ReceiverAnswer[];
  /** What goes before the answer to a path. */
  always: (path: string) => ReceiverAnswer | undefined;
  responseTime: (id: string) => number;
  /** Minutes between results there. */
  gap: (id: string) => number;
  /** Minutes of results there before the start. */
  past: number;
  requests: number;
  authorizations: Set<string | undefined>;
}

const isWithin = (spans: Spans, at: number) => spans.some(([from, to]) => at >= from && at < to);

/** Two installations: theirs runs each 10 minutes at another second than ours, which runs each 5. */
async function twoSides(stack: AsyncDisposableStack): Promise<World> {
  const clock = new TestClock(start);
  const down: World['down'] = new Map();
  const answers: ReceiverAnswer[] = [];
  const authorizations = new Set<string | undefined>();
  const world = {
    ...{ clock, down, answers, authorizations, responseTime: () => 123.4, gap: () => 10 },
    ...{ past: 0, requests: 0 },
    always: () => undefined,
  } as Omit<World, 'cp' | 'url' | 'send'>;
  const other = stack.use(
    await httpReceiver(({ path, query, headers }) => {
      const given = answers.shift() ?? world.always(path);
      if (given !== undefined) return given;
      authorizations.add(headers.authorization);
      world.requests += 1;
      const id = path.slice('/v2/check-results/'.length);
      const date = new Date(clock.now() + offsetMs).toUTCString();
      const answer = (body: unknown, status = 200): ReceiverAnswer => ({
        ...{ status, headers: { 'content-type': 'application/json', date } },
        body: JSON.stringify(body),
      });
      const spans = down.get(id);
      if (spans === undefined) return answer({ statusCode: 404, message: 'Not Found' }, 404);
      const [from, to] = [Number(query.get('from')) * 1000, Number(query.get('to')) * 1000];
      const all: object[] = [];
      const [gapMs, first] = [world.gap(id) * minute, start + (3 - world.past) * minute + offsetMs];
      const before = Math.max(0, Math.ceil((from - first) / gapMs));
      const until = Math.min(to, clock.now() + offsetMs);
      for (let startedAt = first + before * gapMs; startedAt < until; startedAt += gapMs) {
        const at = (startedAt - offsetMs - start) / minute;
        const hasFailures = isWithin(spans.there, at);
        all.push({
          ...{ id: `${id}/${at}`, hasFailures, runLocation: 'eu-west-1' },
          hasErrors: isWithin(spans.errors ?? [], at),
          ...{ startedAt: new Date(startedAt).toISOString(), responseTime: world.responseTime(id) },
          apiCheckResult: { requestError: hasFailures ? 'they got no answer' : null },
        });
      }
      all.reverse();
      const skipped = Number(query.get('nextId') ?? 0);
      const entries = all.slice(skipped, skipped + 5);
      const nextId = skipped + 5 < all.length ? String(skipped + 5) : null;
      return answer({ length: entries.length, entries, nextId });
    }),
  );
  const cp = stack.use(
    await startTestControlPlane({ clock: new TestClock(start), requestsPerMinute: 0 }),
  );
  const rule = addressRule('127.0.0.0/8');
  const outgoing = openOutgoing({ customer: rule, visitor: rule, timeoutMs: 30_000 });
  const { customer: send } = stack.use(outgoing);
  return Object.assign(world, { cp, send, url: other.url });
}

/** Checks as an import makes them, and results of ours until the end. */
async function imported(
  { cp, down }: Pick<World, 'cp' | 'down'>,
  ids: readonly string[],
): Promise<Map<string, string>> {
  const resources = ids.map((id, index) =>
    resource('check', `check-${id}`, {
      ...{ checkType: 'URL', name: `Shop ${index}`, frequency: 5, activated: false },
      request: { url: 'https://shop.example/' },
    }),
  );
  resources.push(
    resource('check', `check-${randomUUID()}`, {
      ...{ checkType: 'HEARTBEAT', name: 'Nightly' },
      heartbeat: { period: 1, periodUnit: 'days', grace: 1, graceUnit: 'hours' },
    }),
  );
  const project = { logicalId: 'import-checkly', name: 'Import' };
  const diff = await deployed(cp, projectOf(resources, { project }));
  const { db } = cp.controlPlane.services;
  const made = new Map(
    diff.map(({ logicalId, physicalId }) => [logicalId.slice(6), String(physicalId)]),
  );
  for (const id of ids) {
    const owner = { accountId: cp.accountId, checkId: made.get(id) ?? '' };
    const here = down.get(id)?.here ?? [];
    const run = await db
      .insertInto('check_runs')
      .values(runRow(owner, start))
      .returning('id')
      .executeTakeFirstOrThrow();
    const rows = [];
    for (let at = 0; at < hours * 60; at += 5) {
      rows.push(
        resultRow(owner, run.id, start + at * minute, { has_failures: isWithin(here, at) ? 1 : 0 }),
      );
    }
    await db.insertInto('check_results').values(rows).execute();
  }
  return made;
}

const stateOf = async (cp: TestControlPlane): Promise<ShadowState> =>
  (await cp.api('GET', '/v1/shadow')).body;

const body = (url: string, more: object = {}) => ({ baseUrl: url, apiKey: key, ...more });

/** One turn. Its time passes in its pauses alone. */
async function turn({ cp, clock, send }: World): Promise<void> {
  const services = { ...cp.controlPlane.services, clock };
  let isOver = false;
  const stopping = new AbortController().signal;
  const made = compareChecks(services, send, stopping, 1_000 * hours * 60 * minute).finally(() => {
    isOver = true;
  });
  while (!isOver) {
    await setImmediate();
    if (clock.pending > 0) clock.advance(1_000);
  }
  await made;
}

const mostTurns = 1_000;

/** A turn each minute, until it is so. */
async function turnsUntil(world: World, isSo: (state: ShadowState) => boolean | Promise<boolean>) {
  let state = await stateOf(world.cp);
  for (let turns = 0; !(await isSo(state)); turns += 1) {
    assert.ok(turns < mostTurns, JSON.stringify(state));
    world.clock.advance(minute);
    await turn(world);
    state = await stateOf(world.cp);
  }
  return state;
}

const untilCompared = (world: World, until: number): Promise<ShadowState> =>
  turnsUntil(
    world,
    ({ problem, readUntil }) => problem !== null || Date.parse(readUntil ?? '') >= until,
  );

test('20 of 20 seeded differences are listed with the evidence of both, and agreement is not', async () => {
  await using stack = new AsyncDisposableStack();
  const world = await twoSides(stack);
  const { cp, clock, down, url } = world;
  const ids = Array.from({ length: checks }, () => randomUUID());
  const seeded: { id: string; side: string; at: number }[] = [];
  for (const [index, id] of ids.entries()) {
    // An error of their agent is no verdict.
    const spans = { there: [] as Spans, here: [] as Spans, errors: [[80, 90]] as Spans };
    // An outage that both see.
    for (const side of [spans.there, spans.here]) side.push([40, 75]);
    for (let number = 0; number < 5; number += 1) {
      const isTheirs = (index + number) % 2 === 0;
      const at = 120 + number * 90 + index;
      (isTheirs ? spans.there : spans.here).push([at, at + 25]);
      seeded.push({ id, side: isTheirs ? 'THEIRS' : 'OURS', at });
    }
    down.set(id, spans);
  }
  const made = await imported(world, ids);
  const folder = stack.use(temporaryFolder());
  const operator = new Operator(folder.path, { CONTROL_PLANE_API_KEY: cp.apiKey });
  const keyFile = join(folder.path, 'key');
  writeFileSync(keyFile, key, { mode: 0o600 });
  const source = ['--api-key-file', keyFile, '--base-url', `${url}/`];
  const started = await operator.spawn('shadow', 'start', ...source, '--url', cp.url);
  assert.equal(started.code, 0, started.error);
  assert.equal((started.out + started.error).includes(key), false);
  clock.advance(hours * 60 * minute);
  const state = await untilCompared(world, start + (hours - 2) * 60 * minute);
  assert.deepEqual([state.problem, state.checks, state.differences], [null, checks, 20]);
  assert.deepEqual(
    state.notCompared.map(({ name, why }) => `${name}: ${why}`),
    ['Nightly: its job pings one side alone'],
  );
  assert.deepEqual([...world.authorizations], [`Bearer ${key}`]);
  const listed: ShadowDifference[] = (await cp.api('GET', '/v1/shadow/differences?limit=100')).body;
  const found = listed.map(({ checkId, failedAt, firstAt }) => ({
    ...{ checkId, side: failedAt, minute: (Date.parse(firstAt) - start) / minute },
  }));
  for (const { id, side, at } of seeded) {
    const same = found.filter(
      (each) =>
        each.checkId === made.get(id) &&
        each.side === side &&
        // The first run of that side in it; their clock is known to half a second.
        each.minute > at - 0.1 &&
        each.minute < at + 10,
    );
    assert.equal(same.length, 1, `${id} ${side} ${at}: ${JSON.stringify(found)}`);
  }
  for (const { failedAt, saw, othersSaw, results } of listed) {
    assert.equal(saw.status, 'failing');
    assert.deepEqual(
      othersSaw.map((one) => one.status),
      ['passing', 'passing'],
    );
    const [before, after] = othersSaw.map((one) => Date.parse(one.at));
    assert.ok(Number(before) <= Date.parse(saw.at) && Number(after) > Date.parse(saw.at));
    assert.equal(saw.error, failedAt === 'THEIRS' ? 'they got no answer' : null);
    assert.equal(saw.location, 'eu-west-1');
    assert.ok(results >= 2, String(results));
  }
  // By check and by time.
  const [first = ''] = ids;
  const ofOne = await cp.api('GET', `/v1/shadow/differences?checkId=${made.get(first)}`);
  assert.equal(ofOne.body.length, 5);
  const early = Math.floor((start + 118 * minute) / 1000);
  const before = await cp.api('GET', `/v1/shadow/differences?to=${early}`);
  assert.deepEqual(before.body, []);
  const show = ['shadow', 'show', '--days', '999', '--url', cp.url];
  const shown = await operator.run(...show, '--check');
  assert.equal(shown.code, 1);
  assert.match(shown.out, /only they saw it failing: .* 3 results/);
  assert.match(
    shown.out,
    /they {2}2026-06-01T.* eu-west-1 {2}failing in 123 ms: they got no answer/,
  );
  assert.match(shown.out, /stop it with `control-plane shadow stop`/);
  // The command has the time of its machine.
  assert.match(shown.error, /not been compared for more than 6 hours\n20 differences in the last/);
  // The end of it forgets the key and keeps what was found.
  assert.equal((await operator.run('shadow', 'stop', '--url', cp.url)).code, 0);
  const { db } = cp.controlPlane.services;
  assert.deepEqual(await db.selectFrom('shadows').selectAll().execute(), []);
  const ended = await stateOf(cp);
  assert.deepEqual([ended.isOn, ended.differences], [false, 20]);
});

test('what the other side refuses or lacks is said, and it goes on afterwards', async () => {
  await using stack = new AsyncDisposableStack();
  const world = await twoSides(stack);
  const { cp, clock, down, url, answers } = world;
  const [id, gone] = [randomUUID(), randomUUID()];
  down.set(id, { there: [], here: [] });
  await imported(world, [id, gone]);
  answers.push({ status: 401, body: '{"message":"no"}' });
  await cp.api('PUT', '/v1/shadow', body(url));
  clock.advance(4 * 60 * minute);
  const refused = await untilCompared(world, Infinity);
  assert.match(refused.problem ?? '', /status 401, the API key is refused/);
  answers.push({ status: 429, headers: { 'retry-after': '120' }, body: '{}' });
  await cp.api('PUT', '/v1/shadow', body(url));
  const state = await untilCompared(world, start + 2 * 60 * minute);
  assert.deepEqual([state.problem, state.differences, state.checks], [null, 0, 1]);
  assert.ok(state.compared > 20, String(state.compared));
  const why = state.notCompared.map((each) => each.why);
  assert.ok(why.includes('the other side does not have it any more'), why.join());
});

const closed: ReceiverAnswer = { instead: 'close' };
const failing: ReceiverAnswer = { status: 503, body: '{}' };

for (const [what, answer, said] of [
  ['closes every connection', closed, /closed before the answer|reset/],
  ['answers with nothing but 503', failing, /status 503/],
] as const) {
  test(`a side that ${what} is a problem, which ends with it`, async (t) => {
    if (isLeftOutOnPostgres(t)) return;
    await using stack = new AsyncDisposableStack();
    const world = await twoSides(stack);
    const { cp, clock, down, url } = world;
    const id = randomUUID();
    down.set(id, { there: [], here: [] });
    await imported(world, [id]);
    world.always = () => answer;
    await cp.api('PUT', '/v1/shadow', body(url));
    clock.advance(4 * 60 * minute);
    const { problem } = await untilCompared(world, Infinity);
    assert.match(problem ?? '', said);
    world.always = () => undefined;
    await turnsUntil(world, (state) => state.problem === null);
    assert.equal((await untilCompared(world, start + 2 * 60 * minute)).problem, null);
  });
}

test('a check that is refused keeps no other from being compared, and is tried again', async (t) => {
  if (isLeftOutOnPostgres(t)) return;
  await using stack = new AsyncDisposableStack();
  const world = await twoSides(stack);
  const { cp, clock, down, url } = world;
  const [id, bad, gone] = [randomUUID(), randomUUID(), randomUUID()];
  down.set(id, { there: [], here: [] });
  const made = await imported(world, [bad, id, gone]);
  const refused: ReceiverAnswer = { status: 403, body: '{"message":"no"}' };
  world.always = (path) => (path.endsWith(bad) ? refused : undefined);
  await cp.api('PUT', '/v1/shadow', body(url));
  clock.advance(4 * 60 * minute);
  const readOf = async () => {
    const { db } = cp.controlPlane.services;
    const rows = await db.selectFrom('shadow_checks').selectAll().execute();
    return new Map(rows.map((row) => [row.check_id, row]));
  };
  const isRead = (which: string) => async () =>
    ((await readOf()).get(made.get(which) ?? '')?.compared ?? 0) > 20;
  await turnsUntil(world, isRead(id));
  const state = await stateOf(cp);
  assert.equal(state.problem, null);
  const reasons = state.notCompared.map(({ name, why }) => `${name}: ${why}`).sort();
  assert.match(
    reasons.join('\n'),
    /Shop 0: could not read .*status 403, the API key may not, no\n/,
  );
  assert.match(reasons.join('\n'), /Shop 2: the other side does not have it any more$/);
  // Nothing is said to be compared up to a time before which one check was not.
  assert.equal(state.readUntil, state.startedAt);
  world.always = () => undefined;
  down.set(bad, { there: [], here: [] });
  await turnsUntil(world, isRead(bad));
  // A correction counts at once.
  down.set(gone, { there: [], here: [] });
  await cp.api('PUT', '/v1/shadow', body(url));
  await turnsUntil(world, isRead(gone));
  assert.deepEqual((await stateOf(cp)).notCompared.length, 1);
});

test('errors of our agents are no verdicts, and odd numbers of theirs are left out', async (t) => {
  if (isLeftOutOnPostgres(t)) return;
  await using stack = new AsyncDisposableStack();
  const world = await twoSides(stack);
  const { cp, clock, down, url } = world;
  const ids = [randomUUID(), randomUUID()];
  for (const id of ids) down.set(id, { there: [[120, 145]], here: [] });
  const made = await imported(world, ids);
  world.responseTime = (id) => (id === ids[0] ? -1 : 1e300);
  const { db } = cp.controlPlane.services;
  await db
    .updateTable('check_results')
    .set({ has_errors: 1 })
    .where('check_id', '=', made.get(ids[1] ?? '') ?? '')
    .where('started_at', '>=', start + 200 * minute)
    .where('started_at', '<', start + 230 * minute)
    .execute();
  await cp.api('PUT', '/v1/shadow', body(url));
  clock.advance(8 * 60 * minute);
  await untilCompared(world, start + 5 * 60 * minute);
  const listed = await cp.api('GET', '/v1/shadow/differences');
  assert.equal(listed.status, 200, JSON.stringify(listed.body));
  const found = (listed.body as ShadowDifference[]).map(({ failedAt, saw }) => [
    ...[failedAt, saw.responseTime],
  ]);
  assert.deepEqual(found, [
    ['THEIRS', null],
    ['THEIRS', null],
  ]);
});

test('show --check fails where nothing is compared, and says so', async (t) => {
  if (isLeftOutOnPostgres(t)) return;
  await using stack = new AsyncDisposableStack();
  const { cp, clock, url } = await twoSides(stack);
  const folder = stack.use(temporaryFolder());
  const operator = new Operator(folder.path, { CONTROL_PLANE_API_KEY: cp.apiKey });
  const show = ['shadow', 'show', '--check', '--url', cp.url];
  const off = await operator.run(...show);
  assert.deepEqual([off.code, off.error.includes('verdicts are not compared')], [1, true]);
  await cp.api('PUT', '/v1/shadow', body(url));
  clock.advance(4 * 60 * minute);
  const empty = await operator.run(...show);
  assert.deepEqual([empty.code, empty.error.includes('no check is compared')], [1, true]);
  assert.match(empty.out, /name it with --name/);
  // A start after a stop continues the history.
  await cp.api('DELETE', '/v1/shadow');
  const keyFile = join(folder.path, 'key');
  writeFileSync(keyFile, key, { mode: 0o600 });
  const source = ['--api-key-file', keyFile, '--base-url', url, '--url', cp.url];
  const again = await operator.run('shadow', 'start', ...source, '--history', '2d');
  assert.match(again.out, /history before the move: 2 days of 0 of 0 checks/);
  const most = await operator.run('shadow', 'start', ...source, '--history', '400d');
  assert.match(most.out, /history before the move: 400 days/);
  const more = await operator.run('shadow', 'start', ...source, '--history', '401d');
  assert.deepEqual([more.code, /"historyDays" must be at most 400/.test(more.error)], [1, true]);
  const { history } = await stateOf(cp);
  assert.match(history ?? '', /^400 days/, 'what was asked for before goes on');
});

const read = /^\/v2\/check-results\//;

/** Checks without a difference, whose past is read. */
async function withPast(stack: AsyncDisposableStack, count: number, historyDays = 1) {
  const world = await twoSides(stack);
  world.past = (historyDays + 1) * 24 * 60;
  const ids = Array.from({ length: count }, () => randomUUID());
  for (const id of ids) world.down.set(id, { there: [], here: [] });
  const made = await imported(world, ids);
  const started = await world.cp.api('PUT', '/v1/shadow', body(world.url, { historyDays }));
  assert.equal(started.status, 200);
  return { world, ids, made };
}

const historyIs = (shown: RegExp) => (state: ShadowState) => shown.test(state.history ?? '');

test('an outage of the other side delays the history, and does not end it', async (t) => {
  if (isLeftOutOnPostgres(t)) return;
  await using stack = new AsyncDisposableStack();
  const { world } = await withPast(stack, 2);
  world.always = (path) => (read.test(path) ? failing : undefined);
  await turn(world);
  const { history } = await stateOf(world.cp);
  assert.match(
    history ?? '',
    /^1 days of 0 of 2 checks, 0 results; 2 checks cannot be read: could not read its results at \S+: status 503$/,
  );
  world.always = () => undefined;
  const { clock } = world;
  const since = clock.now();
  await turnsUntil(world, historyIs(/^1 days of 2 of 2 checks, 288 results$/));
  assert.ok(clock.now() - since < 90 * minute);
});

test('a refused history is requested again a day later, and at once after a new start', async (t) => {
  if (isLeftOutOnPostgres(t)) return;
  await using stack = new AsyncDisposableStack();
  const { world } = await withPast(stack, 1);
  world.always = (path) =>
    read.test(path) ? { status: 402, body: '{"message":"not in the plan"}' } : undefined;
  let asked = 0;
  const send: Send = (request, signal) => {
    const { pathname, searchParams } = request.url;
    const isPast = Number(searchParams.get('to')) * 1000 <= start + offsetMs + 2_000;
    if (read.test(pathname) && isPast) asked += 1;
    return world.send(request, signal);
  };
  for (let hour = 0; hour < 30; hour += 1) {
    await turn({ ...world, send });
    assert.equal(asked, hour < 24 ? 1 : 2, `after ${hour} hours`);
    world.clock.advance(60 * minute);
  }
  world.always = () => undefined;
  await world.cp.api('PUT', '/v1/shadow', body(world.url, { historyDays: 1 }));
  await turn(world);
  assert.match((await stateOf(world.cp)).history ?? '', /^1 days of 1 of 1 check, 144 results$/);
});

test('a history that does not fit into a turn is read in smaller parts, and keeps no other from being read', async (t) => {
  if (isLeftOutOnPostgres(t)) return;
  await using stack = new AsyncDisposableStack();
  const { world, ids } = await withPast(stack, 3);
  const [never = '', dense] = ids;
  // Pages have five results: a day of it needs 288 requests, and its clock is not known before the first of them.
  world.gap = (id) => (id === dense ? 1 : 10);
  let asked = 0;
  const send: Send = async (request, signal) => {
    if (!request.url.pathname.endsWith(never)) return world.send(request, signal);
    asked += 1;
    // One more page, whatever was asked for.
    const page = { entries: [{ id: `${asked}` }], nextId: `${asked}` };
    return { status: 200, statusText: '', headers: {}, body: JSON.stringify(page), isCut: false };
  };
  const state = await turnsUntil({ ...world, send }, historyIs(/^1 days of 2 of 3 checks/));
  assert.equal(
    state.history,
    `1 days of 2 of 3 checks, ${1_440 + 144} results; 1 check cannot be read: its results could not be read within a turn`,
  );
  // 24 hours, 12, 6, 3 and 1; the limit of a turn is 200.
  assert.ok(asked <= 1_000, String(asked));
  assert.equal(state.problem, null);
});

test('a limit of the other side is shown where only the history waits, and ends with it', async () => {
  await using stack = new AsyncDisposableStack();
  const { world } = await withPast(stack, 1);
  const limited: ReceiverAnswer = {
    ...{ status: 429, headers: { 'retry-after': '600' }, body: '{}' },
  };
  world.always = (path) => (read.test(path) ? limited : undefined);
  await turn(world);
  const waits = /1 check cannot be read: could not read its results at \S+: it asks to wait 600 s$/;
  assert.match((await stateOf(world.cp)).history ?? '', waits);
  world.always = () => limited;
  world.clock.advance(10 * minute);
  await turn(world);
  assert.match((await stateOf(world.cp)).problem ?? '', /it asks to wait 600 s/);
  world.always = () => undefined;
  const state = await turnsUntil(world, historyIs(/^1 days of 1 of 1 check, 144 results$/));
  assert.equal(state.problem, null);
});

test('an address that cannot be is refused by the name of its field, and ends nothing that is stored', async (t) => {
  if (isLeftOutOnPostgres(t)) return;
  await using stack = new AsyncDisposableStack();
  const { world } = await withPast(stack, 1);
  const { cp } = world;
  for (const baseUrl of ['http://other.example:99999', 'https://[x']) {
    for (const more of [{}, { historyDays: 1 }]) {
      const refused = await cp.api('PUT', '/v1/shadow', body(baseUrl, more));
      const { message } = refused.body;
      assert.equal(refused.status, 400);
      assert.match(message, /"baseUrl" has a host or a port that cannot be/);
    }
  }
  await cp.controlPlane.services.db
    .updateTable('shadows')
    .set({ base_url: 'https://[x' })
    .execute();
  await turn(world);
  const state = await cp.api('GET', '/v1/shadow');
  assert.equal(state.status, 200);
  assert.match(state.body.problem, /the address of the API must begin with/);
});

test('history is read for the project that asks for it, and for no other', async (t) => {
  if (isLeftOutOnPostgres(t)) return;
  await using stack = new AsyncDisposableStack();
  const { world } = await withPast(stack, 1);
  const { cp, url } = world;
  for (const more of [{ project: 'import-other' }, {}]) {
    const changed = await cp.api('PUT', '/v1/shadow', body(url, more));
    assert.equal(changed.body.history, null);
    await turn(world);
  }
  const { db } = cp.controlPlane.services;
  assert.deepEqual(await db.selectFrom('imported_history').selectAll().execute(), []);
  await cp.api('PUT', '/v1/shadow', body(url, { historyDays: 1 }));
  await turnsUntil(world, historyIs(/^1 days of 1 of 1 check, 144 results$/));
});

test('what runs with another address is stopped before it is replaced', async (t) => {
  if (isLeftOutOnPostgres(t)) return;
  await using stack = new AsyncDisposableStack();
  const { world } = await withPast(stack, 1);
  const { cp, url } = world;
  const refused = await cp.api('PUT', '/v1/shadow', body('https://other.example'));
  assert.equal(refused.status, 400);
  assert.match(refused.body.message, /"baseUrl" is not http:\S+, which is compared at present/);
  assert.deepEqual((await stateOf(cp)).baseUrl, url);
  // The same address with a slash is the same.
  assert.equal((await cp.api('PUT', '/v1/shadow', body(`${url}/`))).status, 200);
  await cp.api('DELETE', '/v1/shadow');
  assert.equal((await cp.api('PUT', '/v1/shadow', body('https://other.example'))).status, 200);
});

test('who stops it ends the history that is being read, and the key is not used again', async (t) => {
  if (isLeftOutOnPostgres(t)) return;
  await using stack = new AsyncDisposableStack();
  const { world } = await withPast(stack, 2);
  const { cp } = world;
  const paths: string[] = [];
  const send: Send = async (request, signal) => {
    const answer = await world.send(request, signal);
    paths.push(request.url.pathname);
    if (read.test(request.url.pathname)) await cp.api('DELETE', '/v1/shadow');
    return answer;
  };
  await turn({ ...world, send });
  assert.equal(paths.filter((path) => read.test(path)).length, 1, paths.join());
  const { db } = cp.controlPlane.services;
  for (const table of ['roll_ups', 'imported_history', 'shadows'] as const) {
    assert.deepEqual(await db.selectFrom(table).selectAll().execute(), [], table);
  }
});

test('a check that is deleted while its history is read keeps no other from being read', async (t) => {
  if (isLeftOutOnPostgres(t)) return;
  await using stack = new AsyncDisposableStack();
  const { world, made } = await withPast(stack, 2);
  const { cp } = world;
  let deleted = '';
  const send: Send = async (request, signal) => {
    const answer = await world.send(request, signal);
    const { pathname } = request.url;
    if (deleted === '' && read.test(pathname)) {
      deleted = made.get(pathname.split('/').at(-1) ?? '') ?? '';
      assert.equal((await cp.api('DELETE', `/v1/checks/${deleted}`)).status, 204);
    }
    return answer;
  };
  await turn({ ...world, send });
  assert.equal((await stateOf(cp)).problem, null);
  const since = world.clock.now();
  await turnsUntil(world, historyIs(/^1 days of 1 of 1 check, 144 results$/));
  assert.ok(world.clock.now() - since < 5 * minute);
});

test('an address inside of the network is refused, and so is a key that is none', async () => {
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock, requestsPerMinute: 0 });
  let requests = 0;
  await using other = await httpReceiver(() => {
    requests += 1;
    return closed;
  });
  const id = randomUUID();
  await imported({ cp, down: new Map([[id, { there: [], here: [] }]]) }, [id]);
  const two = await cp.api('PUT', '/v1/shadow', body(other.url, { apiKey: 'two words' }));
  assert.equal(two.status, 400);
  assert.equal((await cp.api('PUT', '/v1/shadow', body(other.url))).status, 200);
  clock.advance(4 * 60 * minute);
  let problem: string | null = null;
  await eventually(
    async () => {
      // In longer steps a replica's lease ends before it is renewed.
      await passTime(clock, minute);
      ({ problem } = await stateOf(cp));
      return problem !== null;
    },
    () => 'its timer reads the other side',
  );
  assert.match(problem ?? '', /is not at a public address/);
  assert.equal(requests, 0);
});

const day = 24 * 60 * minute;

/** What waits to be sent, and is taken away. */
async function reported({ cp, clock }: Pick<World, 'cp' | 'clock'>): Promise<ReportFacts[]> {
  const services = { ...cp.controlPlane.services, clock };
  // As two replicas that look at the same time.
  await Promise.all([reportVerdicts(services), reportVerdicts(services)]);
  const rows = await services.db.deleteFrom('outbox').returningAll().execute();
  return rows.map(({ content_json }) => JSON.parse(content_json) as ReportFacts);
}

test('each day one message has the differences with the evidence of both, or says that none differed', async () => {
  await using stack = new AsyncDisposableStack();
  const world = await twoSides(stack);
  const { cp, clock, down, url } = world;
  const id = randomUUID();
  down.set(id, { there: [[200, 225]], here: [[400, 425]] });
  const made = await imported(world, [id]);
  const channel = await makeChannel(cp, 'WEBHOOK', {
    ...{ name: 'Daily', url: 'https://hooks.example/', method: 'POST' },
  });
  const paging = await makeChannel(cp, 'PAGERDUTY', { serviceKey: 'a'.repeat(32) });
  for (const [ids, why] of [
    [[999], /has no 999/],
    [[paging], /PAGERDUTY opens incidents that stay/],
  ] as const) {
    const refused = await cp.api('PUT', '/v1/shadow', body(url, { alertChannelIds: ids }));
    assert.deepEqual([refused.status, why.test(refused.body.message)], [400, true]);
  }
  const named = { alertChannelIds: [channel] };
  const started = await cp.api('PUT', '/v1/shadow', body(url, named));
  assert.deepEqual(started.body.reportsTo, [`channel ${channel} (WEBHOOK)`]);
  clock.advance(hours * 60 * minute);
  await untilCompared(world, start + (hours - 2) * 60 * minute);
  assert.deepEqual(await reported(world), []);
  clock.advance(start + day + minute - clock.now());
  await cp.api('PUT', '/v1/shadow', body(url, named));
  const [facts, ...more] = await reported(world);
  assert.ok(facts !== undefined && more.length === 0);
  assert.equal(facts.label, 'VERDICTS DIFFER');
  assert.match(facts.title, /^2 differences to 127\.0\.0\.1:\d+, \d{3} results compared$/);
  const lines = (of: ReportFacts | undefined, which: string) =>
    (of?.details ?? []).flatMap(({ label, value }) => (label === which ? [value] : []));
  assert.deepEqual(lines(facts, 'Since'), ['2026-06-01 00:00:00 UTC']);
  const [ours = '', theirs = ''] = lines(facts, 'Shop 0');
  const links = `/console/#/checks/${String(made.get(id))}/results/`;
  assert.match(theirs, /^only they saw it failing: 2026-06-01 03:2\d:\d\d UTC to .* 3 results/);
  assert.match(theirs, /they: failing at .* in 123 ms: they got no answer \(result /);
  assert.deepEqual([theirs.split('passing at ').length, theirs.split(links).length], [3, 3]);
  assert.match(ours, /^only we saw it failing: .* we: failing at .*they: passing at /);
  assert.deepEqual([ours.split('passing at ').length, ours.split(links).length], [3, 2]);
  assert.deepEqual(lines(facts, 'Not compared'), ['1 check: its job pings one side alone']);
  // A new start reports nothing a second time.
  clock.advance(2 * minute);
  await cp.api('PUT', '/v1/shadow', body(url, named));
  assert.deepEqual(await reported(world), []);
  // The second day begins with the end of the first, and has no own results.
  const since = start + day;
  clock.advance(since + day - clock.now());
  await cp.api('PUT', '/v1/shadow', body(url, named));
  await cp.controlPlane.services.db
    .updateTable('shadow_checks')
    .set(({ eb }) => ({ read_until: clock.now(), compared: eb('compared', '+', 7) }))
    .execute();
  const [agreed] = await reported(world);
  assert.deepEqual(lines(agreed, 'Since'), ['2026-06-02 00:00:00 UTC']);
  assert.deepEqual([agreed?.label, agreed?.reason], ['NONE DIFFERED', '']);
  assert.match(agreed?.title ?? '', /^No verdict differed from .*, 7 results compared$/);
  // A failing result that is added to a known difference makes it differ today.
  await cp.controlPlane.services.db
    .updateTable('shadow_differences')
    .set({ is_reported: 0 })
    .where('side', '=', 'OURS')
    .execute();
  // Days away have no message of their own.
  clock.advance(since + 4 * day + minute - clock.now());
  const later = await reported(world);
  assert.deepEqual(
    [later.length, lines(later[0], 'Shop 0').length, ...lines(later[0], 'Since')],
    [1, 1, '2026-06-03 00:00:00 UTC'],
  );
  assert.deepEqual(await reported(world), []);
});

test('a day without a comparison is said, with the reason, and without channels to administrators', async (t) => {
  if (isLeftOutOnPostgres(t)) return;
  await using stack = new AsyncDisposableStack();
  const world = await twoSides(stack);
  const { cp, clock, down, url, answers } = world;
  const id = randomUUID();
  down.set(id, { there: [], here: [] });
  await imported(world, [id]);
  const { db } = cp.controlPlane.services;
  for (const [email, role] of [
    ['owner@shop.example', 'OWNER'],
    ['reader@shop.example', 'READ_ONLY'],
  ] as const) {
    const person = { id: randomUUID(), created_at: start };
    await db
      .insertInto('people')
      .values({ ...person, email, name: email, password_hash: null })
      .execute();
    const of = { account_id: cp.accountId, person_id: person.id, role, created_at: start };
    await db.insertInto('memberships').values(of).execute();
  }
  assert.deepEqual((await cp.api('PUT', '/v1/shadow', body(url))).body.reportsTo, [
    '1 administrator by mail',
  ]);
  clock.advance(4 * 60 * minute);
  answers.push({ status: 401, body: '{"message":"no"}' });
  await untilCompared(world, Infinity);
  clock.advance(start + day - clock.now());
  const mails = (await reported(world)) as unknown as Mail[];
  assert.deepEqual(
    mails.map(({ to }) => to),
    ['owner@shop.example'],
  );
  assert.match(mails[0]?.subject ?? '', /^\[NOT COMPARED\] Verdicts could not be compared with /);
  assert.match(
    mails[0]?.text ?? '',
    /nothing is read at present: .*status 401, the API key is refused/,
  );
});

test('an account whose report cannot be made keeps no other from its report, and no side from being read', async (t) => {
  if (isLeftOutOnPostgres(t)) return;
  const clock = new TestClock(start);
  const written: string[] = [];
  const logger = pino({ level: 'error' }, { write: (line) => written.push(line) });
  await using cp = await startTestControlPlane({ clock, requestsPerMinute: 0, logger });
  const { services } = cp.controlPlane;
  const channel = await makeChannel(cp, 'WEBHOOK', {
    ...{ name: 'Daily', url: 'https://hooks.example/', method: 'POST' },
  });
  const named = { alertChannelIds: [channel] };
  await cp.api('PUT', '/v1/shadow', body('https://other.example', named));
  const broken = await createAccount(services, 'Broken');
  const { id: _id, ...row } = await services.db
    .selectFrom('shadows')
    .selectAll()
    .executeTakeFirstOrThrow();
  await services.db
    .insertInto('shadows')
    // Before the other one.
    .values({ ...row, id: 0, account_id: broken, channel_ids_json: 'none' })
    .execute();
  clock.advance(day);
  const facts = await reported({ cp, clock });
  assert.deepEqual(
    facts.map(({ label }) => label),
    ['NOT COMPARED'],
  );
  assert.match(written.join(''), /the daily report of shadow mode was not made/);
  assert.ok(written.every((line) => line.includes(broken)));
});

const linesOf = (of: ReportFacts | undefined, which: string) =>
  (of?.details ?? []).flatMap(({ label, value }) => (label === which ? [value] : []));

/** A side that is compared up to now, without a turn. */
async function compared(
  { cp, clock }: Pick<World, 'cp' | 'clock'>,
  sums: readonly (readonly [checkId: string, compared: number, undecided: number])[],
): Promise<void> {
  const { db } = cp.controlPlane.services;
  for (const [check_id, more, undecided] of sums) {
    const values = { account_id: cp.accountId, check_id, read_until: clock.now() };
    await db
      .insertInto('shadow_checks')
      .values({ ...values, compared: more, undecided })
      .onConflict((of) =>
        of.column('check_id').doUpdateSet(({ eb, ref }) => ({
          compared: eb(ref('shadow_checks.compared'), '+', more),
          undecided: eb(ref('shadow_checks.undecided'), '+', undecided),
          read_until: clock.now(),
        })),
      )
      .execute();
  }
}

test('a check that is deleted takes nothing from what others had compared that day', async (t) => {
  if (isLeftOutOnPostgres(t)) return;
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock, requestsPerMinute: 0 });
  const side = { cp, clock };
  const ids = [randomUUID(), randomUUID()];
  const made = await imported({ cp, down: new Map() }, ids);
  const [large = '', small = ''] = ids.map((id) => made.get(id) ?? '');
  const channel = await makeChannel(cp, 'WEBHOOK', {
    ...{ name: 'Daily', url: 'https://hooks.example/', method: 'POST' },
  });
  const named = { alertChannelIds: [channel] };
  const refused = await cp.api('PUT', '/v1/shadow', {
    ...body('https://other.example'),
    alertChannelIds: [await makeChannel(cp, 'CALL', { number: '+4930123456', name: 'Ann' })],
  });
  assert.deepEqual(
    [refused.status, /CALL would ring each day/.test(refused.body.message)],
    [400, true],
  );
  await cp.api('PUT', '/v1/shadow', body('https://other.example', named));
  clock.advance(day);
  await compared(side, [
    [large, 500, 20],
    [small, 10, 1],
  ]);
  const [both] = await reported(side);
  assert.match(both?.title ?? '', / 510 results compared$/);
  assert.deepEqual(linesOf(both, 'Compared'), ['510 results of 2 checks; 21 had none beside them']);
  const { db } = cp.controlPlane.services;
  await db.deleteFrom('checks').where('id', '=', large).execute();
  clock.advance(day);
  await compared(side, [[small, 7, 3]]);
  const [one] = await reported(side);
  assert.deepEqual([one?.label, one?.reason], ['NONE DIFFERED', '']);
  assert.deepEqual(linesOf(one, 'Compared'), ['7 results of 1 check; 3 had none beside them']);
  // What is new alone says why: of the first two days there was enough.
  clock.advance(day);
  await compared(side, [[small, 0, 4]]);
  const [none] = await reported(side);
  assert.deepEqual(
    [none?.label, none?.reason],
    ['NOT COMPARED', 'no result had one of the other side beside it, 4 had none'],
  );
});

test('history that cannot be read is said each day, with the reason', async (t) => {
  if (isLeftOutOnPostgres(t)) return;
  const clock = new TestClock(start);
  await using cp = await startTestControlPlane({ clock, requestsPerMinute: 0 });
  const side = { cp, clock };
  const id = randomUUID();
  const check_id = (await imported({ cp, down: new Map() }, [id])).get(id) ?? '';
  const channel = await makeChannel(cp, 'WEBHOOK', {
    ...{ name: 'Daily', url: 'https://hooks.example/', method: 'POST' },
  });
  const named = { alertChannelIds: [channel], historyDays: 30 };
  await cp.api('PUT', '/v1/shadow', body('https://other.example', named));
  const { db } = cp.controlPlane.services;
  const span = { from_at: start, until_at: start, results: 0 };
  await db
    .insertInto('imported_history')
    .values({
      ...{ ...span, account_id: cp.accountId, check_id, host: 'other.example' },
      problem: 'status 402, not in the plan',
    })
    .execute();
  clock.advance(day);
  await compared(side, [[check_id, 7, 0]]);
  assert.equal((await stateOf(cp)).historyRefused, 1);
  const [facts] = await reported(side);
  assert.deepEqual(
    [facts?.label, facts?.reason],
    ['NONE DIFFERED', 'some of the history before the move cannot be read'],
  );
  assert.match(linesOf(facts, 'History').join(), /1 check cannot be read: status 402, not in the/);
  await db.updateTable('imported_history').set({ problem: null }).execute();
  clock.advance(day);
  await compared(side, [[check_id, 7, 0]]);
  const [next] = await reported(side);
  assert.deepEqual([next?.reason, linesOf(next, 'History')], ['', []]);
});

test('what was measured before the move becomes sums, once, and no results', async () => {
  await using stack = new AsyncDisposableStack();
  const world = await twoSides(stack);
  const { cp, clock, down, url } = world;
  const days = 2;
  world.past = 3 * 24 * 60;
  const [id, refused] = [randomUUID(), randomUUID()];
  // Six of the 288 results of two days, in an hour of the first of them.
  down.set(id, { there: [[-2_000, -1_940]], here: [] });
  down.set(refused, { there: [], here: [] });
  const made = await imported(world, [id, refused]);
  const checkId = made.get(id) ?? '';
  const { db, commits } = cp.controlPlane.services;
  world.always = (path) =>
    path.endsWith(refused) ? { status: 402, body: '{"message":"not in the plan"}' } : undefined;
  const started = await cp.api('PUT', '/v1/shadow', body(url, { historyDays: days }));
  assert.equal(started.body.history, '2 days of 0 of 2 checks, 0 results');
  // A process that ends within a turn, before its commit and after it.
  let commit = 0;
  const dying = {
    ...cp.controlPlane.services,
    clock,
    commits: {
      run: async <T>(work: Parameters<typeof commits.run<T>>[0]) => {
        commit += 1;
        if (commit % 2 === 1) throw new Error('killed');
        return commits.run(work);
      },
    },
  };
  for (let turns = 0; turns < 3; turns += 1) {
    await turn({
      ...world,
      cp: { ...cp, controlPlane: { ...cp.controlPlane, services: dying } },
    } as never);
    await db.updateTable('shadows').set({ next_at: clock.now() }).execute();
  }
  const isRead = ({ history }: ShadowState) => history?.startsWith('2 days of 1 of 2') ?? false;
  const state = await turnsUntil(world, isRead);
  assert.match(
    state.history ?? '',
    /^2 days of 1 of 2 checks, 288 results; 1 check cannot be read: could not read .*402.*not in the plan$/,
  );
  const sums = () => db.selectFrom('roll_ups').selectAll().orderBy('id').execute();
  const of = (await sums()).filter(({ hours }) => hours === 1);
  assert.deepEqual([...new Set(of.map(({ check_id }) => check_id))], [checkId]);
  assert.deepEqual(
    [
      of.reduce((sum, { finals }) => sum + finals, 0),
      of.reduce((sum, each) => sum + each.failures, 0),
    ],
    [288, 6],
  );
  assert.ok(of.every(({ starts_at }) => starts_at >= start - days * day && starts_at < start));
  // Charts have them, by hour and by day.
  const seconds = (at: number) => Math.floor(at / 1000);
  const window = `from=${seconds(start - 3 * day)}&to=${seconds(start + day)}`;
  const analytics = async (more: string) =>
    (await cp.api('GET', `/v1/analytics/url-monitors/${checkId}?${window}&limit=100&${more}`)).body
      .series[0]?.data as Record<string, number>[];
  const byDay = await analytics('metrics=availability,responseTime_sum&aggregationInterval=1440');
  assert.deepEqual(
    byDay.slice(0, 2).map((each) => [each['availability'], each['responseTime_sum']]),
    [
      [100, 123 * 144],
      [95.833, 123 * 144],
    ],
  );
  const byMinutes = await analytics('metrics=availability&aggregationInterval=30');
  assert.ok(byMinutes.length >= 48, String(byMinutes.length));
  // Their clock is known to half a second.
  const oldest = new Date(start - days * day + 3 * minute - 500).toISOString();
  const events = (await cp.api('GET', `/v1/check-events/${checkId}?${window}`)).body as object[];
  assert.deepEqual(
    events.filter((each) => 'kind' in each && each.kind === 'IMPORT'),
    [
      {
        ...{ kind: 'IMPORT', id: checkId, name: new URL(url).host, fields: [] },
        startedAt: oldest,
        endedAt: new Date(start).toISOString(),
      },
    ],
  );
  const [seen] = (await cp.api('GET', `/v1/check-overview?checkId=${checkId}`)).body;
  assert.equal(seen.importedFrom, oldest);
  // No claim is made of them, and nothing else knows them.
  const before = `from=${seconds(start - 3 * day)}&to=${seconds(start)}`;
  const reports = (await cp.api('GET', `/v1/reporting?${before}`)).body as {
    checkId: string;
    aggregate: { successRatio: number | null };
  }[];
  const report = reports.find((each) => each.checkId === checkId);
  assert.deepEqual([report?.aggregate.successRatio], [null]);
  const results = await cp.api('GET', `/v2/check-results/${checkId}?${before}`);
  assert.deepEqual(results.body.entries, []);
  for (const table of ['check_alerts', 'error_groups', 'outbox', 'roll_up_inbox'] as const) {
    assert.deepEqual(await db.selectFrom(table).selectAll().execute(), [], table);
  }
  // Another import adds nothing and reads nothing; more days add those before.
  const stored = await sums();
  const { requests } = world;
  world.always = () => ({ status: 402, body: '{}' });
  await cp.api('PUT', '/v1/shadow', body(url, { historyDays: days }));
  clock.advance(minute);
  await turn(world);
  assert.deepEqual([await sums(), world.requests], [stored, requests]);
  world.always = () => undefined;
  await cp.api('PUT', '/v1/shadow', body(url, { historyDays: days + 1 }));
  const more = await turnsUntil(
    world,
    ({ history }) => history?.startsWith('3 days of 2 of') ?? false,
  );
  assert.equal(more.history, `3 days of 2 of 2 checks, ${2 * 3 * 144} results`);
});
