/** Names with several addresses, for all types that connect. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import dns from 'node:dns';
import { once } from 'node:events';
import { syncBuiltinESMExports } from 'node:module';
import { connect } from 'node:net';
import test, { after, before, suite } from 'node:test';
import { AgentError } from '../../../agent/errors.ts';
import type { Observation, RunnerContext } from '../../../agent/runners/runner.ts';
import { runApi } from '../../../agent/runners/api.ts';
import { runGrpc } from '../../../agent/runners/grpc.ts';
import { runSsl } from '../../../agent/runners/ssl.ts';
import { runTcp } from '../../../agent/runners/tcp.ts';
import { runUrl } from '../../../agent/runners/url.ts';
import { selfSigned } from '../../support/certificates.ts';
import { answerTo, startDnsServer, type DnsServer } from '../../support/dns-server.ts';
import { grpcServer } from '../../support/grpc-server.ts';
import { definitionOf, runnerContext } from '../../support/runner-context.ts';
import { httpServer, tcpServer, tlsServer, type TestServer } from '../../support/servers.ts';

const refused = '127.0.0.3';
const serving = '127.0.0.1';
/** This machine cannot connect there. */
const unusable = '255.255.255.255';

const addresses: Record<string, string[]> = {
  'late.test': [refused, serving],
  'early.test': [serving, refused],
  'dead.test': [refused, '127.0.0.4'],
  'many.test': [refused, '127.0.0.4', '127.0.0.5', '127.0.0.6', '127.0.0.7', '127.0.0.8'],
  ...{ 'faulty.test': [unusable, refused], 'faulty-too.test': [refused, unusable] },
  ...{ 'faulty-first.test': [unusable, serving], 'silent.test': ['127.0.0.9', serving] },
};

let names: DnsServer;
const configured = dns.getServers();
before(async () => {
  names = await startDnsServer((query) => {
    const { name, type } = query;
    const found = addresses[name.toLowerCase()];
    if (name.toLowerCase() === 'six.test') {
      return answerTo(query, { answers: type === 'AAAA' ? [{ type, name, data: '::1' }] : [] });
    }
    if (found === undefined) return answerTo(query, { rcode: 3 });
    const answers = found.map((data) => ({ type: 'A' as const, name, data }));
    return answerTo(query, { answers: type === 'A' ? answers : [] });
  });
  dns.setServers([names.address]);
  syncBuiltinESMExports();
});
after(() => {
  dns.setServers(configured);
  syncBuiltinESMExports();
  // Its own end waits for nothing.
  void names[Symbol.asyncDispose]();
});

interface Type {
  serve(): Promise<{ port: number } & AsyncDisposable>;
  run(host: string, port: number, context: RunnerContext): Promise<Observation>;
}
const ready = [{ source: 'RESPONSE_DATA', comparison: 'CONTAINS', target: 'ready' }];
const web = (): Promise<TestServer> => httpServer((_request, response) => response.end('ok'));
const types: Record<string, Type> = {
  URL: {
    serve: web,
    run: (host, port, context) =>
      runUrl(definitionOf('URL', { url: `http://${host}:${port}/` }), context),
  },
  API: {
    serve: web,
    run: (host, port, context) =>
      runApi(definitionOf('API', { method: 'GET', url: `http://${host}:${port}/` }), context),
  },
  TCP: {
    serve: () => tcpServer((socket) => socket.write('ready')),
    run: (hostname, port, context) =>
      runTcp(definitionOf('TCP', { hostname, port, assertions: ready }), context),
  },
  SSL: {
    serve: async () => tlsServer(await selfSigned({ host: 'late.test', validForDays: 365 })),
    run: (hostname, port, context) => {
      const sslConfig = { hostname, port, skipChainValidation: true, handshakeTimeoutMs: 2_000 };
      return Promise.resolve(runSsl(definitionOf('SSL', { sslConfig }), context));
    },
  },
  GRPC: {
    serve: () => grpcServer({ health: { '': 'SERVING' } }),
    run: (url, port, context) => {
      const grpcConfig = { mode: 'HEALTH', tls: false };
      return Promise.resolve(
        runGrpc(definitionOf('GRPC', { url, port, timeout: 2, grpcConfig }), context),
      );
    },
  },
};

