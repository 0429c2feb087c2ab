/**
 * The outbox after damage, with real files. TEST_CASES=300 TEST_SEED=… plays more. A record must survive
 * when none of the pages on which a part of it lies was touched.
 */
import assert from 'node:assert/strict';
import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { pino } from 'pino';
import { Damages } from '../../../agent/damage.ts';
import { Outbox } from '../../../agent/worker/outbox.ts';
import { damageFile, damageKinds } from '../../../proof/damage.ts';
import { testCases, touchedTexts } from '../../support/damage.ts';
import { seededRandom, testSeed } from '../../support/random.ts';
import { temporaryFolder } from '../../support/system.ts';
import { TestClock } from '../../support/test-clock.ts';

const logger = pino({ level: 'silent' });

function idOf(random: () => number): string {
  const digits = () =>
    Math.floor(random() * 65_536)
      .toString(16)
      .padStart(4, '0');
  return [digits() + digits(), digits(), digits(), digits(), digits() + digits() + digits()].join(
    '-',
  );
}

function open(directory: string) {
  const clock = new TestClock(1_000_000);
  const damages = new Damages(() => clock.now(), logger);
  const outbox = new Outbox({
    ...{ directory, clock, logger, damages, maxBytes: 1e9, maxAgeMs: 3_600_000 },
    hasEndedUncleanly: true,
  });
  return { outbox, damages };
}

const payloadsIn = (outbox: Outbox): string[] =>
  outbox.take(0, Number.MAX_SAFE_INTEGER, 100_000, 1e9).map(({ payload }) => payload);

/** Fills an outbox as days of work do, and copies its files as a kill would leave them. */
function fill(directory: string, snapshot: string, random: () => number): Map<string, string> {
  const { outbox } = open(directory);
  const waiting = new Map<string, string>();
  const commits = 1 + Math.floor(random() * 40);
  for (let commit = 0; commit < commits; commit += 1) {
    const count = 1 + Math.floor(random() * 30);
    for (let index = 0; index < count; index += 1) {
      const id = idOf(random);
      const parts = random() < 0.1 ? Math.floor(random() * 900) : Math.floor(random() * 30);
      const submission = {
        ...{ kind: 'result', id, checkId: idOf(random), scheduledFor: 1_000 + index },
        text: `${id} `.repeat(1 + parts),
      } as never;
      void outbox.put({
        submission,
        finishedSlot: { checkId: idOf(random), scheduledFor: 1_000 + index },
        ...(random() < 0.2
          ? { pendingRetry: { runId: id, dueAt: 5, payload: id.repeat(40) } }
          : {}),
      });
      waiting.set(id, JSON.stringify(submission));
    }
    outbox.commit();
    if (random() < 0.4) {
      const done = outbox.take(0, Number.MAX_SAFE_INTEGER, Math.floor(random() * 60), 1e9);
      outbox.acknowledge(done.map(({ seq }) => seq));
      for (const { payload } of done) {
        waiting.delete((JSON.parse(payload) as { id: string }).id);
      }
    }
  }
  cpSync(directory, snapshot, { recursive: true });
  void outbox[Symbol.asyncDispose]();
  return waiting;
}

