import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { TracerouteReport } from '@monitor/shared/contract/check-result.ts';
import { shareTraces } from '../../../../agent/net/traceroute/shared-traces.ts';
import type { TracedTarget, Traceroute } from '../../../../agent/net/traceroute/traceroute.ts';
import { TestClock } from '../../../support/test-clock.ts';

interface Trace {
  target: TracedTarget;
  timeoutMs: number;
  signal: AbortSignal;
  end(): void;
}

/** A tracer whose traces end when the test says so. */
function openTracer(clock = new TestClock(0)) {
  const traces: Trace[] = [];
  const tracer: Traceroute = {
    trace(target, { timeoutMs, signal }) {
      const { promise, resolve } = Promise.withResolvers<TracerouteReport>();
      const { address, port } = target;
      const end = (): void => {
        resolve({
          ...{ method: 'tcp', address, port, ipFamily: 'IPv4', startedAt: 0, durationMs: 1 },
          ...{ isReached: true, hops: [] },
        });
      };
      traces.push({ target, timeoutMs, signal, end });
      return promise;
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  const shared = shareTraces(tracer, clock);
  const trace = (address: string, signal = new AbortController().signal, timeoutMs = 8_000) =>
    shared.trace({ address, family: 'IPv4', port: 443 }, { timeoutMs, signal });
  return { traces, trace, clock };
}

const busy = { code: 'TRACEROUTE_BUSY' };
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

suite('shared traceroutes', () => {
  test('those who fail at the same target at the same time share one', async () => {
    const { traces, trace, clock } = openTracer();
    const both = Promise.all([trace('192.0.2.1'), trace('192.0.2.1')]);
    assert.equal(traces.length, 1);
    traces[0]?.end();
    const [one, other] = await both;
    assert.equal(one, other);
    clock.advance(4_999);
    assert.equal(await trace('192.0.2.1'), one, 'who comes a moment later has it at once');
    clock.advance(1);
    void trace('192.0.2.1');
    assert.equal(traces.length, 2, 'what comes later is traced anew');
  });

  test('who has no time gets what is known, and begins and waits for nothing', async () => {
    const { traces, trace } = openTracer();
    const { signal } = new AbortController();
    await assert.rejects(trace('192.0.2.1', signal, 0), busy);
    const one = trace('192.0.2.1');
    await assert.rejects(trace('192.0.2.1', signal, 0), busy);
    assert.equal(traces.length, 1);
    traces[0]?.end();
    const report = await one;
    assert.equal(await trace('192.0.2.1', signal, 0), report);
  });

  test('one who leaves does not end what others wait for; the last one does', async () => {
    const { traces, trace } = openTracer();
    const [first, second] = [new AbortController(), new AbortController()];
    const one = trace('192.0.2.1', first.signal);
    const other = trace('192.0.2.1', second.signal);
    first.abort();
    await assert.rejects(one, busy);
    assert.equal(traces[0]?.signal.aborted, false);
    second.abort();
    await assert.rejects(other, busy);
    assert.equal(traces[0]?.signal.aborted, true);
  });

  test('four are made at once, with what is left of the time for the next', async () => {
    const { traces, trace, clock } = openTracer();
    const all = Array.from({ length: 5 }, (_none, index) => trace(`192.0.2.${index}`));
    assert.equal(traces.length, 4);
    clock.advance(3_000);
    traces[0]?.end();
    await all[0];
    await settled();
    assert.deepEqual([traces.length, traces[4]?.timeoutMs], [5, 5_000]);
    for (const { end } of traces) end();
    await Promise.all(all);
  });

  test('when too many wait, or for too long, that is said', async () => {
    const { traces, trace, clock } = openTracer();
    const all = Array.from({ length: 20 }, (_none, index) => trace(`192.0.2.${index}`));
    await assert.rejects(trace('192.0.2.200'), busy);
    clock.advance(7_500);
    traces[0]?.end();
    await all[0];
    await assert.rejects(all[4] ?? Promise.resolve(), busy);
    for (const one of all) one.catch(() => undefined);
  });
});
