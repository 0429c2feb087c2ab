/**
 * Hands in results as fast as the control plane takes them. Arguments: base URL, location key, location, check ids,
 * batches, connections, instant of the first slot, results per batch. The checks have a slot every ten seconds.
 * Prints results per second, all acknowledged durably.
 */
import { randomUUID } from 'node:crypto';
import { Agent, request } from 'undici';
import {
  checkIn,
  protocolHeader,
  protocolVersion,
  submitResults,
} from '@monitor/shared/contract/agent-protocol.ts';
import { scheduleOf, slotAtOrAfter } from '@monitor/shared/domain/frequency.ts';
import { RunIds } from '../../agent/worker/run-ids.ts';
import { checkInOf, resultOf } from '../../test/support/fake-agent.ts';

const [url = '', key = '', slotLocation = '', checkIdsText = '', ...numbers] =
  process.argv.slice(2);
const [batches = 0, connections = 1, begin = 0, batchSize = 500] = numbers.map(Number);
const dispatcher = new Agent({ connections });
const agentId = randomUUID();

async function call({ method, path }: typeof checkIn | typeof submitResults, body: string) {
  const { statusCode, body: stream } = await request(url + path, {
    ...{ method, dispatcher, body },
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      [protocolHeader]: String(protocolVersion),
    },
  });
  const text = await stream.text();
  if (statusCode === 200 && !text.includes('"refused"')) return text;
  throw new Error(`${statusCode}: ${text.slice(0, 300)}`);
}

const arrival = checkInOf({ agentId, protocol: protocolVersion });
const ids = new RunIds();
ids.use((JSON.parse(await call(checkIn, JSON.stringify(arrival))) as { idKey: string }).idKey);

const everyMs = 10_000;
const places = checkIdsText.split(',').map((checkId) => {
  const schedule = scheduleOf({ checkId, frequency: 0, frequencyOffset: everyMs / 1000 });
  return { checkId, slot: slotAtOrAfter(schedule, begin) };
});
let turn = 0;

const isOk = { source: 'STATUS_CODE', comparison: 'EQUALS', property: '', target: 200 };
const timings = { socket: 0.1, lookup: 0.2, connect: 0.5, response: 11.2, end: 12.1 };
const timingPhases = { wait: 0.1, dns: 0.1, tcp: 0.3, firstByte: 10.7, download: 0.9, total: 12.1 };

/** The result of the next slot of the next check. */
function nextResult(): object {
  const place = places[turn % places.length];
  if (place === undefined) throw new Error('no check is named');
  turn += 1;
  const { checkId, slot: scheduledFor } = place;
  place.slot += everyMs;
  const runId = ids.ofSlot({ checkId, location: slotLocation, scheduledFor });
  const now = Date.now();
  const headers = { date: new Date(now).toUTCString(), connection: 'close', 'content-length': '2' };
  return {
    ...resultOf(checkId, { runId, scheduledFor, slotLocation, startedAt: now, responseTime: 12 }),
    ...{ id: ids.ofAttempt(runId, 1), stoppedAt: now + 12 },
    apiCheckResult: {
      assertions: [{ order: 0, ...isOk, regex: null, actual: 200 }],
      request: {
        ...{ method: 'GET', url: 'http://127.0.0.1/', data: '', params: {} },
        headers: { host: '127.0.0.1' },
      },
      response: { status: 200, statusText: 'OK', headers, timings, timingPhases },
      ...{ requestError: null, jobAssets: null, pcapDataUrl: null },
      jobLog: { setup: [], request: [], teardown: [] },
    },
  };
}

const batch = (): string =>
  JSON.stringify({ agentId, items: Array.from({ length: batchSize }, nextResult) });
const send = (body: string) => call(submitResults, body);

await send(batch());
// Made beforehand: what is measured is the control plane, not the making of results.
const bodies = Array.from({ length: batches }, batch);
const total = bodies.length * batchSize;
const start = performance.now();
await Promise.all(
  Array.from({ length: connections }, async () => {
    for (let body = bodies.pop(); body !== undefined; body = bodies.pop()) await send(body);
  }),
);
console.log(total / ((performance.now() - start) / 1000));
process.exit(0);
