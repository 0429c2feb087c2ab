// PostgreSQL only: it starts a standby.
// A real primary with a standby that streams from it.
import assert from 'node:assert/strict';
import test, { after, before, type TestContext } from 'node:test';
import { sql } from 'kysely';
import { pino } from 'pino';
import { type PostgresServer, startPostgres } from '../../../scripts/cluster/postgres.ts';
import { startTestControlPlane, type TestControlPlane } from '../../support/control-plane.ts';
import { FaultProxy } from '../../../proof/fault-proxy.ts';
import { makeTemplate } from '../../support/postgres.ts';
import { eventually as waitFor } from '../../support/system.ts';
import { TestClock } from '../../support/test-clock.ts';

const start = Date.parse('2026-11-21T08:00:00Z');
const second = 1_000;
const database = 'monitor';

let primary: PostgresServer;
let standby: PostgresServer;

before(async () => {
  // A commit that was answered is in the log, so that the standby can be waited for.
  primary = await startPostgres({ settings: { synchronous_commit: 'on' } });
  await primary.query('create database empty');
  await primary.query('create database template_monitor');
  await makeTemplate(primary.url('template_monitor'));
  standby = await primary.startStandby();
});

after(async () => {
  await standby[Symbol.asyncDispose]();
  await primary[Symbol.asyncDispose]();
});

const eventually = (isTrue: () => Promise<boolean>): Promise<void> =>
  waitFor(isTrue, () => String(isTrue));

/** Until the standby shows all that the primary has committed. */
async function untilCaughtUp(): Promise<void> {
  const [now] = await primary.query<{ lsn: string }>('select pg_current_wal_lsn() as lsn');
  await eventually(async () => {
    const [row] = await standby.query<{ is_there: boolean }>(
      `select pg_last_wal_replay_lsn() >= '${now?.lsn}' as is_there`,
    );
    return row?.is_there === true;
  });
}

interface Line {
  level: number;
  msg: string;
}

/** A control plane with a standby, that says what it logged about it. */
async function begin(context: TestContext, readUrl = standby.url(database)) {
  await primary.query(`drop database if exists ${database} with (force)`);
  await primary.query(`create database ${database} template template_monitor strategy file_copy`);
  await untilCaughtUp();
  const lines: Line[] = [];
  const logger = pino(
    { level: 'info' },
    {
      write(text: string) {
        const line = JSON.parse(text) as Line & { subsystem?: string };
        if (line.subsystem === 'standby') lines.push(line);
      },
    },
  );
  const clock = new TestClock(start);
  const cp = await startTestControlPlane({
    ...{ databaseUrl: primary.url(database), readUrl, clock, logger },
    settings: { ENCRYPTION_KEY: 'k'.repeat(40), PUBLIC_URL: 'https://m.example' },
  });
  context.after(() => cp[Symbol.asyncDispose]());
  const { readPool, replicas } = cp.controlPlane.services;
  const { body: check } = await cp.api('POST', '/v1/checks/url', {
    name: 'first',
    request: { url: 'http://shop.example' },
    locations: ['eu-west-1'],
  });
  return {
    ...{ cp, clock, lines, readPool, checkId: check.id as string },
    /** Until the standby shows all that was written before. */
    async untilUsed() {
      clock.advance(1);
      // The first may have begun before.
      await replicas.beat();
      await eventually(async () => {
        await replicas.beat();
        await readPool.measure();
        return readPool.usesStandby;
      });
      await untilCaughtUp();
      await readPool.measure();
    },
  };
}

/** Stops the standby from following until the test ends. */
async function pauseReplay(context: TestContext): Promise<() => Promise<void>> {
  await standby.query('select pg_wal_replay_pause()');
  const resume = async () => {
    await standby.query('select pg_wal_replay_resume()');
  };
  context.after(resume);
  await eventually(async () => {
    const [row] = await standby.query<{ state: string }>(
      'select pg_get_wal_replay_pause_state() as state',
    );
    return row?.state === 'paused';
  });
  return resume;
}

/** As another replica does: this one does not know. */
async function renameElsewhere({ controlPlane }: TestControlPlane, name: string): Promise<void> {
  await controlPlane.services.db.updateTable('checks').set({ name }).execute();
}

async function namesOf(cp: TestControlPlane, checkId: string): Promise<string[]> {
  const analytics = await cp.api(
    'GET',
    `/v1/analytics/url-monitors/${checkId}?metrics=availability`,
  );
  assert.equal(analytics.status, 200, JSON.stringify(analytics.body));
  const report = await cp.api('GET', '/v1/reporting');
  assert.equal(report.status, 200);
  const scraped = await fetch(`${cp.url}/v1/reporting?format=csv`, {
    headers: { authorization: `Bearer ${cp.apiKey}` },
  });
  const csv = await scraped.text();
  return [analytics.body.name, report.body[0].name, csv.split('\n')[1]?.split(',')[0] ?? ''];
}

const threeTimes = (name: string): string[] => [name, name, name];

