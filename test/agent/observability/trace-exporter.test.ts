import assert from 'node:assert/strict';
import test from 'node:test';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { Agent } from 'undici';
import { systemClock } from '@monitor/shared/clock.ts';
import { createMetrics } from '../../../agent/observability/metrics.ts';
import type { Span } from '../../../agent/observability/tracing/otlp.ts';
import {
  parseHeaders,
  TraceExporter,
} from '../../../agent/observability/tracing/trace-exporter.ts';
import { startTraceReceiver, type TraceReceiver } from '../../support/trace-receiver.ts';
import { workMs } from '../../support/time-spent.ts';

const span = (name = 'a', further: Partial<Span> = {}): Span => ({
  ...{ traceId: '0123456789abcdef0123456789abcdef', spanId: '0123456789abcdef' },
  ...{ parentSpanId: null, name, kind: 'internal', startedAt: 1_800_000_000_000.25 },
  ...{ endedAt: 1_800_000_000_001.5, attributes: {}, problem: null },
  ...further,
});

function openExporter({ url }: { url: string }, headers: Record<string, string> = {}) {
  const metrics = createMetrics(new Registry(), '1');
  const dispatcher = new Agent();
  const exporter = new TraceExporter({
    ...{ endpoint: url, headers, dispatcher, metrics, resource: { 'service.name': 'x' } },
    // Pauses between tries are not what is tested.
    clock: { ...systemClock, after: (ms, work) => systemClock.after(Math.min(ms, 20), work) },
    ...{ version: '1', random: () => 0.5, logger: pino({ level: 'silent' }) },
  });
  const counted = async (): Promise<Record<string, number>> =>
    Object.fromEntries(
      (await metrics.spans.get()).values.map(({ labels, value }) => [labels.outcome, value]),
    ) as Record<string, number>;
  return { exporter, counted, [Symbol.asyncDispose]: () => dispatcher.destroy() };
}

const untilSent = async (receiver: TraceReceiver, count: number): Promise<void> => {
  const limit = AbortSignal.timeout(60_000);
  while (receiver.headers.length < count) {
    limit.throwIfAborted();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
};

test('spans that come together are sent together, in the form of OTLP, with the headers given', async () => {
  await using receiver = await startTraceReceiver();
  await using opened = openExporter(receiver, parseHeaders('x-key=a%20b, x-other = 1'));
  const attributes = { text: 'é', whole: 3, part: 0.5, yes: true, nothing: null };
  opened.exporter.add([span('one', { attributes, problem: 'broken' })]);
  opened.exporter.add([span('two', { kind: 'client', parentSpanId: 'fedcba9876543210' })]);
  await untilSent(receiver, 1);
  await opened.exporter.flush(5_000);
  assert.equal(receiver.headers.length, 1);
  assert.equal(receiver.headers[0]?.['x-key'], 'a b');
  assert.equal(receiver.headers[0]['x-other'], '1');
  const [one, two] = receiver.spans;
  assert.deepEqual(one?.attributes, { text: 'é', whole: '3', part: 0.5, yes: true });
  assert.deepEqual(one.status, { code: 2, message: 'broken' });
  assert.equal(one.startedAt, 1_800_000_000_000_250_000n);
  assert.deepEqual([two?.kind, two?.parentSpanId], [3, 'fedcba9876543210']);
  assert.deepEqual(receiver.resource, { 'service.name': 'x' });
  assert.deepEqual(await opened.counted(), { exported: 2 });
});

test('what is not taken now is sent again, and what never will be is dropped at once', async () => {
  await using receiver = await startTraceReceiver();
  await using opened = openExporter(receiver);
  receiver.answer = (request) => ({ status: request < 3 ? 503 : 200 });
  opened.exporter.add([span()]);
  await untilSent(receiver, 3);
  receiver.answer = () => ({ status: 400 });
  await opened.exporter.flush(5_000);
  assert.equal(receiver.headers.length, 3);
  assert.deepEqual(await opened.counted(), { exported: 1 });

  await using refused = openExporter(receiver);
  refused.exporter.add([span(), span()]);
  await untilSent(receiver, 4);
  await refused.exporter.flush(5_000);
  assert.equal(receiver.headers.length, 4);
  assert.deepEqual(await refused.counted(), { dropped: 2 });
});

test('a receiver that takes a part says so, and is believed', async () => {
  await using receiver = await startTraceReceiver();
  await using opened = openExporter(receiver);
  const body = JSON.stringify({ partialSuccess: { rejectedSpans: '2' } });
  receiver.answer = () => ({ status: 200, body });
  opened.exporter.add([span(), span(), span()]);
  await untilSent(receiver, 1);
  await opened.exporter.flush(5_000);
  assert.deepEqual(await opened.counted(), { exported: 1, refused: 2 });
});

test('without a collector a limited number of spans waits, and the others are counted as dropped', async () => {
  await using opened = openExporter({ url: 'http://127.0.0.1:1' });
  const many = Array.from({ length: 2_000 }, () => span());
  const tookMs = workMs(() => {
    for (let round = 0; round < 10; round += 1) opened.exporter.add(many);
  });
  assert.ok(tookMs < 500, `whoever adds does not wait, and it took ${tookMs} ms`);
  await opened.exporter.flush(200);
  assert.deepEqual(await opened.counted(), { dropped: 20_000 });
  opened.exporter.add([span()]);
  assert.deepEqual(await opened.counted(), { dropped: 20_001 });
});

test('headers that cannot be read are refused without repeating them', () => {
  assert.deepEqual(parseHeaders('Authorization=Bearer%20x,'), { authorization: 'Bearer x' });
  assert.throws(
    () => parseHeaders('a=1,hidden-token'),
    (error: Error) => /entry 2/.test(error.message) && !error.message.includes('hidden'),
  );
});
