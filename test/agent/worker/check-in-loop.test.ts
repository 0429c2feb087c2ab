import assert from 'node:assert/strict';
import test from 'node:test';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import type { CheckInAnswer } from '@monitor/shared/contract/agent-protocol.ts';
import type { ControlPlaneClient } from '../../../agent/link/control-plane-client.ts';
import { createMetrics } from '../../../agent/observability/metrics.ts';
import { CheckInLoop } from '../../../agent/worker/check-in-loop.ts';
import { CorrectedClock } from '../../../agent/worker/corrected-clock.ts';
import { TestClock } from '../../support/test-clock.ts';

const start = Date.parse('2026-11-21T08:00:00Z');

/** The clock of a machine that can sleep: it stands still for timers, and the time of day goes on. */
function machine() {
  const raw = new TestClock(start);
  let sleptMs = 0;
  const clock = new CorrectedClock(raw, () => raw.monotonic() + sleptMs);
  const sleep = (ms: number): void => {
    sleptMs += ms;
    raw.setWall(raw.now() + ms);
  };
  return { raw, clock, sleep };
}

/** A poll that is answered after `passes`, by a control plane whose clock is `aheadMs` ahead. */
async function poll(
  passes: (of: ReturnType<typeof machine>) => void,
  aheadMs: number,
): Promise<{ correctedMs: number; uncertaintyMs: number | null }> {
  const of = machine();
  const { raw, clock } = of;
  const asked = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<CheckInAnswer>();
  const heard = Promise.withResolvers<void>();
  const receivedAt = start + aheadMs + 20;
  const client = {
    checkIn: () => {
      asked.resolve();
      return answered.promise;
    },
  } as unknown as ControlPlaneClient;
  const loop = new CheckInLoop({
    ...{ client, clock, rawClock: raw, random: () => 0.5, logger: pino({ level: 'silent' }) },
    metrics: createMetrics(new Registry(), 'test'),
    ...{ agentId: 'agent', version: 'test', capabilities: {} as never },
    ...{
      capacity: {} as never,
      running: () => 0,
      roomForShards: () => 0,
      load: () => ({}) as never,
    },
    outboxState: () => ({ depth: 0, oldestAt: null, droppedTotal: 0, setAsideTotal: 0 }) as never,
    watchDigest: () => null,
    onAnswer: () => {
      heard.resolve();
      // One turn is enough: the next poll is not answered.
      void loop.stop();
    },
  });
  loop.start();
  await asked.promise;
  passes(of);
  answered.resolve({
    ...{ serverTime: { receivedAt, sentAt: receivedAt + 4_000 }, snapshot: null, epoch: 1 },
    ...{ location: 'here', upserts: [], removals: [], jobs: [], cancellations: [], full: false },
  } as unknown as CheckInAnswer);
  await heard.promise;
  return { correctedMs: clock.now() - raw.now(), uncertaintyMs: loop.uncertaintyMs };
}

// [what passes while the poll waits, how far the clock is behind, what it is put right by]
const cases: [string, (of: ReturnType<typeof machine>) => void, number, number][] = [
  ['nothing but the wait', ({ raw }) => raw.advance(4_040), 0, 0],
  ['nothing, and the clock is behind', ({ raw }) => raw.advance(4_040), 60_000, 60_000],
  [
    'the machine sleeps after the answer was sent',
    ({ raw, sleep }) => {
      raw.advance(4_000);
      sleep(50_000);
      raw.advance(40);
    },
    ...([0, 0] as const),
  ],
  [
    'the machine sleeps, and the clock is far behind',
    ({ raw, sleep }) => {
      raw.advance(4_000);
      sleep(50_000);
      raw.advance(40);
    },
    // The sleep is uncertainty: half of it may be wrong until the next poll.
    ...([600_000, 575_000] as const),
  ],
];
for (const [what, passes, aheadMs, expected] of cases)
  test(`a clock is put right by what a poll says of the time: ${what}`, async () => {
    const { correctedMs } = await poll(passes, aheadMs);
    assert.ok(Math.abs(correctedMs - expected) <= 50, `put right by ${correctedMs} ms`);
  });
