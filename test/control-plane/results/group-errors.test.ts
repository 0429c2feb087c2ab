import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import test from 'node:test';
import { groupErrors } from '../../../control-plane/results/group-errors.ts';
import { startTestControlPlane } from '../../support/control-plane.ts';
import { resultRow, runRow } from '../../support/result-rows.ts';

const start = Date.parse('2026-11-21T08:00:00Z');

/** A check, and a way to store results of it that end in errors. */
async function setUp() {
  const cp = await startTestControlPlane();
  const { db } = cp.controlPlane.services;
  const { body } = await cp.api('POST', '/v1/checks/url', {
    name: 'a',
    locations: ['eu-west-1'],
    frequency: 1,
    request: { url: 'https://a.example' },
  });
  const checkId = body.id as string;
  const owner = { accountId: cp.accountId, checkId };
  const run = await db
    .insertInto('check_runs')
    .values({ ...runRow(owner, start), scheduled_for: start })
    .returning('id')
    .executeTakeFirstOrThrow();
  const fail = async (messages: readonly string[], now = start) => {
    const result = resultRow(owner, run.id, now, { has_failures: 1, scheduled_for: now });
    const resultId = result.id;
    const ids = await db.transaction().execute(async (transaction) => {
      await transaction.insertInto('check_results').values(result).execute();
      const errors = { ...owner, resultId, runDay: 0, messages, now };
      return groupErrors(transaction, [errors], randomUUID);
    });
    return { resultId, ids: ids[0] ?? [] };
  };
  const read = async (id: string | undefined) =>
    (await cp.api('GET', `/v1/error-groups/${id ?? ''}`)).body as Record<string, unknown>;
  return { cp, db, checkId, fail, read };
}

test('similar errors are one group, which knows when it was first and last seen', async () => {
  const { cp, db, fail, read } = await setUp();
  await using _cp = cp;
  const first = await fail(['Timeout 30000ms exceeded']);
  const second = await fail(['Timeout 15000ms exceeded', 'HTTP 500'], start + 60_000);
  assert.deepEqual(second.ids.slice(0, 1), first.ids);
  const group = await read(first.ids[0]);
  assert.equal(group['cleanedErrorMessage'], 'Timeout <duration> exceeded');
  assert.equal(group['rawErrorMessage'], 'Timeout 15000ms exceeded');
  assert.equal(group['firstSeen'], '2026-11-21T08:00:00.000Z');
  assert.equal(group['lastSeen'], '2026-11-21T08:01:00.000Z');
  const links = await db.selectFrom('check_result_error_groups').selectAll().execute();
  const linked = (resultId: string) => links.filter((link) => link.result_id === resultId).length;
  assert.deepEqual([linked(first.resultId), linked(second.resultId)], [1, 2]);
});

test('a late result only widens the time in which a group was seen', async () => {
  const { cp, fail, read } = await setUp();
  await using _cp = cp;
  const { ids } = await fail(['took 2 s'], start);
  await cp.api('PATCH', `/v1/error-groups/${ids[0] ?? ''}`, { archivedUntilNextEvent: true });
  await fail(['took 3 s'], start - 60_000);
  const group = await read(ids[0]);
  assert.deepEqual(
    [
      group['firstSeen'],
      group['lastSeen'],
      group['rawErrorMessage'],
      group['archivedUntilNextEvent'],
    ],
    ['2026-11-21T07:59:00.000Z', '2026-11-21T08:00:00.000Z', 'took 2 s', true],
  );
});

test('an archived group is back with the next event, unless it was archived for ever', async () => {
  const { cp, fail, read } = await setUp();
  await using _cp = cp;
  const listed = async () => ((await cp.api('GET', '/v1/error-groups')).body as unknown[]).length;
  const { ids } = await fail(['boom']);
  const path = `/v1/error-groups/${ids[0] ?? ''}`;
  await cp.api('PATCH', path, { archivedUntilNextEvent: true });
  await fail(['boom'], start + 1);
  assert.equal((await read(ids[0]))['archivedUntilNextEvent'], false);
  await cp.api('PATCH', path, { archiveForEver: true });
  await fail(['boom'], start + 2);
  assert.equal(await listed(), 0);
  assert.equal((await read(ids[0]))['lastSeen'], '2026-11-21T08:00:00.002Z');
});

test('one result belongs to twenty groups at most, each once, and to none without a message', async () => {
  const { cp, fail } = await setUp();
  await using _cp = cp;
  const letters = Array.from({ length: 30 }, (_, index) => String.fromCharCode(97 + (index % 26)));
  const messages = letters.map((letter, index) => `${letter.repeat(3)} ${index} broke`);
  const { ids } = await fail([...messages, ...messages]);
  assert.equal(new Set(ids).size, 20);
  assert.deepEqual((await fail(['', '\u001b[0m \n'])).ids, []);
});

test('a check with a thousand groups gets room from its archived ones, then no further group', async () => {
  const { cp, db, checkId, fail, read } = await setUp();
  await using _cp = cp;
  const rows = Array.from({ length: 1_000 }, (_, index) => ({
    id: randomUUID(),
    account_id: cp.accountId,
    check_id: checkId,
    error_hash: String(index),
    raw_message: null,
    cleaned_message: String(index),
    first_seen_at: index,
    last_seen_at: index,
    archived_until_next_event: 0,
    archived_for_ever: index === 7 || index === 9 ? 1 : 0,
  }));
  for (let at = 0; at < rows.length; at += 100) {
    await db
      .insertInto('error_groups')
      .values(rows.slice(at, at + 100))
      .execute();
  }
  const has = async (index: number) =>
    (await cp.api('GET', `/v1/error-groups/${rows[index]?.id ?? ''}`)).status === 200;
  const own = await fail(['one more']);
  assert.equal((await read(own.ids[0]))['cleanedErrorMessage'], 'one more');
  assert.deepEqual([await has(7), await has(9)], [false, true]);
  await fail(['and another']);
  const [third, fourth] = [await fail(['too many']), await fail(['far too many'])];
  assert.deepEqual(third.ids, fourth.ids);
  assert.match(
    String((await read(third.ids[0]))['cleanedErrorMessage']),
    /1000 error groups already/,
  );
  assert.deepEqual((await fail(['one more'])).ids, own.ids);
});