/** In front of a server: takes connections at once, and passes on what they say after so many ms. */
const slowly = (port: number, ms: number): Promise<TestServer> =>
  tcpServer((socket) => {
    socket.pause();
    setTimeout(() => {
      const behind = connect(port, serving);
      behind.on('error', () => socket.destroy());
      socket.once('close', () => behind.destroy());
      socket.pipe(behind).pipe(socket);
    }, ms);
  });

/** A port of an address whose kernel does not answer: nobody accepts, and the queue is full. */
async function silentPort(host: string, port: number): Promise<AsyncDisposable> {
  const script = `require('net').createServer().listen({host:'${host}',port:${port},backlog:1},()=>{console.log('up');process.kill(process.pid,'SIGSTOP')})`;
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  const queued = Array.from({ length: 8 }, () =>
    connect({ host, port }).on('error', () => undefined),
  );
  await once(queued[0] ?? child, 'connect');
  return {
    async [Symbol.asyncDispose]() {
      for (const socket of queued) socket.destroy();
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}

for (const [name, { serve, run }] of Object.entries(types)) {
  suite(`of several addresses, ${name}`, () => {
    for (const host of ['late.test', 'early.test', 'faulty-first.test']) {
      test(`takes the one of ${host} that serves`, async () => {
        await using server = await serve();
        const context = runnerContext(2_000);
        const { failure, response } = await run(host, server.port, context);
        assert.equal(failure, null);
        assert.equal(response?.['remoteAddress'] ?? response?.['resolvedIp'], serving);
        const isSaid = context.logged.some((line) => line.includes('cannot be reached'));
        assert.equal(isSaid, host !== 'early.test');
      });
    }

    test('names all that cannot be reached, and how many were not tried', async () => {
      await using server = await serve();
      const two = await run('dead.test', server.port, runnerContext(2_000));
      const twoWords =
        /127\.0\.0\.3 \(ECONNREFUSED\), 127\.0\.0\.4 \(ECONNREFUSED\) \(ECONNREFUSED\)$/;
      assert.match(two.failure?.message ?? '', twoWords);
      const six = await run('many.test', server.port, runnerContext(2_000));
      assert.match(
        six.failure?.message ?? '',
        /127\.0\.0\.6 \(ECONNREFUSED\), and 2 more not tried/,
      );
    });

    test('is undecided where this machine could not try one, and no other serves', async () => {
      await using server = await serve();
      for (const host of ['faulty.test', 'faulty-too.test']) {
        await assert.rejects(run(host, server.port, runnerContext(2_000)), AgentError);
      }
    });

    test('of which one cannot be tried ends without a fault of the agent where its run is cancelled', async () => {
      await using server = await serve();
      const cancel = new AbortController();
      const log = (): void => {
        cancel.abort();
      };
      const context = runnerContext(2_000, {}, { signal: cancel.signal, log });
      const { failure } = await run('faulty.test', server.port, context);
      assert.ok(failure !== null);
    });

    test('gives a slow target its whole limit', async () => {
      await using server = await serve();
      await using relay = await slowly(server.port, 1_300);
      for (const host of ['late.test', 'early.test']) {
        const { failure } = await run(host, relay.port, runnerContext(2_000));
        assert.equal(failure, null);
      }
    });

    test('goes on from an address that is silent', async () => {
      await using server = await serve();
      await using _silent = await silentPort('127.0.0.9', server.port);
      const { failure, response } = await run('silent.test', server.port, runnerContext(2_000));
      assert.equal(failure, null);
      assert.equal(response?.['remoteAddress'] ?? response?.['resolvedIp'], serving);
    });

    test('what the agent took at one address is given back to the next', async () => {
      await using server = await serve();
      await using relay = await slowly(server.port, 1_300);
      await using _silent = await silentPort('127.0.0.9', relay.port);
      const begunAt = performance.now();
      // It waited for half of the limit, all of it at the silent address.
      const waitedMs = (): number => Math.min(1_000, performance.now() - begunAt);
      const { failure } = await run(
        'silent.test',
        relay.port,
        runnerContext(2_000, {}, { waitedMs }),
      );
      assert.equal(failure, null);
    });

    test('gets the family of the name in the message', async () => {
      const { failure } = await run('six.test', 9, runnerContext(2_000));
      assert.match(
        failure?.message ?? '',
        /no address of IPv4, but one of IPv6 \(::1\): set ipFamily to IPv6/,
      );
    });
  });
}
