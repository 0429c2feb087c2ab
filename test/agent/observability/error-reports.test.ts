import assert from 'node:assert/strict';
import test from 'node:test';
import { Registry } from 'prom-client';
import type { Clock } from '@monitor/shared/clock.ts';
import { reportErrors } from '@monitor/shared/contract/agent-protocol.ts';
import { ControlPlaneClient } from '../../../agent/link/control-plane-client.ts';
import { createDispatcher } from '../../../agent/link/dispatcher.ts';
import { startErrorReports } from '../../../agent/observability/error-reports.ts';
import { createMetrics } from '../../../agent/observability/metrics.ts';
import { Secret } from '../../../agent/secret.ts';
import { FakeControlPlane } from '../../support/fake-control-plane.ts';
import { eventually } from '../../support/system.ts';
import { TestClock } from '../../support/test-clock.ts';

const agentId = '7e4c9b1e-0000-4000-8000-000000000009';
const fiveMinutes = 5 * 60_000;

async function open() {
  const controlPlane = await FakeControlPlane.start();
  const dispatcher = createDispatcher({} as never);
  const client = new ControlPlaneClient({
    ...{ baseUrl: controlPlane.url, apiKey: new Secret(controlPlane.key), dispatcher },
    ...{ agentId, version: '1.2.3' },
  });
  const metrics = createMetrics(new Registry(), '1.2.3');
  const clock = new TestClock(0);
  let pauses = 0;
  const watched: Clock = {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    after(delayMs, callback) {
      pauses += 1;
      return clock.after(delayMs, callback);
    },
  };
  const reports = startErrorReports(metrics, client, watched);
  return {
    ...{ controlPlane, metrics, clock },
    sent: () => controlPlane.requestsOf('reportErrors').map(({ body }) => body),
    /** Resolves when so many reports have ended, sent or not, and the next one is waited for. */
    untilEnded: (reports: number) =>
      eventually(
        () => pauses > reports,
        () => `${pauses - 1} of ${reports} reports have ended`,
      ),
    async [Symbol.asyncDispose]() {
      reports[Symbol.dispose]();
      await dispatcher.destroy();
      await controlPlane[Symbol.asyncDispose]();
    },
  };
}

test('a report has codes, their counts, and who counted: nothing else', async () => {
  await using opened = await open();
  opened.metrics.internalErrors.inc({ code: 'BROWSER_MISSING' }, 3);
  opened.metrics.internalErrors.inc({ code: 'RUNNER_BROKEN' });
  opened.clock.advance(fiveMinutes);
  await opened.controlPlane.until('a report', () => opened.sent().length === 1);
  const events = [
    { code: 'BROWSER_MISSING', count: 3 },
    { code: 'RUNNER_BROKEN', count: 1 },
  ];
  assert.deepEqual(opened.sent(), [{ agentId, version: '1.2.3', events }]);
  assert.deepEqual(Object.keys(reportErrors.body?.shape ?? {}).sort(), [
    'agentId',
    'events',
    'version',
  ]);
});

test('without errors nothing is sent, and each error is reported once', async () => {
  await using opened = await open();
  opened.clock.advance(fiveMinutes);
  await opened.untilEnded(1);
  opened.metrics.internalErrors.inc({ code: 'RUNNER_BROKEN' });
  opened.clock.advance(fiveMinutes);
  await opened.untilEnded(2);
  opened.metrics.internalErrors.inc({ code: 'RUNNER_BROKEN' }, 2);
  opened.clock.advance(fiveMinutes);
  await opened.untilEnded(3);
  const counts = opened.sent().map((body) => (body as { events: { count: number }[] }).events);
  assert.deepEqual(counts, [
    [{ code: 'RUNNER_BROKEN', count: 1 }],
    [{ code: 'RUNNER_BROKEN', count: 2 }],
  ]);
});

test('what could not be reported comes with the next report', async () => {
  await using opened = await open();
  opened.controlPlane.misbehave('reportErrors', { kind: 'status', status: 500 });
  opened.metrics.internalErrors.inc({ code: 'RUNNER_BROKEN' });
  opened.clock.advance(fiveMinutes);
  await opened.controlPlane.until(
    'a failed report',
    () => opened.controlPlane.misbehaved.get('reportErrors') === 1,
  );
  opened.controlPlane.misbehave('reportErrors', null);
  await opened.untilEnded(1);
  opened.clock.advance(fiveMinutes);
  await opened.untilEnded(2);
  assert.equal(opened.sent().length, 1);
  const counted = async () =>
    Object.fromEntries(
      (await opened.metrics.errorReports.get()).values.map(({ labels, value }) => [
        labels.outcome,
        value,
      ]),
    );
  assert.deepEqual(await counted(), { failed: 1, sent: 1 });
});
