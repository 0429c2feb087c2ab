import assert from 'node:assert/strict';
import test from 'node:test';
import type { RunnerContext } from '../../../agent/runners/runner.ts';
import { runTcp } from '../../../agent/runners/tcp.ts';
import { AgentError } from '../../../agent/errors.ts';
import { resolveByQuery } from '../../../agent/net/dns/resolve.ts';
import { answerTo, startDnsServer } from '../../support/dns-server.ts';
import { tcpMonitor } from '@monitor/shared/contract/checks/tcp.ts';
import { judge } from '@monitor/shared/domain/verdict.ts';
import { definitionOf, runnerContext } from '../../support/runner-context.ts';
import { scaledClock } from '../../support/scaled-clock.ts';
import { tcpServer } from '../../support/servers.ts';

function connect(
  port: number,
  request: Record<string, unknown> = {},
  timeoutMs = 3_000,
  further: Partial<RunnerContext> = {},
) {
  const definition = definitionOf('TCP', { hostname: '127.0.0.1', port, ...request });
  return runTcp(definition, runnerContext(timeoutMs, {}, further));
}

const expectsReady = {
  assertions: [{ source: 'RESPONSE_DATA', comparison: 'CONTAINS', target: 'ready' }],
};

test('a connection alone is a success without data', async () => {
  await using server = await tcpServer((socket) => socket.end());
  const seen = await connect(server.port);
  assert.equal(seen.failure, null);
  const phases = seen.response?.['timingPhases'] as Record<string, number>;
  assert.ok(
    Math.abs(
      (phases['dns'] ?? 0) +
        (phases['connection'] ?? 0) +
        (phases['data'] ?? 0) -
        (phases['total'] ?? 0),
    ) < 0.001,
  );
});

test('data is sent and the answer is read until the peer closes', async () => {
  await using server = await tcpServer((socket) => {
    socket.once('data', (data) => socket.end(`you said ${String(data)}`));
  });
  const seen = await connect(server.port, { data: 'hello' });
  assert.equal(seen.response?.['data'], 'you said hello');
});

test('reading stops as soon as the assertions hold, though the peer stays', async () => {
  await using server = await tcpServer((socket) => {
    socket.write('not yet\n');
    setTimeout(() => socket.write('ready\n'), 30);
  });
  const seen = await connect(server.port, expectsReady);
  assert.equal(seen.response?.['data'], 'not yet\nready\n');
});

test('a peer that stays silent is a timeout with its own code', async () => {
  await using server = await tcpServer(() => undefined);
  const seen = await connect(server.port, expectsReady, 300, { clock: scaledClock(1) });
  assert.equal(seen.failure?.code, 'SOCKET_TIMEOUT');
  assert.equal(seen.failure.isNetworkError, true);
});

test('the quiet wait after an answer does not count', async () => {
  await using server = await tcpServer((socket) => socket.write('banner'));
  const seen = await connect(server.port, expectsReady, 5_000, { clock: scaledClock(1) });
  assert.equal(seen.response?.['data'], 'banner');
  assert.ok((seen.responseTime ?? 9_999) < 900, `${seen.responseTime} ms`);
});

test('refused and reset connections are network errors', async () => {
  const closed = await tcpServer(() => undefined);
  await closed[Symbol.asyncDispose]();
  assert.equal((await connect(closed.port)).failure?.code, 'ECONNREFUSED');
  await using resetting = await tcpServer((socket) => {
    socket.once('data', () => socket.resetAndDestroy());
  });
  assert.equal((await connect(resetting.port, { data: 'x' })).failure?.code, 'ECONNRESET');
});

