// Few share a process: it starts programs.
/** An agent as a whole, a target that is asked, and a receiver of what is told about it. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import type { Job, ResultSubmission } from '@monitor/shared/contract/agent-protocol.ts';
import type { AgentType } from '@monitor/shared/contract/checks/index.ts';
import { startAgent } from '../../../agent/compose.ts';
import { readConfig } from '../../../agent/config.ts';
import { FakeControlPlane } from '../../support/fake-control-plane.ts';
import { silent } from '../../support/in-process.ts';
import { plainNetwork } from '../../support/plain-network.ts';
import { withoutCode } from '../../support/plain.ts';
import { definitionOf } from '../../support/runner-context.ts';
import { httpServer, tcpServer } from '../../support/servers.ts';
import { startTraceReceiver, type ReceivedSpan } from '../../support/trace-receiver.ts';

const secret = 'Hunter2-is-a-canary';

function jobOf(type: AgentType, request: object, fields: Partial<Job['check']> = {}): Job {
  return {
    ...{ id: randomUUID(), runId: randomUUID(), source: 'TRIGGER_API', scheduledFor: null },
    ...{ slotLocation: 'test-place', attempt: 1, sequenceStartedAt: null, notBefore: 0 },
    ...{ leaseUntil: Date.now() + 60_000, environmentUrl: null },
    check: {
      ...{ id: randomUUID(), revision: 1, type, name: 'shop', frequency: 60 },
      ...{ frequencyOffset: 1, runParallel: false, locations: ['test-place'], scheduleFrom: 0 },
      ...{ retryStrategy: null, proxyUrl: null, ...withoutCode },
      definition: { ...definitionOf(type, request as Record<string, unknown>) },
      ...fields,
    },
  };
}

async function start(t: TestContext, environment: Record<string, string>) {
  const folder = mkdtempSync(join(tmpdir(), 'monitor-traces-'));
  const controlPlane = await FakeControlPlane.start();
  const { config } = readConfig({
    environment: {
      ...{ API_KEY: controlPlane.key, CONTROL_PLANE_URL: controlPlane.url },
      ...{ AGENT_HEALTH_PORT: '0', AGENT_HEALTH_HOST: '127.0.0.1' },
      ...{ AGENT_DATA_DIR: join(folder, 'data'), AGENT_WORK_DIR: join(folder, 'work') },
      ...environment,
    },
  });
  const agent = await startAgent({ config, logger: silent, network: plainNetwork });
  t.after(async () => {
    await agent[Symbol.asyncDispose]();
    await controlPlane[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });
  return { agent, controlPlane };
}

const named = (spans: readonly ReceivedSpan[], name: string): ReceivedSpan => {
  const found = spans.find((span) => span.name === name);
  assert.ok(found, `a span ${name} among ${spans.map((span) => span.name).join(', ')}`);
  return found;
};

test('a run is a trace: its attempts, requests and phases, and what the target saw as its parent', async (t) => {
  await using receiver = await startTraceReceiver();
  const parents: string[] = [];
  await using target = await httpServer((request, response) => {
    parents.push(String(request.headers['traceparent']));
    if (request.url?.startsWith('/r') === true) response.writeHead(302, { location: '/x' }).end();
    else response.writeHead(parents.length > 2 ? 200 : 500).end('hello');
  });
  const { agent, controlPlane } = await start(t, { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url });
  const retryStrategy = {
    ...{ type: 'FIXED', baseBackoffSeconds: 0, maxRetries: 1, maxDurationSeconds: 600 },
    ...{ sameRegion: true, onlyOn: [] },
  } as Job['check']['retryStrategy'];
  const job = jobOf(
    'URL',
    { url: `${target.url}/r?token={{TOKEN}}` },
    { retryStrategy, environment: [{ key: 'TOKEN', value: secret, secret: true }] },
  );
  controlPlane.hand(job);
  await controlPlane.until('two results', () => controlPlane.results.size === 2);
  await agent.drain();

  const traceId = job.runId.replaceAll('-', '');
  const { spans } = receiver;
  assert.ok(spans.every((span) => span.traceId === traceId));
  const run = named(spans, 'URL run');
  const attempts = spans.filter(({ name }) => name === 'URL attempt');
  assert.equal(run.parentSpanId, undefined);
  assert.deepEqual(
    attempts.map(({ parentSpanId, status, attributes }) => [
      ...[parentSpanId, status.code, attributes['monitor.outcome']],
    ]),
    [
      [run.spanId, 2, 'failed'],
      [run.spanId, undefined, 'passed'],
    ],
  );
  const requests = spans.filter(({ kind }) => kind === 3);
  assert.deepEqual(
    requests.map(({ spanId, parentSpanId }) => [`00-${traceId}-${spanId}-01`, parentSpanId]),
    parents.map((parent, index) => [parent, attempts[index < 2 ? 0 : 1]?.spanId]),
  );
  assert.deepEqual(
    requests.map(({ attributes }) => attributes['http.response.status_code']),
    ['302', '500', '302', '200'],
  );
  const [first] = requests;
  assert.equal(first?.attributes['url.full'], `${target.url}/r?token=*********`);
  assert.equal(first.attributes['server.port'], String(target.port));
  assert.equal(first.attributes['network.protocol.version'], '1.1');
  for (const span of spans) {
    const parent = spans.find(({ spanId }) => spanId === span.parentSpanId);
    if (span !== run) assert.ok(parent, `${span.name} has a parent`);
    assert.ok(span.endedAt >= span.startedAt, span.name);
    if (parent === undefined || parent === run) continue;
    const slack = 3_000_000n;
    assert.ok(span.startedAt >= parent.startedAt - slack, `${span.name} begins in its parent`);
    assert.ok(span.endedAt <= parent.endedAt + slack, `${span.name} ends in its parent`);
  }
  const below = spans.filter(({ parentSpanId }) => parentSpanId === first.spanId);
  assert.deepEqual(
    below.map(({ name }) => name),
    ['dns', 'connect', 'first byte', 'body'],
  );
  assert.equal(receiver.text.includes(secret), false);
  const [result] = [...controlPlane.results.values()] as ResultSubmission[];
  const shown = result?.apiCheckResult?.request['headers'] as Record<string, string>;
  assert.equal(shown['traceparent'], parents[0], 'the result shows it');
  assert.equal(receiver.resource['service.name'], 'monitor-agent');
});

test('monitors without HTTP show their phases; what breaks on our side is an error of the span', async (t) => {
  await using receiver = await startTraceReceiver();
  await using target = await tcpServer((socket) => socket.end('hello'));
  const { agent, controlPlane } = await start(t, { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url });
  const assertions = [
    { source: 'RESPONSE_DATA', comparison: 'CONTAINS', property: '', target: 'hello' },
  ];
  const tcp = jobOf('TCP', { hostname: '127.0.0.1', port: target.port, assertions });
  const icmp = jobOf('ICMP', { hostname: '127.0.0.1' });
  controlPlane.hand(tcp, icmp);
  await controlPlane.until('both results', () => controlPlane.results.size === 2);
  await agent.drain();
  const ofTcp = receiver.spans.filter(({ traceId }) => traceId === tcp.runId.replaceAll('-', ''));
  assert.deepEqual(
    ofTcp.map(({ name }) => name),
    ['TCP run', 'TCP attempt', 'dns', 'connect', 'data'],
  );
  assert.equal(named(ofTcp, 'TCP attempt').attributes['server.port'], String(target.port));
  const broken = receiver.spans.find(({ name }) => name === 'ICMP attempt');
  assert.equal(broken?.attributes['error.type'], 'ICMP_UNAVAILABLE');
  assert.equal(broken.attributes['monitor.outcome'], 'error');
});

test('a receiver that is not there delays and fails no run, and what is lost is counted', async (t) => {
  await using target = await httpServer((_request, response) => response.end());
  const { agent, controlPlane } = await start(t, {
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
  });
  controlPlane.hand(...Array.from({ length: 20 }, () => jobOf('URL', { url: target.url })));
  await controlPlane.until('all results', () => controlPlane.results.size === 20);
  await agent.drain();
  const results = [...controlPlane.results.values()] as ResultSubmission[];
  assert.ok(results.every(({ hasErrors, hasFailures }) => !hasErrors && !hasFailures));
  const text = await (await fetch(`http://127.0.0.1:${agent.healthPort}/metrics`)).text();
  assert.match(text, /monitor_agent_spans_total\{outcome="dropped"\} 1[46]0/);
});
