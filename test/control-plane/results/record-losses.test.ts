// SQLite only: what is lost is a part of its files.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { cpSync, existsSync, rmSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { pino } from 'pino';
import {
  isRecordLost,
  missingSince,
} from '../../../control-plane/scheduling/decide/record-loss.ts';
import { passTime, startTestControlPlane } from '../../support/control-plane.ts';
import { withLeases } from '../../support/leased-runs.ts';
import { Bench, minute, now } from '../../support/results.ts';
import { temporaryFolder } from '../../support/system.ts';
import { TestClock } from '../../support/test-clock.ts';

test('only a mark of an earlier process that lies ahead of the start tells of a loss', () => {
  const start = { seq: 100, at: 5_000 };
  const mark = { run: 'before', seq: 130, at: 9_000 };
  assert.deepEqual(missingSince(mark, 'now', start), { since: 5_000, until: 9_000, results: 30 });
  assert.equal(missingSince({ ...mark, run: 'now' }, 'now', start), null);
  assert.equal(missingSince({ ...mark, seq: 100 }, 'now', start), null);
  assert.equal(missingSince({ ...mark, at: 1 }, 'now', start)?.until, 5_000);
  const losses = [{ since: 5_000, until: 9_000 }];
  assert.deepEqual(
    [3_999, 4_001, 9_000, 9_001].map((slot) => isRecordLost(slot, losses, 1_000)),
    [false, true, true, false],
  );
});

test('a database that lost acknowledged results says how many, since when, and whose slots', async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, 'cp.db');
  const clock = new TestClock(now);
  const lines: { level: number; msg: string }[] = [];
  const logger = pino({ level: 'error' }, { write: (line) => lines.push(JSON.parse(line)) });
  const start = () => startTestControlPlane({ clock, file, logger, requestsPerMinute: 0 });
  const agentId = randomUUID();
  let key: string;
  let mark = '';
  let forged: string;
  {
    await using cp = await start();
    const bench = new Bench(clock, cp);
    const checkId = await bench.check('url');
    key = await cp.locationKey('eu-west-1');
    const submit = async (at: number): Promise<string> => {
      const result = bench.result(checkId, 'URL', at);
      const items = await withLeases(cp.controlPlane.services, cp.accountId, [result]);
      const { status, body } = await cp.api(
        'POST',
        '/v1/agent/results',
        { agentId, items },
        { authorization: `Bearer ${key}` },
      );
      assert.equal(status, 200);
      return body.acknowledged as string;
    };
    forged = await submit(now - 5 * minute);
    const { db } = cp.controlPlane.services;
    await db.executeQuery({
      ...{ sql: 'pragma wal_checkpoint(truncate)', parameters: [] },
      query: { kind: 'RawNode', sqlFragments: [''], parameters: [] },
      queryId: { queryId: 'checkpoint' },
    } as never);
    // What a log that was cut off leaves.
    cpSync(file, `${file}.then`);
    clock.advance(minute);
    for (const at of [4, 3, 2]) mark = await submit(now - at * minute);
  }
  // Without the mark beside it, agents alone know.
  for (const suffix of ['-wal', '-shm', '.mark']) rmSync(file + suffix, { force: true });
  cpSync(`${file}.then`, file);
  clock.advance(minute);

  await using cp = await start();
  const show = (acknowledged: string) =>
    cp.api(
      'POST',
      '/v1/agent/results',
      { agentId, items: [{}], acknowledged },
      { authorization: `Bearer ${key}` },
    );
  const health = async () => (await (await fetch(`${cp.url}/health`)).json()) as { status: string };
  await show(forged);
  await show('not a mark');
  assert.equal((await health()).status, 'ok');
  await show(mark);
  await show(mark);
  assert.match((await health()).status, /^up to 3 results that were stored between .* are missing/);
  assert.equal(lines.filter(({ msg }) => msg.includes('are missing')).length, 1);
  const rows = await cp.controlPlane.services.db.selectFrom('record_losses').selectAll().execute();
  assert.deepEqual(
    rows.map(({ since, until, results }) => ({ since, until, results })),
    [{ since: now, until: now + minute, results: 3 }],
  );
});

const aliveAfter = 2 * minute;
const copyOf = (file: string, name: string) => {
  for (const suffix of ['', '-wal', '.key']) {
    if (existsSync(file + suffix)) cpSync(file + suffix, name + suffix);
  }
};

/** What is done to the files of a control plane that was killed, and what the next one says. */
const losses: Record<
  string,
  { work: 'result' | 'check'; lose: (file: string) => void; says: RegExp }
> = {
  'is as it was': { work: 'result', lose: () => undefined, says: /^ok$/ },
  'lost its log with a result': {
    work: 'result',
    lose: (file) => {
      rmSync(`${file}-wal`, { force: true });
    },
    says: /^up to 1 results that were stored between .* are missing/,
  },
  'lost a half of its log with a check': {
    work: 'check',
    lose: (file) => {
      truncateSync(`${file}-wal`, statSync(`${file}-wal`).size / 2);
    },
    says: /^changes that were stored between .* are missing/,
  },
  'is an older copy': {
    work: 'check',
    lose: (file) => {
      rmSync(`${file}-wal`, { force: true });
      copyOf(`${file}.before`, file);
    },
    says: /^changes that were stored between .* are missing/,
  },
  'is another one, with another key': {
    work: 'result',
    lose: (file) => {
      for (const suffix of ['', '-wal', '-shm', '.key']) rmSync(file + suffix, { force: true });
    },
    says: /^ok$/,
  },
};

for (const [what, { work, lose, says }] of Object.entries(losses)) {
  test(`a database that ${what} is known by the mark beside it`, async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, 'cp.db');
    const killed = join(folder.path, 'killed.db');
    const clock = new TestClock(now);
    {
      await using cp = await startTestControlPlane({ clock, file });
      const bench = new Bench(clock, cp);
      const checkId = await bench.check('url');
      const key = await cp.locationKey('eu-west-1');
      copyOf(file, `${killed}.before`);
      await passTime(clock, aliveAfter);
      if (work === 'check') {
        for (let index = 0; index < 20; index += 1) await bench.check('url');
        await passTime(clock, aliveAfter);
      } else {
        const result = bench.result(checkId, 'URL', now);
        const items = await withLeases(cp.controlPlane.services, cp.accountId, [result]);
        const body = { agentId: randomUUID(), items };
        await cp.api('POST', '/v1/agent/results', body, { authorization: `Bearer ${key}` });
      }
      copyOf(file, killed);
      cpSync(`${file}.mark`, `${killed}.mark`);
    }
    lose(killed);
    const said = async () => {
      await using cp = await startTestControlPlane({ clock, file: killed });
      const health = await fetch(`${cp.url}/health`);
      const readiness = await fetch(`${cp.url}/-/readiness`);
      const texts = await Promise.all([health, readiness].map((answer) => answer.json()));
      assert.deepEqual(texts[0], texts[1]);
      const rows = await cp.controlPlane.services.db
        .selectFrom('record_losses')
        .selectAll()
        .execute();
      return { status: (texts[0] as { status: string }).status, rows: rows.length };
    };
    const first = await said();
    assert.match(first.status, says);
    assert.deepEqual(await said(), first, 'a restart neither forgets nor repeats it');
  });
}
