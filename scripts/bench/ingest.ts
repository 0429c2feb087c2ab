/**
 * Hands in results as fast as the control plane takes them. Arguments: base URL, location key,
 * location, check ids, batches, connections, instant of the first slot, results per batch. The checks
 * have a slot every ten seconds. Prints results per second, all acknowledged durably.
 */
import { randomUUID } from 'node:crypto';
import { Agent, request } from 'undici';
import {
  checkIn,
  protocolHeader,
  protocolVersion,
} from '@monitor/shared/contract/agent-protocol.ts';
import { scheduleOf, slotAtOrAfter } from '@monitor/shared/domain/frequency.ts';
import { RunIds } from '../../agent/worker/run-ids.ts';
import { checkInOf } from '../../test/support/fake-agent.ts';

const [url = '', key = '', location = '', checkIdsText = '', batchesText = '', ...rest] =
  process.argv.slice(2);
const [connectionsText = '', beginText = '', batchSizeText = '500'] = rest;
const checkIds = checkIdsText.split(',');
const batchSize = Number(batchSizeText);
const dispatcher = new Agent({ connections: Number(connectionsText) });
const agentId = randomUUID();

const headers = {
  authorization: `Bearer ${key}`,
  'content-type': 'application/json',
  [protocolHeader]: String(protocolVersion),
};
const checkedIn = await request(url + checkIn.path, {
  method: checkIn.method,
  dispatcher,
  headers,
  body: JSON.stringify({ ...checkInOf({ agentId }), protocol: protocolVersion }),
});
const ids = new RunIds();
ids.use(((await checkedIn.body.json()) as { idKey: string }).idKey);

const everyMs = 10_000;
const places = checkIds.map((checkId) => {
  const schedule = scheduleOf({ checkId, frequency: 0, frequencyOffset: everyMs / 1000 });
  return { checkId, slot: slotAtOrAfter(schedule, Number(beginText)) };
});
let turn = 0;

/** The next slot of the next check. */
function nextRun(): { id: string; runId: string; checkId: string; scheduledFor: number } {
  const place = places[turn % places.length];
  if (place === undefined) throw new Error('no check is named');
  turn += 1;
  const { checkId, slot: scheduledFor } = place;
  place.slot += everyMs;
  const runId = ids.ofSlot({ checkId, location, scheduledFor });
  return { id: ids.ofAttempt(runId, 1), runId, checkId, scheduledFor };
}

function batch(): string {
  const now = Date.now();
  const items = Array.from({ length: batchSize }, () => ({
    kind: 'result',
    ...nextRun(),
    checkRevision: 1,
    checkType: 'URL',
    name: 'bench',
    slotLocation: location,
    runLocation: location,
    jobId: null,
    attempt: 1,
    resultType: 'FINAL',
    retryElsewhere: null,
    startedAt: now,
    stoppedAt: now + 12,
    responseTime: 12,
    hasFailures: false,
    hasErrors: false,
    isDegraded: false,
    overMaxResponseTime: false,
    underLoad: false,
    epoch: 1,
    apiCheckResult: {
      assertions: [
        {
          order: 0,
          source: 'STATUS_CODE',
          comparison: 'EQUALS',
          property: '',
          target: 200,
          regex: null,
          actual: 200,
        },
      ],
      request: {
        method: 'GET',
        url: 'http://127.0.0.1/',
        data: '',
        headers: { host: '127.0.0.1' },
        params: {},
      },
      response: {
        status: 200,
        statusText: 'OK',
        headers: { date: new Date(now).toUTCString(), connection: 'close', 'content-length': '2' },
        timings: { socket: 0.1, lookup: 0.2, connect: 0.5, response: 11.2, end: 12.1 },
        timingPhases: {
          wait: 0.1,
          dns: 0.1,
          tcp: 0.3,
          firstByte: 10.7,
          download: 0.9,
          total: 12.1,
        },
      },
      requestError: null,
      jobLog: { setup: [], request: [], teardown: [] },
      jobAssets: null,
      pcapDataUrl: null,
    },
  }));
  return JSON.stringify({ agentId, items });
}

async function send(body: string): Promise<void> {
  const response = await request(`${url}/v1/agent/results`, {
    method: 'POST',
    dispatcher,
    headers,
    body,
  });
  const text = await response.body.text();
  if (response.statusCode !== 200 || text.includes('"refused"')) {
    throw new Error(`${response.statusCode}: ${text.slice(0, 300)}`);
  }
}

await send(batch());
// Made beforehand: what is measured is the control plane, not the making of results.
const bodies = Array.from({ length: Number(batchesText) }, batch);
const total = bodies.length * batchSize;
const start = performance.now();
await Promise.all(
  Array.from({ length: Number(connectionsText) }, async () => {
    for (let body = bodies.pop(); body !== undefined; body = bodies.pop()) await send(body);
  }),
);
console.log(JSON.stringify({ perSecond: total / ((performance.now() - start) / 1000) }));
process.exit(0);
