/**
 * Who may call what, for every operation there is: the expectation of each cell is read off the
 * contract, so an operation that is added is tested without a line here.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import test, { after, before } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { allRoutes } from '@monitor/shared/contract/index.ts';
import {
  includesRole,
  roleOf,
  roles,
  type Role,
  type Route,
} from '@monitor/shared/contract/route.ts';
import { startTestControlPlane, type TestControlPlane } from '../support/control-plane.ts';
import { insertMember, startPersonSession } from '../support/people.ts';
import { isLong } from '../support/random.ts';
import { dumpTables } from '../support/tables.ts';
import { TestClock } from '../support/test-clock.ts';
import { createApiKey } from '../../control-plane/accounts/keys/store.ts';
import { AuditedCalls } from '../../control-plane/http/audited-calls.ts';
import { openApiDocument } from '../../scripts/openapi/document.ts';
import {
  agentKeyOf,
  buildWorld,
  createAccount,
  exampleBodies,
  exampleQuery,
  kindsOfParams,
  pathOf,
  type Kind,
  type World,
  outcomeOfShard,
} from '../support/world.ts';

const now = Date.parse('2026-11-21T12:00:00Z');

interface Reply {
  status: number;
  headers: Headers;
  text: string;
}

interface Inhabitant {
  key: string;
  world: World;
  bodies: ReadonlyMap<string, unknown>;
}

/** A key goes into `authorization`, a session of a person into the cookie of the console. */
function headersOf(authorization: string | undefined): Record<string, string> {
  if (authorization === undefined) return {};
  return authorization.startsWith('Cookie ')
    ? { cookie: authorization.slice('Cookie '.length), 'x-console': '1' }
    : { authorization };
}

/** Two accounts with everything in them, on a clock that stands still: nothing changes by itself. */
class Stage {
  readonly cp: TestControlPlane;
  readonly clock: TestClock;
  readonly ours: Inhabitant;
  readonly theirs: Inhabitant;

  constructor(cp: TestControlPlane, clock: TestClock, ours: Inhabitant, theirs: Inhabitant) {
    this.cp = cp;
    this.clock = clock;
    this.ours = ours;
    this.theirs = theirs;
  }