test('reports are read from a standby until it is more than five seconds behind, and from there again', async (context) => {
  const { cp, clock, lines, readPool, checkId, untilUsed } = await begin(context);
  await untilUsed();
  const resume = await pauseReplay(context);
  await renameElsewhere(cp, 'second');
  assert.deepEqual(await namesOf(cp, checkId), threeTimes('first'));
  clock.advance(5 * second);
  assert.equal(readPool.usesStandby, true);
  clock.advance(2 * second);
  assert.equal(readPool.usesStandby, false);
  assert.deepEqual(await namesOf(cp, checkId), threeTimes('second'));
  await resume();
  await untilUsed();
  await pauseReplay(context);
  await renameElsewhere(cp, 'third');
  assert.deepEqual(await namesOf(cp, checkId), threeTimes('second'));
  assert.deepEqual(
    lines.map(({ level, msg }) => `${level} ${msg}`),
    [
      '30 analytics, exports and status pages are read from the standby',
      '40 the standby of DATABASE_READ_URL is away or more than 5 seconds behind: everything is read from the primary',
      '30 analytics, exports and status pages are read from the standby',
    ],
  );
});

test('what an account has changed it sees at once, in reports and on its status page', async (context) => {
  const { cp, readPool, checkId, untilUsed } = await begin(context);
  const { body: service } = await cp.api('POST', '/v1/status-pages/services', { name: 'Checkout' });
  const page = {
    name: 'Shop',
    url: 'shop',
    cards: [{ name: 'All', services: [{ id: service.id }] }],
  };
  const { body: made } = await cp.api('POST', '/v1/status-pages', page);
  const title = async (): Promise<string> => {
    const { body } = await cp.api('GET', '/status/shop/api/v2/status.json');
    return body.page.name as string;
  };
  assert.equal(await title(), 'Shop');
  await untilUsed();
  const resume = await pauseReplay(context);
  const renamed = await cp.api('PUT', `/v1/status-pages/${made.id}`, { ...page, name: 'Store' });
  assert.equal(renamed.status, 200);
  await cp.api('PUT', `/v1/checks/url/${checkId}`, {
    name: 'second',
    request: { url: 'http://shop.example' },
    locations: ['eu-west-1'],
  });
  assert.equal(readPool.usesStandby, true);
  assert.equal(await title(), 'Store');
  assert.deepEqual(await namesOf(cp, checkId), threeTimes('second'));
  await resume();
  await untilUsed();
  await pauseReplay(context);
  await renameElsewhere(cp, 'third');
  assert.deepEqual(await namesOf(cp, checkId), threeTimes('second'));
});

test('a standby that crashes in the middle of a query costs no request, and is used once it is back', async (context) => {
  const { cp, lines, readPool, checkId, untilUsed } = await begin(context);
  await untilUsed();
  let runs = 0;
  const reading = readPool.read(cp.accountId, async (db) => {
    runs += 1;
    const { rows } = await sql<{ is_standby: boolean }>`
      select pg_is_in_recovery() as is_standby,
        case when pg_is_in_recovery() then pg_sleep(20) end as slept`.execute(db);
    return rows[0]?.is_standby;
  });
  await eventually(async () => {
    const rows = await standby.query(
      `select 1 from pg_stat_activity where query like '%pg_sleep%' and pid <> pg_backend_pid()`,
    );
    return rows.length > 0;
  });
  await standby.stop('immediate');
  assert.equal(await reading, false);
  assert.equal(runs, 2);
  assert.deepEqual(await namesOf(cp, checkId), threeTimes('first'));
  await readPool.measure();
  assert.equal(readPool.usesStandby, false);
  await standby.start();
  await untilUsed();
  assert.deepEqual(
    lines.map(({ level }) => level),
    [30, 40, 30],
  );
});

test('a read that a silent standby does not answer is repeated on the primary', async (context) => {
  await using link = await FaultProxy.start(standby.port);
  const through = new URL(standby.url(database));
  through.port = String(link.port);
  const { cp, clock, readPool, untilUsed } = await begin(context, through.href);
  await untilUsed();
  await link.fail({ kind: 'silence' });
  let runs = 0;
  const reading = readPool.read(cp.accountId, async (db) => {
    runs += 1;
    const { rows } = await sql<{ is_standby: boolean }>`
      select pg_is_in_recovery() as is_standby`.execute(db);
    return rows[0]?.is_standby;
  });
  clock.advance(8 * second);
  assert.equal(await reading, false);
  assert.equal(runs, 2);
});

test('a standby that is away at the start is used once it is there', async (context) => {
  await using link = await FaultProxy.start(standby.port);
  const through = new URL(standby.url(database));
  through.port = String(link.port);
  await link.fail({ kind: 'down' });
  const { cp, lines, checkId, untilUsed } = await begin(context, through.href);
  assert.deepEqual(await namesOf(cp, checkId), threeTimes('first'));
  await link.heal();
  await untilUsed();
  assert.deepEqual(
    lines.map(({ level }) => level),
    [40, 30],
  );
});

test('a database that is no standby of the installation is refused, with the setting', async (context) => {
  for (const [readUrl, sentence] of [
    [
      primary.url('empty'),
      /^DATABASE_READ_URL: the database 127\.0\.0\.1:\d+\/empty is not a stand/,
    ],
    [
      primary.url('template_monitor'),
      /^DATABASE_READ_URL: .* is not a standby of the one in DATABASE_URL: name one that replicates/,
    ],
    [
      standby.url('nothing'),
      /^DATABASE_READ_URL: .*\/nothing cannot be used \(.*\): check the user, the password and the name/,
    ],
  ] as const) {
    await assert.rejects(begin(context, readUrl), { message: sentence, exitCode: 2 });
  }
});
