import assert from 'node:assert/strict';
import type { RequestListener } from 'node:http';
import { connect } from 'node:net';
import test from 'node:test';
import { systemClock } from '@monitor/shared/clock.ts';
import { openTcpTimes, type ReadTcpTimes } from '../../../agent/native/tcp-times.ts';
import { runGrpc } from '../../../agent/runners/grpc.ts';
import { runTcp } from '../../../agent/runners/tcp.ts';
import { runUrl } from '../../../agent/runners/url.ts';
import { grpcServer } from '../../support/grpc-server.ts';
import { plainNetwork } from '../../support/plain-network.ts';
import { definitionOf, runnerContext } from '../../support/runner-context.ts';
import { selfSigned } from '../../support/certificates.ts';
import { http2Server, httpServer, httpsServer, tcpServer } from '../../support/servers.ts';

const tcpTimes = openTcpTimes();
const lateMs = 60;

/** An agent that comes late to whatever it reads: it is busy until that has lain in the kernel for a while. */
const busyFor =
  (ms: number): ReadTcpTimes =>
  (socket) => {
    for (;;) {
      const times = tcpTimes(socket);
      if (times === null) return null;
      if (times.sinceData >= ms + times.tick && times.sinceConfirmation >= ms) return times;
    }
  };
const busy = busyFor(lateMs);

/** Counts how often the kernel was asked. */
const counting =
  (count: { of: number }): ReadTcpTimes =>
  (socket) => {
    count.of += 1;
    return tcpTimes(socket);
  };

const context = (held: ReadTcpTimes) =>
  runnerContext(10_000, {}, { network: { ...plainNetwork, tcpTimes: held } });

const slowMs = 300;

async function checkExchange(url: string, steps: number) {
  const begunAt = performance.now();
  const seen = await runUrl(definitionOf('URL', { url, skipSSL: true }), context(busy));
  const tookMs = performance.now() - begunAt;
  assert.equal(seen.failure, null);
  const { unexplainedMs = Infinity, responseTime } = seen;
  assert.ok(responseTime !== null, 'it was timed');
  assert.ok(responseTime <= tookMs - steps * lateMs, `${responseTime} of ${tookMs}`);
  const {
    total = 0,
    tls = 0,
    ...phases
  } = seen.response?.['timingPhases'] as Record<string, number>;
  const sum = Object.values(phases).reduce((all, phase) => all + phase, 0);
  assert.ok(Math.abs(sum - total) < 0.001, `${sum} of ${total}`);
  for (const phase of [tls, ...Object.values(phases)]) assert.ok(phase >= 0, `${phase}`);
  // What the target took by its own timer is in it.
  assert.ok(responseTime >= slowMs - 2, `${responseTime}`);
  return { responseTime, unexplainedMs };
}

const slowly: RequestListener = (_request, response) => {
  setTimeout(() => response.end('ok'), slowMs);
};

test('times of an exchange leave out what lay in the kernel, and keep what the target took', async () => {
  await using plain = await httpServer(slowly);
  const shown = await checkExchange(plain.url, 2);
  assert.ok(shown.unexplainedMs < slowMs / 2, `${shown.unexplainedMs} of ${shown.responseTime}`);
  const { key, cert } = await selfSigned({ host: '127.0.0.1', validForDays: 1 });
  await using secure = await httpsServer(key, cert, slowly);
  await checkExchange(secure.url, 3);
});

test('a slow handshake is the target’s time, and not what the agent took before its hello', async () => {
  const { key, cert } = await selfSigned({ host: 'localhost', validForDays: 1 });
  const [behind, slow] = await Promise.all([
    httpsServer(key, cert),
    // The hello waits, and with it all that follows.
    tcpServer((socket) => {
      const through = connect(behind.port, '127.0.0.1').on('error', () => socket.destroy());
      socket.on('error', () => through.destroy());
      through.pipe(socket);
      socket.once('readable', () => setTimeout(() => socket.pipe(through), slowMs));
    }),
  ]);
  await using _behind = behind;
  await using _slow = slow;
  for (const busyMs of [0, 2 * slowMs]) {
    let isConnecting = true;
    let isNext = false;
    const times: ReadTcpTimes = (socket) => {
      isNext = isConnecting;
      isConnecting = false;
      return tcpTimes(socket);
    };
    /** Stands still right after it was asked when the connection was accepted. */
    const monotonic = () => {
      const now = systemClock.monotonic();
      if (isNext) while (systemClock.monotonic() < now + busyMs);
      isNext = false;
      return now;
    };
    const seen = await runUrl(
      definitionOf('URL', { url: `https://localhost:${slow.port}/`, skipSSL: true }),
      { ...context(times), clock: { ...systemClock, monotonic } },
    );
    assert.equal(seen.failure, null);
    const leastMs = (seen.responseTime ?? 0) - (seen.unexplainedMs ?? 0);
    assert.ok(leastMs >= slowMs - 20, `${leastMs} at least`);
    if (busyMs > 0) assert.ok(leastMs < busyMs, `${leastMs} at least`);
  }
});

test('without a kernel that says when, any of the time may be the agent’s', async () => {
  await using plain = await httpServer(slowly);
  const seen = await runUrl(
    definitionOf('URL', { url: plain.url }),
    context(() => null),
  );
  assert.ok(Math.abs((seen.unexplainedMs ?? 0) - (seen.responseTime ?? -1)) < 5);
});

