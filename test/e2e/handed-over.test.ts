// Own process: it waits for minutes of virtual time, in turns of the event loop.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import test from 'node:test';
import { scheduleOf, slotAtOrAfter } from '@monitor/shared/domain/frequency.ts';
import { isLong, seededRandom, testSeed } from '../support/random.ts';
import { temporaryFolder } from '../support/system.ts';
import { everySeconds, site, startPlay } from '../support/virtual-world.ts';

const second = 1_000;

/** The way to a control plane that is held up: what is sent waits, and goes on afterwards. */
async function openWay(port: number) {
  const sockets = new Set<Socket>();
  let isHeld = false;
  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1');
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on('data', (bytes) => void to.write(bytes));
      from.on('error', () => undefined);
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
      if (isHeld) from.pause();
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    hold(held: boolean) {
      isHeld = held;
      for (const socket of sockets) {
        if (held) socket.pause();
        else socket.resume();
      }
    },
    [Symbol.dispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

const seeds = isLong ? 100 : 5;
const seed = isLong ? testSeed() : 1;

test(`${seeds} agents that end while the control plane is held up for 0 to 60 s drop no slot, and run none twice`, async (t) => {
  t.diagnostic(`seed ${seed}`);
  const random = seededRandom(seed);
  await using play = await startPlay(random);
  const { world, cp } = play;
  using way = await openWay(Number(new URL(cp.url).port));
  const settings = { CONTROL_PLANE_URL: way.url, DRAIN_TIMEOUT_SECONDS: '120' };
  const { db, clock } = cp.controlPlane.services;
  let agent = await play.addAgent(settings);
  await world.run(15 * second);
  const from = clock.now();
  for (let turn = 0; turn < seeds; turn += 1) {
    const successor = await play.addAgent(settings);
    await world.run(5 * second + Math.round(random() * 5 * second));
    const heldMs = turn % 5 === 0 ? 0 : Math.round(random() * 60 * second);
    const beforeMs = Math.round(random() * second);
    way.hold(heldMs > 0);
    await world.run(beforeMs);
    let hasEnded = false;
    const draining = agent.drain().then(() => (hasEnded = true));
    await world.run(heldMs);
    way.hold(false);
    for (let waited = 0; waited < 30 && !hasEnded; waited += 1) await world.run(second);
    assert.ok(hasEnded, `seed ${seed}, turn ${turn}: still there 30 s after ${heldMs} ms`);
    await draining;
    await agent[Symbol.asyncDispose]();
    agent = successor;
  }
  await world.run(100 * second);
  const until = clock.now() - 95 * second;
  const runs = await db.selectFrom('check_runs').selectAll().execute();
  const due = (await db.selectFrom('checks').select('id').execute()).flatMap(({ id: checkId }) => {
    const schedule = scheduleOf({ checkId, frequency: 0, frequencyOffset: everySeconds });
    const slots: string[] = [];
    for (let at = slotAtOrAfter(schedule, from); at < until; at += schedule.intervalMs) {
      slots.push(`${checkId} ${at}`);
    }
    return slots;
  });
  const ran = runs
    .filter((run) => run.state === 'FINAL' && run.scheduled_for !== null)
    .map((run) => `${run.check_id} ${run.scheduled_for}`);
  assert.equal(new Set(ran).size, ran.length);
  assert.deepEqual(
    due.filter((slot) => !ran.includes(slot)),
    [],
  );
  t.diagnostic(`${due.length} slots, ${runs.reduce((sum, run) => sum + run.late_results, 0)} late`);
});

test('an agent that nobody hears ends no run that it has begun: in time it begins none any more', async () => {
  using folder = temporaryFolder();
  // Each run takes three seconds.
  await using play = await startPlay(() => 1);
  const { world, cp } = play;
  using way = await openWay(Number(new URL(cp.url).port));
  const settings = {
    ...{ CONTROL_PLANE_URL: way.url, DRAIN_TIMEOUT_SECONDS: String(everySeconds) },
    AGENT_DATA_DIR: folder.path,
  };
  const agent = await play.addAgent(settings);
  await world.run(15 * second);
  const { length: before } = site.visits;
  const first = site.visits.at(-1)?.checkId;
  while (site.visits.slice(before).every(({ checkId }) => checkId !== first)) await world.run(100);
  // Its next run would begin two seconds before the time is over.
  way.hold(true);
  await world.run(2 * second);
  let hasEnded = false;
  const draining = agent.drain().then(() => (hasEnded = true));
  for (let waited = 0; waited < 120 && !hasEnded; waited += 1) await world.run(second);
  await draining;
  await agent[Symbol.asyncDispose]();
  way.hold(false);
  const successor = await play.addAgent(settings);
  await world.run(30 * second);
  let isOver = false;
  const over = successor.drain().then(() => (isOver = true));
  for (let waited = 0; waited < 120 && !isOver; waited += 1) await world.run(second);
  await over;
  const runs = await cp.controlPlane.services.db.selectFrom('check_runs').selectAll().execute();
  assert.equal(runs.filter(({ state }) => state === 'FINAL').length, site.visits.length);
});
