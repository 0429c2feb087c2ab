/** Traces as timelines: what is sent when, and how long it is waited for. Times are milliseconds. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TraceSchedule } from '../../../../agent/net/traceroute/schedule.ts';

interface Sent {
  readonly hop: number;
  readonly sentAt: number;
  readonly answerAt: number;
  readonly isEnd: boolean;
}

interface World {
  readonly maxHops?: number;
  readonly mayFallBack?: boolean;
  /** After how many milliseconds a hop answers; nothing for never. */
  readonly answers?: (hop: number, sentAt: number, isUdp: boolean) => number | undefined;
  /** The hop that is the target. */
  readonly target?: number;
  /** The machine is stuck from the first of these times until the second. */
  readonly stuck?: readonly [number, number];
}

/** Lets a trace run, beginning at 0. */
function timeline({ maxHops = 8, mayFallBack = false, target, stuck, answers }: World) {
  let schedule = new TraceSchedule({ maxHops, mayFallBack }, 0);
  let [now, fellBackAt] = [0, null as number | null];
  const sent: [number, number][] = [];
  const gaveUp: [number, number][] = [];
  const waiting = new Set<Sent>();
  for (;;) {
    for (const probe of [...waiting].sort((one, other) => one.answerAt - other.answerAt)) {
      if (probe.answerAt > now) continue;
      waiting.delete(probe);
      schedule.answered(probe.hop, probe.answerAt - probe.sentAt, probe.isEnd);
    }
    const decision = schedule.decide(now, waiting);
    if (decision.do === 'end') return { sent, gaveUp, fellBackAt, endedAt: now };
    if (decision.do === 'send') {
      const { hop } = decision;
      sent.push([now, hop]);
      const answerAt = now + (answers?.(hop, now, fellBackAt !== null) ?? Infinity);
      waiting.add({ hop, sentAt: now, answerAt, isEnd: target !== undefined && hop >= target });
    } else if (decision.do === 'give up') {
      for (const probe of decision.probes) {
        waiting.delete(probe);
        gaveUp.push([now, probe.hop]);
      }
    } else if (decision.do === 'fall back') {
      waiting.clear();
      fellBackAt = now;
      schedule = schedule.fallBack(now);
    } else {
      const next = Math.min(decision.until, ...[...waiting].map(({ answerAt }) => answerAt));
      assert.ok(next > now, `it waits for ${next} at ${now}`);
      now = stuck !== undefined && next >= stuck[0] && next < stuck[1] ? stuck[1] : next;
    }
  }
}

const hopsOf = (sent: readonly (readonly [number, number])[]) => sent.map(([, hop]) => hop);

test('each of three rounds asks every hop once, 8 ms apart, up to the target', () => {
  const { sent, gaveUp, endedAt } = timeline({ target: 3, answers: () => 1 });
  // The target has answered before hop 4 is due.
  assert.deepEqual(sent, [
    ...[0, 400, 800].flatMap((round) => [1, 2, 3].map((hop) => [round + (hop - 1) * 8, hop])),
  ]);
  assert.deepEqual(gaveUp, []);
  assert.equal(endedAt, 817);
});

test('hops behind the target that were asked already are forgotten when it answers', () => {
  const { sent, gaveUp, endedAt } = timeline({ target: 2, answers: () => 30 });
  assert.deepEqual(hopsOf(sent), [1, 2, 3, 4, 5, 1, 2, 1, 2]);
  assert.deepEqual(
    gaveUp,
    [3, 4, 5].map((hop) => [38, hop]),
  );
  assert.equal(endedAt, 838);
});

test('a silent hop is waited for as long as those behind it let expect, but before a SYN is repeated', () => {
  const silentSecond = (ms: number) => ({
    ...{ target: 3, maxHops: 3 },
    answers: (hop: number) => (hop === 2 ? undefined : ms),
  });
  // 400 ms and twice the longest time of hop 3.
  assert.deepEqual(timeline(silentSecond(50)).gaveUp, [...[508, 908, 1308].map((at) => [at, 2])]);
  assert.deepEqual(timeline(silentSecond(500)).gaveUp, [...[958, 1358, 1758].map((at) => [at, 2])]);
  // Where answers take longer than 0.6 s, one may come after the repetition as well.
  assert.deepEqual(timeline(silentSecond(700)).gaveUp, [
    ...[3_300, 3_300, 3_300].map((at) => [at, 2]),
  ]);
});

test('silence is waited for 3.3 s, and later rounds go five hops beyond the last answer', () => {
  const { sent, endedAt } = timeline({ maxHops: 30, answers: (hop) => (hop <= 2 ? 5 : undefined) });
  const rounds = [0, 400, 800].map((from) => sent.filter(([at]) => at >= from && at < from + 400));
  assert.deepEqual(
    rounds.map(({ length }) => length),
    [30, 7, 7],
  );
  assert.equal(endedAt, 3_300);
});

test('nobody at all answers TCP: after 0.95 s UDP is tried, for 2.4 s', () => {
  const { sent, fellBackAt, endedAt } = timeline({ mayFallBack: true });
  assert.equal(fellBackAt, 950);
  assert.deepEqual(
    sent.find(([at]) => at >= 950),
    [950, 1],
  );
  assert.equal(endedAt, 3_350);
  const answering = timeline({
    ...{ mayFallBack: true, target: 2 },
    answers: (_hop, _at, isUdp) => (isUdp ? 10 : undefined),
  });
  assert.equal(answering.fellBackAt, 950);
  assert.equal(answering.endedAt, 950 + 818);
  const slow = timeline({ mayFallBack: true, target: 1, answers: () => 949 });
  assert.equal(slow.fellBackAt, null);
  assert.equal(timeline({}).fellBackAt, null);
});

test('a machine that was stuck sends nothing in bursts', () => {
  const { sent } = timeline({ target: 8, answers: () => 2, stuck: [10, 1_000] });
  const times = sent.map(([at]) => at);
  assert.deepEqual(times.slice(0, 5), [0, 8, 1_000, 1_004, 1_008]);
  for (const [index, at] of times.entries()) {
    if (index > 0) assert.ok(at - (times[index - 1] ?? 0) >= 4);
  }
});

test('what was stopped sends no more, and waits for what was sent', () => {
  const schedule = new TraceSchedule({ maxHops: 4, mayFallBack: false }, 0);
  assert.deepEqual(schedule.decide(0, []), { do: 'send', hop: 1 });
  schedule.stop();
  const probe = { hop: 1, sentAt: 0 };
  assert.deepEqual(schedule.decide(1, [probe]), { do: 'wait', until: 3_300 });
  assert.deepEqual(schedule.decide(3_300, [probe]), { do: 'give up', probes: [probe] });
  assert.deepEqual(schedule.decide(3_300, []), { do: 'end' });
});

test('an answer from beyond the end is none', () => {
  const schedule = new TraceSchedule({ maxHops: 4, mayFallBack: false }, 0);
  assert.equal(schedule.answered(2, 1, true), true);
  assert.equal(schedule.answered(3, 1, true), false);
  assert.equal(schedule.answered(2, 1, true), true);
});