test('an unknown name is a failure of the target, a dead resolver is an agent error', async () => {
  await using server = await startDnsServer((query) => answerTo(query, { rcode: 3 }));
  const missing = await resolveByQuery('nowhere.example', 'IPv4', [`127.0.0.1:${server.port}`]);
  assert.ok('failure' in missing);
  assert.equal(missing.failure.code, 'ENOTFOUND');
  await using broken = await startDnsServer((query) => answerTo(query, { rcode: 2 }));
  const failed = await resolveByQuery('broken.example', 'IPv4', [`127.0.0.1:${broken.port}`]);
  assert.ok('failure' in failed);
  assert.equal(failed.failure.code, 'ESERVFAIL');
  const gone = await startDnsServer(() => 'silence');
  await gone[Symbol.asyncDispose]();
  await assert.rejects(
    resolveByQuery('any.example', 'IPv4', [`127.0.0.1:${gone.port}`]),
    (error) => error instanceof AgentError && error.code === 'RESOLVER_UNAVAILABLE',
  );
});

/** Pieces of an answer, with the milliseconds to wait where they are numbers; null ends the connection. */
const talks: [
  fails: boolean,
  comparison: string,
  target: string,
  property: string,
  ...pieces: (number | string | Buffer | null)[],
][] = [
  [true, 'NOT_CONTAINS', 'DEGRADED', '', '+OK ', 200, 'DEGRADED', null],
  [false, 'NOT_CONTAINS', 'DEGRADED', '', '+OK ', 200, 'fine', null],
  [true, 'EQUALS', 'OK', '', 'OK', 200, ' but degraded', null],
  [true, 'IS_EMPTY', '', 'ERR (.*)', 'fine ', 200, 'ERR down', null],
  [false, 'CONTAINS', '220 ready', '', '220-mx\r\n', 1_800, '220 ready\r\n'],
  [false, 'EQUALS', 'PONG', '', 'P', 1_300, 'ONG'],
  // Between the two bytes of one character.
  [false, 'EQUALS', 'café', '', Buffer.from('caf\xc3', 'latin1'), 200, Buffer.from([0xa9])],
  [false, 'EQUALS', 'café', '', Buffer.from('caf\xc3', 'latin1'), 1_300, Buffer.from([0xa9])],
  [false, 'NOT_CONTAINS', 'é', '', Buffer.from('caf\xc3', 'latin1'), 200, null],
  [false, 'GREATER_THAN', '5', 'count (\\d+) ', 'count ', 1_300, '17 '],
];

for (const [fails, comparison, target, property, ...pieces] of talks) {
  const shown = pieces.filter((piece) => typeof piece === 'string').join(' … ');
  test(`${comparison} ${target || property} of ${shown} ${fails ? 'fails' : 'holds'}`, async () => {
    await using server = await tcpServer((socket) => {
      socket.setNoDelay(true);
      const say = ([piece, ...more]: typeof pieces): void => {
        if (piece === undefined) return;
        if (typeof piece === 'number') {
          setTimeout(say, piece, more);
          return;
        }
        if (piece === null) socket.end();
        else socket.write(piece);
        say(more);
      };
      say(pieces);
    });
    const assertions = [{ source: 'RESPONSE_DATA', comparison, target, property }];
    const definition = definitionOf('TCP', {
      ...{ hostname: '127.0.0.1', port: server.port, assertions },
    });
    const seen = await runTcp(definition, runnerContext(5_000));
    assert.equal(judge(tcpMonitor.judging, definition, seen).hasFailures, fails);
  });
}

const peersThatStay: [answer: string, comparison: string, target: string, data: string][] = [
  ['-ERR', 'EQUALS', '+PONG', '-ERR'],
  // Half a character of UTF-8: of another one, and one that alone makes the assertion true.
  ['caf\xe9', 'EQUALS', 'café', 'caf\ufffd'],
  ['\xc3', 'NOT_EMPTY', '', '\ufffd'],
];

for (const [said, comparison, target, data] of peersThatStay) {
  test(`${comparison} ${target} of ${JSON.stringify(said)} does not wait for more`, async () => {
    await using server = await tcpServer((socket) => socket.write(Buffer.from(said, 'latin1')));
    const assertions = [{ source: 'RESPONSE_DATA', comparison, target }];
    const seen = await connect(server.port, { assertions }, 30_000);
    assert.ok(seen.stoppedAt - seen.startedAt < 20_000);
    assert.equal(seen.response?.['data'], data);
  });
}
