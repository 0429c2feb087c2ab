import assert from 'node:assert/strict';
import test from 'node:test';
import { pino } from 'pino';
import { DatabaseClock } from '../../../control-plane/core/database-clock.ts';
import { TestClock } from '../../support/test-clock.ts';

const start = Date.parse('2026-11-21T08:00:00Z');
const second = 1_000;

/** A database whose clock is ahead of the machine's; each answer takes `wayMs` there and back. */
async function setUp(aheadMs: number) {
  const machine = new TestClock(start);
  const database = { aheadMs, wayMs: 0, isAway: false, asked: 0 };
  const wall = (): number => start + machine.monotonic() + database.aheadMs;
  const ask = async (): Promise<number> => {
    database.asked += 1;
    if (database.isAway) throw new Error('connection refused');
    machine.advance(database.wayMs);
    const answer = wall();
    machine.advance(database.wayMs);
    return Promise.resolve(answer);
  };
  const clock = await DatabaseClock.open(machine, ask, pino({ level: 'silent' }));
  return { machine, database, clock, offBy: () => clock.now() - wall() };
}

test('the time is the database’s, whatever the clock of the machine says', async () => {
  const { machine, database, clock, offBy } = await setUp(-3 * second);
  assert.equal(offBy(), 0);
  assert.equal(clock.offsetMs, 3 * second);
  assert.match(clock.problem ?? '', /3 s ahead of the database/);
  machine.setWall(machine.now() + 3_600 * second);
  assert.equal(offBy(), 0, 'a step of the machine is none of the time');
  database.wayMs = 40;
  await clock.measure();
  assert.equal(offBy(), 0, 'the database answered after half of the way');
});

test('it follows the database from 50 ms on, and never back by less than a step', async () => {
  const { machine, database, clock, offBy } = await setUp(0);
  database.aheadMs = 49;
  await clock.measure();
  assert.equal(offBy(), -49);
  database.aheadMs = 60;
  await clock.measure();
  assert.equal(offBy(), 0);
  const before = clock.now();
  database.aheadMs = -1_500;
  await clock.measure();
  assert.equal(clock.now(), before, 'it stands until the database has caught up');
  machine.advance(2 * second);
  assert.equal(offBy(), 0);
  database.aheadMs = -3_600 * second;
  await clock.measure();
  assert.equal(offBy(), 0, 'a step back is one here too');
});

test('an answer that took long does not move it by less than its error', async () => {
  const { database, clock, offBy } = await setUp(0);
  database.wayMs = 500;
  database.aheadMs = 400;
  await clock.measure();
  assert.equal(offBy(), -400);
  database.wayMs = 0;
  await clock.measure();
  assert.equal(offBy(), 0);
});

test('it is compared every ten seconds, also after the database was away', async () => {
  const { machine, database, clock, offBy } = await setUp(0);
  const asked = async (times: number) => {
    while (database.asked < times) await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
  };
  database.isAway = true;
  machine.advance(10 * second);
  await asked(4);
  database.isAway = false;
  database.aheadMs = second;
  machine.advance(10 * second);
  await asked(5);
  assert.equal(offBy(), 0);
  clock[Symbol.dispose]();
  assert.equal(machine.pending, 0);
});
