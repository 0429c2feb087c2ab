import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { suite } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import type { Clock } from '@monitor/shared/clock.ts';
import { protocolVersion, type CheckInRequest } from '@monitor/shared/contract/agent-protocol.ts';
import {
  CallFailure,
  ControlPlaneClient,
  pollMs,
} from '../../../agent/link/control-plane-client.ts';
import { createDispatcher } from '../../../agent/link/dispatcher.ts';
import { Secret } from '../../../agent/secret.ts';
import { proxyServer } from '../../support/proxy-server.ts';
import { temporaryFolder } from '../../support/system.ts';
import { TestClock } from '../../support/test-clock.ts';
import { tcpServer } from '../../support/servers.ts';

const agentId = randomUUID();

function poll(waitMs: number): CheckInRequest {
  return {
    ...{ agentId, protocol: protocolVersion, version: 'test', startedAt: 0 },
    capabilities: {
      ...{ checkTypes: [], runtimes: [], icmp: 'none', browsers: [] },
      ...{ capture: false, traceroute: false },
    },
    capacity: { light: 1, heavy: 1 },
    running: 0,
    outbox: { depth: 0, oldestAt: null, droppedTotal: 0 },
    ...{ snapshot: null, waitMs, clock: { sentAt: 0, offsetMs: null } },
  };
}

/** A server that takes everything and never says a word, and a client of it on a clock of its own. */
async function silence(settings: Parameters<typeof createDispatcher>[0] = {}) {
  const { promise: spoken, resolve: speak } = Promise.withResolvers<undefined>();
  const server = await tcpServer((socket) => {
    socket.on('data', () => {
      speak(undefined);
    });
  });
  const clock = new TestClock(0);
  let movedAt = 0;
  let givenUpAt = 0;
  /** Whoever waits for a movement sets its timer anew with each. */
  const watched: Clock = {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    after(delayMs, callback) {
      movedAt = clock.monotonic();
      return clock.after(delayMs, () => {
        givenUpAt = clock.monotonic();
        callback();
      });
    },
  };
  const dispatcher = createDispatcher(settings);
  const client = new ControlPlaneClient({
    baseUrl: server.url.replace('tcp', 'http'),
    apiKey: new Secret('pl_key'),
    ...{ dispatcher, agentId, version: 'test', clock: watched },
  });
  return {
    ...{ client, clock, spoken },
    /** How long nothing moved until it was given up; the call ends when its file is closed too. */
    stoodStillMs: () => givenUpAt - movedAt,
    async [Symbol.asyncDispose]() {
      await dispatcher.destroy();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** How long on its clock a call lasts that nobody answers, after the last that moved. */
async function msUntilNoticed(
  { clock, spoken, stoodStillMs }: Awaited<ReturnType<typeof silence>>,
  call: Promise<unknown>,
): Promise<number> {
  let failure: unknown = null;
  call.catch((error: unknown) => (failure = error));
  await spoken;
  while (failure === null && clock.monotonic() < 200_000) {
    clock.advance(500);
    for (let turn = 0; turn < 5; turn += 1) await setImmediate();
  }
  assert.ok(failure instanceof CallFailure);
  assert.equal(failure.code, 'CONTROL_PLANE_UNREACHABLE');
  assert.match(failure.message, /nothing moved/);
  return stoodStillMs();
}

suite('a half-open connection is noticed within 30 s', () => {
  test('in a long poll', async () => {
    await using world = await silence();
    const call = world.client.checkIn(poll(pollMs), new AbortController().signal);
    assert.ok((await msUntilNoticed(world, call)) <= 30_000);
  });

  test('while results are submitted', async () => {
    await using world = await silence();
    const results = Array.from({ length: 500 }, () => JSON.stringify({ text: randomUUID() }));
    assert.ok((await msUntilNoticed(world, world.client.submit(results))) <= 30_000);
  });

  test('while a file is uploaded', async () => {
    await using world = await silence();
    using folder = temporaryFolder();
    const path = join(folder.path, 'file');
    writeFileSync(path, Buffer.alloc(3_000_000, 'x'));
    const call = world.client.uploadArtifact(
      {
        ...{ resultId: randomUUID(), name: 'a.bin', path, size: 3_000_000 },
        ...{ digest: 'x', isCompressed: false },
      },
      new AbortController().signal,
    );
    assert.ok((await msUntilNoticed(world, call)) <= 30_000);
  });

  test('behind a proxy that itself stays alive', async () => {
    await using proxy = await proxyServer();
    await using world = await silence({ HTTP_PROXY: new Secret(proxy.url) });
    const call = world.client.checkIn(poll(pollMs), new AbortController().signal);
    assert.ok((await msUntilNoticed(world, call)) <= 30_000);
    assert.equal(proxy.asked.length, 1);
  });
});

test('after it was noticed the next try may take longer, so that slow links get through', async () => {
  await using world = await silence();
  const { signal } = new AbortController();
  const first = await msUntilNoticed(world, world.client.checkIn(poll(0), signal));
  const second = await msUntilNoticed(world, world.client.checkIn(poll(0), signal));
  assert.ok(second >= first * 1.9, `${first} ms, then ${second} ms`);
});

test('an answer that only trickles is given up, though something moves all the time', async () => {
  const clock = new TestClock(0);
  let drip = (): void => undefined;
  await using server = await tcpServer((socket) => {
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n \r\n');
      drip = () => {
        clock.advance(5_000);
        socket.write('1\r\n \r\n');
      };
    });
  });
  await using dispatcher = {
    used: createDispatcher({}),
    [Symbol.asyncDispose]: () => dispatcher.used.destroy(),
  };
  const client = new ControlPlaneClient({
    baseUrl: server.url.replace('tcp', 'http'),
    apiKey: new Secret('pl_key'),
    ...{ dispatcher: dispatcher.used, agentId, version: 'test' },
    clock: {
      now: () => clock.now(),
      monotonic: () => clock.monotonic(),
      // Set anew with each movement.
      after(delayMs, callback) {
        void setImmediate().then(() => {
          drip();
        });
        return clock.after(delayMs, callback);
      },
    },
  });
  await assert.rejects(client.submit(['{}']), {
    code: 'CONTROL_PLANE_UNREACHABLE',
    message: /\d+ bytes of its answer came within 1[2-9]\d s, and not its end/,
  });
  assert.ok(clock.monotonic() >= 120_000);
});