  async send(
    route: Route,
    authorization: string | undefined,
    params: Readonly<Record<string, unknown>>,
    body: unknown,
    headers: Record<string, string> = {},
  ): Promise<Reply> {
    const query = new URLSearchParams(exampleQuery(route, now)).toString();
    const response = await fetch(
      `${this.cp.url}${pathOf(route, params)}${query === '' ? '' : `?${query}`}`,
      {
        method: route.method,
        headers: {
          ...headersOf(authorization),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      },
    );
    return {
      status: response.status,
      headers: response.headers,
      text: await response.text(),
    };
  }

  /** What is being delivered changes rows by itself, so it is waited for. */
  async dump(accountId?: string): Promise<Record<string, string[]>> {
    const { db } = this.cp.controlPlane.services;
    const isDelivering = () => db.selectFrom('outbox').select('id').executeTakeFirst();
    while ((await isDelivering()) !== undefined) await setImmediate();
    const isDeploying = () =>
      db.selectFrom('deployments').select('id').where('ended_at', 'is', null).executeTakeFirst();
    while ((await isDeploying()) !== undefined) await setImmediate();
    // Refusals are noted there, and only there.
    return dumpTables(db, { accountId, except: 'audit_log' });
  }
}

async function inhabit(cp: TestControlPlane, marker: string): Promise<Inhabitant> {
  const { services } = cp.controlPlane;
  const accountId = await createAccount(services, marker);
  const { rawKey: key } = await createApiKey(services, accountId, { name: marker });
  const world = await buildWorld(services, { url: cp.url, key }, accountId, marker);
  return { key, world, bodies: await exampleBodies(world) };
}

async function setUp(): Promise<Stage & AsyncDisposable> {
  const clock = new TestClock(now);
  const cp = await startTestControlPlane({ clock, requestsPerMinute: 0 });
  const stage = new Stage(
    cp,
    clock,
    await inhabit(cp, 'world-of-ours'),
    await inhabit(cp, 'world-of-theirs'),
  );
  return Object.assign(stage, { [Symbol.asyncDispose]: () => cp[Symbol.asyncDispose]() });
}

const unknownIds: Partial<Record<Kind, string | number>> = {
  group: 900_000_001,
  snippet: 900_000_002,
  alertChannel: 900_000_003,
  device: 900_000_006,
  deploymentTrigger: 900_000_007,
  maintenanceWindow: 900_000_004,
  maintenance: '900000004-4070908800000',
  dashboardNumber: 900_000_005,
  slug: 'no-such-location',
  variable: 'no-such-variable',
  tag: 'no-such-tag',
};

/** An id of the right form that names nothing. */
function unknownId(kind: Kind): string | number {
  return unknownIds[kind] ?? '00000000-0000-4000-8000-000000000000';
}

function idOf(kind: Kind, world: World): string | number {
  return world.ids[kind][0] ?? unknownId(kind);
}

function paramsIn(route: Route, world: World): Record<string, string | number> {
  return Object.fromEntries(
    [...kindsOfParams(route)].map(([name, kind]) => [name, idOf(kind, world)]),
  );
}

/** A refusal without what differs from one request to the next. */
function withoutRequestId(text: string): unknown {
  return JSON.parse(text, (key, value: unknown) => (key === 'requestId' ? undefined : value));
}

function codeOf(text: string): unknown {
  return (JSON.parse(text) as { attributes: { code: unknown } }).attributes.code;
}

const documented = openApiDocument()['paths'] as Record<
  string,
  Record<string, { responses: Record<string, unknown> }>
>;

/** What even the right caller is refused in a world such as ours, and why. */
const notSuccessful: Readonly<Record<string, number>> = {
  // What the triggers are of runs nowhere, so that nobody has to wait for it.
  callCheckTrigger: 404,
  callCheckTriggerByPost: 404,
  callGroupTrigger: 404,
  callGroupTriggerByPost: 404,
  // Bodies that are streams: their own tests send them.
  uploadCodeBundle: 400,
  uploadCodeBundleOfClient: 400,
  agentUploadArtifact: 400,
  agentDownloadCodeBundle: 404,
  // Of a monitor, which has no screenshots.
  approveBaselines: 409,
  agentDownloadBaseline: 404,
  // Nothing was uploaded.
  peekCodeBundle: 404,
  downloadFile: 404,
  // The plan is committed.
  cancelImportPlan: 409,
  // The signature is what authorises.
  downloadArtifact: 400,
  downloadReport: 400,
  getOnCallCalendar: 400,
  // Nobody watches the run.
  agentSendLogs: 404,
  // No run of a suite is in progress.
  agentShareRun: 404,
  // It is the member that `removeAccountMember` has removed.
  removePerson: 404,
  removeMemberOfAccount: 404,
  // A key has no profile.
  updateMe: 404,
  changeMyPassword: 404,
  listMySessions: 404,
  endMySession: 404,
  getMySecondFactor: 404,
  beginMySecondFactor: 404,
  confirmMySecondFactor: 404,
  removeMySecondFactor: 404,
  getMyDevices: 404,
  addMyDevice: 404,
  testMyDevice: 404,
  removeMyDevice: 404,
  listMyPasskeys: 404,
  getMyPasskey: 404,
  beginMyPasskey: 404,
  addMyPasskey: 404,
  renameMyPasskey: 404,
  removeMyPasskey: 404,
  // Still in use.
  deletePrivateLocation: 409,
  deleteCheckGroup: 409,
  deleteAlertChannel: 409,
};

function statusesOf(route: Route): string[] {
  return Object.keys(documented[route.path]?.[route.method.toLowerCase()]?.responses ?? {});
}

test('every cell of operation by key answers as the contract says, and refusals change nothing', async (t) => {
  await using stage = await setUp();
  const { cp, clock, ours, theirs } = stage;
  const { services } = cp.controlPlane;
  const { accountId } = ours.world;
  const make = async (role: Role, expiresAt: number | null = null) =>
    (await createApiKey(services, accountId, { name: role, role, expiresAt })).rawKey;

  const expired = await make('OWNER', now + 60_000);
  const revoked = await createApiKey(services, accountId, { name: 'revoked' });
  for (const key of [expired, revoked.rawKey]) {
    // Both worked once, so that what is remembered about keys is tested as well.
    const { status } = await cp.api('GET', '/v1/accounts/me', undefined, {
      authorization: `Bearer ${key}`,
    });
    assert.equal(status, 200);
  }
  clock.advance(60_000);
  const gone = await cp.api('DELETE', `/v1/api-keys/${revoked.id}`, undefined, {
    authorization: `Bearer ${ours.key}`,
  });
  assert.equal(gone.status, 204);

  type Caller =
    { is: 'nobody' } | { is: 'apiKey'; role: Role } | { is: 'agent' } | { is: 'stranger' };
  const nobody: Caller = { is: 'nobody' };
  const bearer = (key: string) => `Bearer ${key}`;
  const ofRole = async (role: Role) =>
    [role, bearer(await make(role)), { is: 'apiKey', role }] as const;
  const ofPerson = async (role: Role) => {
    const person = await insertMember(services, { accountId, name: `person ${role}`, role });
    const { cookie } = await startPersonSession(services, accountId, person.id);
    return [`a person, ${role}`, `Cookie ${cookie}`, { is: 'apiKey', role }] as const;
  };
  const leaver = await insertMember(services, { accountId, name: 'leaver', role: 'READ_ONLY' });
  const left = await startPersonSession(services, accountId, leaver.id);
  await cp.api('DELETE', `/v1/people/${leaver.id}`, undefined, {
    authorization: `Bearer ${ours.key}`,
  });
  const callers: (readonly [string, string | undefined, Caller])[] = [
    ['no key', undefined, nobody],
    ['garbage', bearer(`cu_${'0'.repeat(64)}`), nobody],
    ['short garbage', bearer('x'), nobody],
    ['another scheme', `Basic ${ours.key}`, nobody],
    ['the bare key', ours.key, nobody],
    ['a key and more', bearer(`${ours.key} ${ours.key}`), nobody],
    ['the scheme alone', 'Bearer', nobody],
    ['a key that expired', bearer(expired), nobody],
    ['a key that was revoked', bearer(revoked.rawKey), nobody],
    ['the hash of a key', bearer((await hashOf(stage, accountId)) ?? ''), nobody],
    ['a person who was removed', `Cookie ${left.cookie}`, nobody],
    ['a key of an agent', bearer(ours.world.agentKey), { is: 'agent' }],
    ['a key of another account', bearer(theirs.key), { is: 'stranger' }],
    await ofRole('READ_ONLY'),
    await ofRole('READ_RUN'),
    await ofRole('READ_WRITE'),
    await ofRole('ADMIN'),
    await ofRole('OWNER'),
    ...(await Promise.all(roles.map(ofPerson))),
  ];

  /** 401, 403, or undefined for whoever is let in. */
  const refusalOf = (route: Route, caller: Caller): 401 | 403 | undefined => {
    switch (route.authentication) {
      case 'none':
        return undefined;
      case 'locationKey':
        return caller.is === 'agent' ? undefined : 401;
      case 'apiKey':
        if (caller.is === 'nobody' || caller.is === 'agent') return 401;
        // Names the account it does not belong to.
        if (caller.is === 'stranger') return 403;
        return includesRole(caller.role, roleOf(route)) ? undefined : 403;
    }
  };

  const byTurn = [
    callers.filter(([name, , { is }]) => is === 'nobody' && name !== 'no key'),
    callers.filter(([name, , { is }]) => is === 'apiKey' && name.startsWith('a person')),
    callers.filter(([name, , { is }]) => is === 'apiKey' && !name.startsWith('a person')),
  ];
  /**
   * Who asks for an operation. That a key is none, what a person may do, and that a role includes those below it, is
   * decided for all operations at one place: in the short tier those take turns, beside the least role that is enough
   * and the one below it.
   */
  const callersOf = (turn: number): typeof callers => {
    const route = routes[turn];
    const asking = new Set<unknown>(byTurn.map((each) => each[turn % each.length]));
    const least = route === undefined ? 0 : roles.indexOf(roleOf(route));
    for (const role of roles.slice(least, least + 2)) {
      asking.add(callers.find(([name]) => name === role));
    }
    return callers.filter((one) => isLong || asking.has(one) || !byTurn.flat().includes(one));
  };

  const covered = new Set<string>();
  // The person who has left, above.
  const changed = new Set(['removePerson']);
  /** An agent learns that no key of its arrived, and nobody anything else. */
  const unauthorized = { withoutKey: new Set<string>(), others: new Set<string>() };
  let cells = 0;
  // What deletes comes last, what revokes keys at the very end: the others need the objects.
  const order = (route: Route) =>
    route.method !== 'DELETE'
      ? 0
      : // It deletes what it owns.
        route.operationId.startsWith('deleteProject')
        ? 3
        : /check-groups|api-keys|private-locations|dashboards/.test(route.path)
          ? 2
          : 1;
  // The parts before the whole.
  const depth = (route: Route) => route.path.split('/').length;
  const routes = allRoutes.toSorted(
    (left, right) => order(left) - order(right) || order(left) * (depth(right) - depth(left)),
  );
  const before = await stage.dump();
  for (const [turn, route] of routes.entries()) {
    const params = paramsIn(route, ours.world);
    const body = ours.bodies.get(route.operationId);
    assert.equal(
      route.body !== undefined,
      body !== undefined,
      `world.ts has no example of a body of ${route.operationId}`,
    );
    assert.ok(route.body?.safeParse(body).success ?? true, `example of ${route.operationId}`);
    for (const [name, authorization, caller] of callersOf(turn)) {
      const expected = refusalOf(route, caller);
      if (expected === undefined) continue;
      const reply = await stage.send(
        route,
        authorization,
        params,
        body,
        caller.is === 'stranger' ? { 'x-service-account': accountId } : {},
      );
      cells += 1;
      const cell = `${route.operationId} with ${name}: ${reply.text}`;
      assert.equal(reply.status, expected, cell);
      assert.ok(statusesOf(route).includes(String(expected)), cell);
      if (expected === 401) {
        assert.equal(reply.headers.get('www-authenticate'), 'Bearer', cell);
        const hasKey = /^Bearer \S{8,512}$/.test(authorization ?? '');
        const isOfAgent = route.authentication === 'locationKey';
        const said = JSON.stringify(withoutRequestId(reply.text));
        unauthorized[isOfAgent && !hasKey ? 'withoutKey' : 'others'].add(said);
      } else {
        assert.equal(codeOf(reply.text), 'FORBIDDEN', cell);
      }
    }
  }
  assert.deepEqual(await stage.dump(), before, 'what was refused changed something');
  for (const [turn, route] of routes.entries()) {
    const params = paramsIn(route, ours.world);
    const body = ours.bodies.get(route.operationId);
    const admitted = callersOf(turn).filter(
      ([, , caller]) => refusalOf(route, caller) === undefined,
    );
    for (const [name, authorization] of admitted) {
      const reply = await stage.send(route, authorization, params, body);
      cells += 1;
      const cell = `${route.operationId} with ${name}: ${reply.status} ${reply.text}`;
      assert.ok(reply.status !== 401 && reply.status !== 403 && reply.status !== 500, cell);
      assert.ok(statusesOf(route).includes(String(reply.status)), cell);
      if (reply.status < 300 && AuditedCalls.covers(route)) changed.add(route.operationId);
      // Those that follow may find that the first has deleted what they ask for.
      if (name === admitted[0]?.[0]) {
        assert.equal(reply.status, notSuccessful[route.operationId] ?? route.status, cell);
      }
    }
    covered.add(route.operationId);
  }
  assert.deepEqual([...covered].sort(), allRoutes.map(({ operationId }) => operationId).sort());
  assert.equal(
    cells,
    routes.reduce((sum, _route, turn) => sum + callersOf(turn).length, 0),
  );
  const { others, withoutKey } = unauthorized;
  assert.deepEqual([others.size, withoutKey.size], [1, 1], 'every other 401 is the same');
  const noted = await services.db
    .selectFrom('audit_log')
    .select('operation')
    .distinct()
    .where('outcome', '=', 'DONE')
    // The system ends what another person had in the same browser, on its own account.
    .where('actor_kind', '<>', 'NOBODY')
    .execute();
  assert.deepEqual(
    noted.map(({ operation }) => operation).sort(),
    [...changed].sort(),
    'every change is in the audit log',
  );
  t.diagnostic(`${cells} cells, ${covered.size} operations`);
});

async function hashOf(stage: Stage, accountId: string): Promise<string | undefined> {
  const row = await stage.cp.controlPlane.services.db
    .selectFrom('api_keys')
    .select('key_hash')
    .where('account_id', '=', accountId)
    .executeTakeFirst();
  return row?.key_hash;
}

/** The tests that follow share one, the first as it was made. The last one changes what is theirs. */
let stage: Stage & AsyncDisposable;
before(async () => {
  stage = await setUp();
});
after(() => stage[Symbol.asyncDispose]());

test('no list of one account has anything of another', async (t) => {
  const { ours, theirs } = stage;
  let lists = 0;
  for (const route of allRoutes) {
    if (route.method !== 'GET' || route.authentication !== 'apiKey') continue;
    // What is reached through an object of one's own can list as well.
    const read = ({ key, world }: Inhabitant) =>
      stage.send(route, `Bearer ${key}`, paramsIn(route, world), undefined);
    const [mine, other] = [await read(ours), await read(theirs)];
    assert.equal(mine.status, other.status, route.operationId);
    assert.equal(mine.text.includes(theirs.world.marker), false, route.operationId);
    assert.equal(other.text.includes(ours.world.marker), false, route.operationId);
    for (const ids of Object.values(ours.world.ids).flat()) {
      const isTelling = typeof ids === 'string' && ids.length > 12;
      if (isTelling) assert.equal(other.text.includes(ids), false, route.operationId);
    }
    // Both see their own, so that an empty list passes for nothing.
    const shows = mine.text.includes(ours.world.marker);
    assert.equal(other.text.includes(theirs.world.marker), shows, route.operationId);
    if (shows) lists += 1;
  }
  assert.ok(lists >= 40, `only ${lists} operations showed anything`);
  t.diagnostic(`${lists} operations show names`);
});

/** Every way to put `theirs` into at least one of the parameters, and `ours` into the others. */
function swapsOf(
  route: Route,
  own: World,
  foreign: World,
): { foreign: Record<string, string | number>; unknown: Record<string, string | number> }[] {
  const parameters = [...kindsOfParams(route)].filter(([, kind]) => kind !== 'runtime');
  const swaps = [];
  for (let mask = 1; mask < 2 ** parameters.length; mask += 1) {
    const pick = (of: (kind: Kind) => string | number) =>
      Object.fromEntries(
        parameters.map(([name, kind], index) => [
          name,
          (mask & (1 << index)) === 0 ? idOf(kind, own) : of(kind),
        ]),
      );
    swaps.push({ foreign: pick((kind) => idOf(kind, foreign)), unknown: pick(unknownId) });
  }
  return swaps;
}

/** What existing clients ask for more than once, so that it is gone already. */
const answersToNothing: Readonly<Record<string, number>> = {
  deleteProject: 200,
  deleteProjectAtOnce: 200,
};

/** An answer with every id that the request named taken out. */
function withoutIds(text: string, ids: readonly unknown[]): unknown {
  let stripped = text;
  for (const id of ids.map(String).toSorted((left, right) => right.length - left.length)) {
    stripped = stripped.replaceAll(id, '<id>');
  }
  return withoutRequestId(stripped);
}

test('an id of another account is one that does not exist, wherever it stands in a path', async (t) => {
  const { ours, theirs } = stage;
  const before = await stage.dump();
  const tested = new Set<string>();
  let swaps = 0;
  for (const route of allRoutes) {
    if (route.authentication !== 'apiKey') continue;
    const body = theirs.bodies.get(route.operationId);
    for (const swap of swapsOf(route, theirs.world, ours.world)) {
      const ask = (params: Record<string, string | number>) =>
        stage.send(route, `Bearer ${theirs.key}`, params, body);
      const foreign = await ask(swap.foreign);
      const unknown = await ask(swap.unknown);
      tested.add(route.operationId);
      swaps += 1;
      const cell = `${route.operationId} with ${JSON.stringify(swap.foreign)}: ${foreign.text}`;
      const expected = answersToNothing[route.operationId] ?? 404;
      assert.equal(foreign.status, expected, cell);
      assert.equal(unknown.status, expected, cell);
      assert.deepEqual(
        withoutIds(foreign.text, Object.values(swap.foreign)),
        withoutIds(unknown.text, Object.values(swap.unknown)),
        cell,
      );
      assert.deepEqual(Object.keys(foreign.headers), Object.keys(unknown.headers));
    }
  }
  assert.deepEqual(await stage.dump(), before, 'something was changed');
  const expected = allRoutes.filter(
    (route) => route.authentication === 'apiKey' && [...kindsOfParams(route).values()].length > 0,
  );
  assert.equal(tested.size, expected.length);
  t.diagnostic(`${swaps} swaps in ${tested.size} operations`);
});

test('an agent acts for its own location, whatever it names', async (t) => {
  const { cp, ours } = stage;
  const { services } = cp.controlPlane;
  const { accountId } = ours.world;
  const elsewhere = await agentKeyOf(services, accountId, 'ap-south-1');
  const jobs = await services.db
    .selectFrom('jobs')
    .selectAll()
    .where('account_id', '=', accountId)
    .execute();
  assert.ok(jobs.length > 0);
  const jobIds = jobs.map(({ id }) => id);
  const agentId = '22222222-2222-4222-8222-222222222222';
  const result = (job: (typeof jobs)[number], runLocation: string) => ({
    kind: 'result',
    id: services.newId(),
    runId: job.run_id,
    checkId: job.check_id,
    checkRevision: 1,
    checkType: 'URL',
    name: 'forged',
    slotLocation: job.slot_location,
    runLocation,
    scheduledFor: null,
    jobId: job.id,
    attempt: 1,
    resultType: 'FINAL',
    retryElsewhere: null,
    startedAt: now,
    stoppedAt: now,
    responseTime: 1,
    hasFailures: true,
    hasErrors: false,
    isDegraded: false,
    overMaxResponseTime: false,
    underLoad: false,
    epoch: 1,
    apiCheckResult: null,
  });
  const bodies: Record<string, unknown> = {
    agentCheckIn: ours.bodies.get('agentCheckIn'),
    agentSubmitResults: { agentId, items: jobs.map((job) => result(job, job.location)) },
    agentRenewLeases: { agentId, jobIds },
    agentReleaseJobs: { agentId, jobIds },
    agentShareRun: {
      ...{ agentId, has: [], claims: true, waitMs: 0 },
      run: {
        ...{ checkId: jobs[0]?.check_id, checkRevision: 1, runId: jobs[0]?.run_id, attempt: 1 },
        ...{ slotLocation: jobs[0]?.slot_location, scheduledFor: null, jobId: jobs[0]?.id },
      },
    },
    agentFinishShard: { agentId, jobId: jobIds[0], outcome: JSON.stringify(outcomeOfShard) },
    agentReportOpenRuns: {
      agentId,
      runs: jobs.map(({ run_id: runId, check_id: checkId, slot_location: slotLocation }) => ({
        ...{ runId, checkId, slotLocation, scheduledFor: null, startedAt: now, attempt: 9 },
      })),
    },
    agentSendLogs: {
      ...{ agentId, runId: jobs[0]?.run_id, position: 0 },
      lines: [{ timestamp: now, message: 'forged' }],
    },
    agentGoodbye: { agentId },
    agentReportErrors: { agentId, version: '1', events: [{ code: 'TEST', count: 1 }] },
  };
  /** What belongs to locations of ours other than the one the key is for. */
  const protectedTables = async () => {
    const dump = await stage.dump(accountId);
    return Object.fromEntries(
      Object.entries(dump).map(([table, rows]) => [
        table,
        rows.filter((row) => !row.includes('ap-south-1')),
      ]),
    );
  };
  const before = await protectedTables();
  const tested: string[] = [];
  for (const route of allRoutes.filter(({ authentication }) => authentication === 'locationKey')) {
    const body = bodies[route.operationId];
    tested.push(route.operationId);
    if (route.body === undefined) {
      // What belongs to another location is not there.
      const digest = `sha-256=${createHash('sha256').digest('base64')}`;
      const reply = await stage.send(
        route,
        `Bearer ${elsewhere}`,
        paramsIn(route, ours.world),
        undefined,
        { digest },
      );
      assert.equal(reply.status, 404, reply.text);
      assert.deepEqual(await protectedTables(), before, route.operationId);
      continue;
    }
    assert.ok(route.body.safeParse(body).success, `an attack on ${route.operationId}`);
    const reply = await stage.send(route, `Bearer ${elsewhere}`, {}, body);
    // What is printed names one run, which is not there for another location.
    const isAboutOneRun = ['agentSendLogs', 'agentShareRun'].includes(route.operationId);
    const status = isAboutOneRun ? 404 : route.status;
    assert.equal(reply.status, status, reply.text);
    const answer = (reply.text === '' ? {} : JSON.parse(reply.text)) as {
      location?: string;
      upserts?: unknown[];
      jobs?: unknown[];
      items?: { outcome: string }[];
      renewed?: string[];
    };
    assert.equal(answer.location ?? 'ap-south-1', 'ap-south-1');
    assert.deepEqual([...(answer.upserts ?? []), ...(answer.jobs ?? [])], []);
    assert.deepEqual(answer.renewed ?? [], []);
    for (const { outcome } of answer.items ?? []) assert.equal(outcome, 'refused');
    assert.deepEqual(await protectedTables(), before, route.operationId);
  }
  assert.equal(tested.length, Object.keys(bodies).length + 3);
  t.diagnostic(tested.join(', '));
});

type Ids = Readonly<Record<Kind, string | number>>;

/** Bodies name other objects in these fields; wherever one of them stands, it is put to the test. */
const references: Readonly<Record<string, (ids: Ids) => unknown>> = {
  groupId: (ids) => ids.group,
  checkId: (ids) => ids.check,
  checkIds: (ids) => [ids.check],
  checkSessionId: (ids) => ids.session,
  alertChannelSubscriptions: (ids) => [{ alertChannelId: ids.alertChannel, activated: true }],
  subscriptions: (ids) => [{ checkId: ids.check, activated: true }],
  privateLocations: (ids) => [ids.slug],
  setupSnippetId: (ids) => ids.snippet,
  tearDownSnippetId: (ids) => ids.snippet,
  triggerIncident: (ids) => ({
    serviceId: ids.service,
    severity: 'MINOR',
    name: 'x',
    description: 'x',
    notifySubscribers: false,
  }),
  services: (ids) => [{ id: ids.service }],
  cards: (ids) => [{ name: 'x', services: [{ id: ids.service }] }],
  dashboardId: (ids) => ids.dashboardNumber,
  target: (ids) => ({ checkId: [ids.check] }),
};

/** Further ways to name the same, in fields that know several. */
const furtherReferences: Readonly<Record<string, (ids: Ids) => unknown>> = {
  target: (ids) => ({ matchTags: [[ids.tag]] }),
  subscriptions: (ids) => [{ groupId: ids.group, activated: true }],
};

interface ReferenceCase {
  route: Route;
  field: string;
  bodyWith: (ids: Ids) => Record<string, unknown>;
}

function referenceCases(bodies: ReadonlyMap<string, unknown>, sample: Ids): ReferenceCase[] {
  const cases: ReferenceCase[] = [];
  for (const route of allRoutes) {
    if (route.authentication !== 'apiKey' || route.body === undefined) continue;
    const example = bodies.get(route.operationId) as Record<string, unknown>;
    for (const table of [references, furtherReferences]) {
      for (const [field, make] of Object.entries(table)) {
        // A subscription names either a check or a group.
        const rest = { ...example };
        if (field === 'groupId' && 'checkId' in rest) delete rest['checkId'];
        const bodyWith = (ids: Ids) => ({ ...rest, [field]: make(ids) });
        const parsed = route.body.safeParse(bodyWith(sample));
        const isKept =
          parsed.success && field in (parsed.data as object) && !isEmpty(parsed.data, field);
        if (isKept) cases.push({ route, field, bodyWith });
      }
    }
  }
  return cases;
}

function isEmpty(data: unknown, field: string): boolean {
  const value = (data as Record<string, unknown>)[field];
  return Array.isArray(value) && value.length === 0;
}

function idsOf(world: World): Ids {
  return Object.fromEntries(
    Object.keys(world.ids).map((kind) => [kind, idOf(kind as Kind, world)]),
  ) as unknown as Ids;
}

test('a reference to an object of another account is one to nothing', async (t) => {
  const { ours, theirs } = stage;
  const foreignIds = idsOf(ours.world);
  const unknownOnes = Object.fromEntries(
    Object.keys(foreignIds).map((kind) => [kind, unknownId(kind as Kind)]),
  ) as unknown as Ids;
  const oursBefore = await stage.dump(ours.world.accountId);
  const cases = referenceCases(theirs.bodies, unknownOnes);
  const fields = new Set<string>();
  let taken = 0;
  let before = await stage.dump();
  for (const { route, field, bodyWith } of cases) {
    const params = paramsIn(route, theirs.world);
    const ask = (ids: Ids) => stage.send(route, `Bearer ${theirs.key}`, params, bodyWith(ids));
    const foreign = await ask(foreignIds);
    const unknown = await ask(unknownOnes);
    fields.add(field);
    const cell = `${field} of ${route.operationId}: ${foreign.text} and ${unknown.text}`;
    assert.equal(foreign.status, unknown.status, cell);
    assert.ok(foreign.status < 500, cell);
    if (foreign.status >= 400) {
      assert.deepEqual(
        withoutIds(foreign.text, Object.values(foreignIds)),
        withoutIds(unknown.text, Object.values(unknownOnes)),
        cell,
      );
      assert.deepEqual(await stage.dump(), before, `${cell}: refused, and changed`);
    } else {
      taken += 1;
      before = await stage.dump();
      assert.equal(foreign.text.includes(ours.world.marker), false, cell);
    }
  }
  assert.deepEqual(await stage.dump(ours.world.accountId), oursBefore, 'ours were changed');
  const possible = [...new Set(Object.keys(references))];
  assert.deepEqual([...fields].sort(), possible.sort(), 'a field of the table stands nowhere');
  t.diagnostic(`${cases.length} references, ${taken} of them ignored`);
});