test('a large body may have waited for its reader, a small one has not', async () => {
  await using server = await httpServer((request, response) => {
    response.write('x');
    setTimeout(() => response.end('x'.repeat(request.url === '/large' ? 300_000 : 1_000)), slowMs);
  });
  for (const [path, mayWait] of [
    ['/small', false],
    ['/large', true],
  ] as const) {
    const url = new URL(path, server.url).href;
    const { unexplainedMs = -1 } = await runUrl(definitionOf('URL', { url }), context(tcpTimes));
    assert.equal(unexplainedMs >= slowMs - 10, mayWait, `${path} ${unexplainedMs}`);
  }
});

test('the deadline of a target is later by what the agent took, and no later', async () => {
  await using server = await tcpServer(() => undefined);
  const url = `http://127.0.0.1:${server.port}/`;
  for (const [times, atLeastMs] of [
    [tcpTimes, 500],
    [busy, 500 + lateMs],
  ] as const) {
    const begunAt = performance.now();
    const silent = { ...context(times), timeoutMs: 500 };
    const { failure } = await runUrl(definitionOf('URL', { url }), silent);
    assert.equal(failure?.code, 'TIMEOUT');
    assert.ok(performance.now() - begunAt >= atLeastMs - 2);
  }
});

test('what the target takes to close a body that ends with the connection is its own time', async () => {
  await using server = await tcpServer((socket) => {
    socket.once('data', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\nok');
      setTimeout(() => socket.end(), lateMs);
    });
  });
  const url = `http://127.0.0.1:${server.port}/`;
  const asked = { of: 0 };
  const seen = await runUrl(definitionOf('URL', { url }), context(counting(asked)));
  assert.equal(seen.failure, null);
  // At the end the kernel would say how long ago the data came, and not how late the end was read.
  assert.equal(asked.of, 2);
});

test('a TCP monitor leaves it out as well, and not the time until the target closes', async () => {
  await using server = await tcpServer((socket) => socket.write('ready'));
  const ready = {
    assertions: [{ source: 'RESPONSE_DATA', comparison: 'CONTAINS', target: 'ready' }],
  };
  const begunAt = performance.now();
  const seen = await runTcp(
    definitionOf('TCP', { hostname: '127.0.0.1', port: server.port, ...ready }),
    context(busy),
  );
  const tookMs = performance.now() - begunAt;
  assert.equal(seen.failure, null);
  // The target spoke first, so its data came before the agent had read that it was accepted.
  assert.ok((seen.responseTime ?? -1) >= 0, `${seen.responseTime}`);
  assert.ok((seen.responseTime ?? 0) <= tookMs - lateMs, `${seen.responseTime}`);

  await using closing = await tcpServer((socket) => setTimeout(() => socket.end(), lateMs));
  const asked = { of: 0 };
  const silent = await runTcp(
    definitionOf('TCP', { hostname: '127.0.0.1', port: closing.port, data: 'hello' }),
    context(counting(asked)),
  );
  assert.equal(silent.failure, null);
  assert.equal(asked.of, 1);
});

const ordersByReflection = (port: number, timeout = 2) =>
  definitionOf('GRPC', {
    ...{ url: '127.0.0.1', port, timeout },
    grpcConfig: { tls: false, mode: 'BEHAVIOR', method: 'shop.v1.Orders/Get', message: '{}' },
  });

test('reflection is a step of its own: the kernel shows what it took, and what the call after it took', async () => {
  await using server = await grpcServer({
    ...{ reflection: ['v1'], reflectsAfterMs: slowMs },
    get: (_call, answer) => void setTimeout(() => answer(null, {}), slowMs),
  });
  const seen = await runGrpc(ordersByReflection(server.port), context(busy));
  assert.equal(seen.failure, null);
  const { responseTime, unexplainedMs = Infinity } = seen;
  assert.ok(responseTime !== null && responseTime - unexplainedMs >= 2 * (slowMs - 10));
});

test('what the agent sends while it waits hides nothing of what a gRPC server took', async () => {
  await using server = await http2Server((stream) => {
    // The agent acknowledges it shortly before the answer.
    setTimeout(() => stream.session?.ping(() => undefined), slowMs - 20);
    setTimeout(() => {
      stream.respond({ 'content-type': 'application/grpc' }, { waitForTrailers: true });
      stream.on('wantTrailers', () => {
        stream.sendTrailers({ 'grpc-status': '0' });
      });
      // A message of two bytes: it serves.
      stream.end(Buffer.from([0, 0, 0, 0, 2, 8, 1]));
    }, slowMs);
  });
  const seen = await runGrpc(
    definitionOf('GRPC', {
      ...{ url: '127.0.0.1', port: server.port },
      grpcConfig: { tls: false, mode: 'HEALTH' },
    }),
    context(tcpTimes),
  );
  assert.equal(seen.failure, null);
  assert.equal(seen.response?.['healthStatus'], 1);
  const { responseTime, unexplainedMs = Infinity } = seen;
  assert.ok(responseTime !== null && responseTime - unexplainedMs >= slowMs - 10);
});

test('the deadline that a gRPC server is given is later by what the agent took before', async () => {
  await using server = await grpcServer({
    reflection: ['v1'],
    get: (_call, answer) => void setTimeout(() => answer(null, {}), lateMs),
  });
  // Twice more than the whole of it: when the connection opens, and when the types come.
  const seen = await runGrpc(ordersByReflection(server.port, 1), context(busyFor(1_050)));
  assert.equal(seen.failure, null);
  assert.equal(seen.response?.['grpcStatusCode'], 0);
});