test('an outbox opens whatever was done to its files, keeps what is whole, and counts what is lost', async (t) => {
  const seed = testSeed();
  t.diagnostic(`seed ${seed}`);
  const cases = testCases(40);
  const random = seededRandom(seed);
  const names = ['outbox.db', 'outbox.db-wal', 'outbox.mark'];
  const tally = { damaged: 0, lost: 0, kept: 0 };
  for (let number = 0; number < cases; number += 1) {
    using folder = temporaryFolder();
    const live = join(folder.path, 'live');
    const snapshot = join(folder.path, 'after');
    const waiting = fill(live, snapshot, random);
    const name = names[number % names.length] ?? '';
    const kind = damageKinds[Math.floor(number / names.length) % damageKinds.length] ?? 'flip 1';
    const before = join(folder.path, 'before');
    cpSync(snapshot, before, { recursive: true });
    const touched = damageFile(join(snapshot, name), kind, random);
    const context = `case ${number}: ${kind} ${name}`;
    assert.notEqual(touched, null, context);
    const spoilt =
      touched === null ? new Set() : touchedTexts(join(before, name), touched, waiting.keys());

    const { outbox, damages } = open(snapshot);
    const kept = new Set(payloadsIn(outbox));
    const missing = [...waiting].filter(([, payload]) => !kept.has(payload));
    for (const [id] of missing)
      assert.ok(spoilt.has(id), `${context}: lost ${id}, which was whole`);
    const lost = damages.noted.reduce((sum, one) => sum + one.lost, 0);
    assert.ok(lost >= missing.length, `${context}: ${missing.length} missing, ${lost} named`);
    for (const payload of kept) JSON.parse(payload);
    // It goes on as an outbox.
    await Promise.all([
      outbox.put({ submission: { kind: 'result', id: 'after' } as never }),
      Promise.resolve(outbox.commit()),
    ]);
    assert.ok(
      payloadsIn(outbox).some((payload) => payload.includes('after')),
      context,
    );
    outbox.finishedSlots();
    outbox.pendingRetries();
    await outbox[Symbol.asyncDispose]();
    const again = open(snapshot);
    assert.equal(again.damages.noted.length, 0, `${context}: damaged once more`);
    assert.equal(payloadsIn(again.outbox).length, kept.size + 1, context);
    await again.outbox[Symbol.asyncDispose]();
    if (damages.noted.length > 0) tally.damaged += 1;
    tally.lost += missing.length;
    tally.kept += kept.size;
  }
  t.diagnostic(JSON.stringify(tally));
});

test('an outbox opens whichever bit of the header of its file was flipped', async () => {
  using folder = temporaryFolder();
  const live = join(folder.path, 'live');
  const { outbox } = open(live);
  for (let index = 0; index < 20; index += 1) {
    void outbox.put({ submission: { kind: 'result', id: `${index}` } as never });
  }
  outbox.commit();
  // Without a log, the header of the file is the one that counts.
  await outbox[Symbol.asyncDispose]();
  const whole = readFileSync(join(live, 'outbox.db'));
  for (let place = 0; place < 100; place += 1) {
    for (const mask of [1, 0x80, 0xff]) {
      const spoilt = join(folder.path, `${place}-${mask}`);
      cpSync(live, spoilt, { recursive: true });
      const bytes = Buffer.from(whole);
      bytes[place] = (bytes[place] ?? 0) ^ mask;
      writeFileSync(join(spoilt, 'outbox.db'), bytes);
      const opened = open(spoilt);
      const lost = opened.damages.noted.reduce((sum, one) => sum + one.lost, 0);
      assert.ok(payloadsIn(opened.outbox).length + lost >= 20, `byte ${place}, mask ${mask}`);
      await opened.outbox[Symbol.asyncDispose]();
    }
  }
});

test('what the log of an emptied outbox holds is kept', async () => {
  using folder = temporaryFolder();
  const [live, snapshot] = [join(folder.path, 'live'), join(folder.path, 'after')];
  const first = open(live).outbox;
  for (let index = 0; index < 60; index += 1) {
    void first.put({
      submission: { kind: 'result', id: `${index}`, text: 'x'.repeat(900) } as never,
    });
  }
  first.commit();
  await first[Symbol.asyncDispose]();
  // The log has the pages of this commit alone, which a new file has, too.
  const { outbox } = open(live);
  void outbox.put({ submission: { kind: 'result', id: 'newest' } as never });
  outbox.commit();
  cpSync(live, snapshot, { recursive: true });
  await outbox[Symbol.asyncDispose]();
  writeFileSync(join(snapshot, 'outbox.db'), '');
  const emptied = open(snapshot);
  assert.ok(payloadsIn(emptied.outbox).some((payload) => payload.includes('newest')));
  await emptied.outbox[Symbol.asyncDispose]();
});

test('what is set aside is bounded, and the newest of it stays', async () => {
  using folder = temporaryFolder();
  const clock = new TestClock(1_000_000);
  for (let round = 0; round < 6; round += 1) {
    const outbox = new Outbox({
      ...{ directory: folder.path, clock, logger, maxBytes: 1e9, maxAgeMs: 3_600_000 },
    });
    await outbox[Symbol.asyncDispose]();
    clock.advance(60_000);
    damageFile(join(folder.path, 'outbox.db'), 'flip 200', seededRandom(round));
    assert.ok(existsSync(join(folder.path, 'outbox.db')));
  }
  const aside = readdirSync(folder.path).filter((name) => name.includes('.damaged-'));
  assert.ok(aside.length >= 1 && aside.length <= 3, aside.join());
});
