import assert from 'node:assert/strict';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import test from 'node:test';
import { ControlPlaneClient } from '../../../agent/control-plane-client.ts';
import { createDispatcher } from '../../../agent/link/dispatcher.ts';
import { createMetrics } from '../../../agent/observability/metrics.ts';
import { Outbox } from '../../../agent/worker/outbox.ts';
import { SubmitLoop } from '../../../agent/worker/submit-loop.ts';
import { resultOf } from '../../support/fake-agent.ts';
import { scaledClock } from '../../support/scaled-clock.ts';
import { httpServer } from '../../support/servers.ts';
import { temporaryFolder } from '../../support/system.ts';

const logger = pino({ level: 'silent' });
const checkId = '7c8a0f3e-58c9-4b44-9a2c-2d0e1f3a4b5c';

/** A result in an outbox whose control plane refuses it with 400 so often, about `source`. */
async function submitted(source: 'headers' | 'payload', refusals: number) {
  using folder = temporaryFolder();
  const clock = scaledClock(2_000);
  const settled = Promise.withResolvers<number>();
  let calls = 0;
  await using server = await httpServer((_request, response) => {
    calls += 1;
    const isRefused = calls <= refusals;
    const problem = { code: 'VALIDATION', source, keys: ['agent-protocol'] };
    const refusal = { statusCode: 400, error: 'Bad Request', message: 'no', attributes: problem };
    const taken = { items: [{ id: result.id, outcome: 'accepted' }] };
    response.writeHead(isRefused ? 400 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(isRefused ? refusal : taken));
  });
  const result = resultOf(checkId);
  await using outbox = new Outbox({
    ...{ directory: folder.path, maxBytes: 1e9, maxAgeMs: 1e12, clock, logger },
  });
  const dispatcher = createDispatcher({});
  const apiKey = { reveal: () => 'pl_key' };
  const client = new ControlPlaneClient({
    ...{ baseUrl: server.url, apiKey, dispatcher, agentId: checkId, version: '1' },
  });
  const metrics = createMetrics(new Registry(), '1');
  const loop = new SubmitLoop({ outbox, client, clock, random: () => 0, logger, metrics });
  const watching = setInterval(() => {
    if (outbox.state().depth === 0) settled.resolve(calls);
  }, 5);
  try {
    await outbox.put({ submission: result });
    loop.start();
    const made = await settled.promise;
    return { calls: made, isDelivered: loop.lastDeliveredAt !== null };
  } finally {
    clearInterval(watching);
    await loop.flush(0);
    await dispatcher.destroy();
  }
}

test('what is refused for a header, which something in between changed, is kept until it is taken', async () => {
  assert.deepEqual(await submitted('headers', 8), { calls: 9, isDelivered: true });
});

test('what is refused for itself is set aside, so that others get through', async () => {
  assert.deepEqual(await submitted('payload', 8), { calls: 3, isDelivered: false });
});
