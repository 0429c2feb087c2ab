import assert from 'node:assert/strict';
import test from 'node:test';
import { systemClock } from '@monitor/shared/clock.ts';
import { AgentError } from '../../../../agent/errors.ts';
import { ConnectionTrail } from '../../../../agent/net/connection-trail.ts';
import { GrpcChannel } from '../../../../agent/net/grpc/channel.ts';
import { OwnDelay } from '../../../../agent/net/own-delay.ts';
import { noTcpTimes } from '../../../../agent/native/tcp-times.ts';

test('limits and routes of this machine are agent errors, what the target does is its failure', () => {
  const channel = new GrpcChannel(
    {
      address: { address: '127.0.0.1', family: 'IPv4' },
      ...{ host: 'localhost', port: 1, serverName: 'localhost', tls: null },
    },
    {
      clock: systemClock,
      delay: new OwnDelay(systemClock, noTcpTimes, systemClock.monotonic()),
      trail: new ConnectionTrail(systemClock),
    },
  );
  const of = (code: string) => channel.observed(Object.assign(new Error(code), { code }));
  for (const code of ['EMFILE', 'ENOBUFS', 'EADDRNOTAVAIL', 'ENETUNREACH']) {
    assert.throws(
      () => of(code),
      (error) => error instanceof AgentError && error.code === 'NETWORK_UNAVAILABLE',
    );
  }
  for (const code of ['ECONNREFUSED', 'ECONNRESET', 'CERT_HAS_EXPIRED', 'SOCKET_CLOSED']) {
    const failure = of(code);
    assert.deepEqual([failure.code, failure.isNetworkError], [code, true]);
  }
});
