import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { systemClock } from '@monitor/shared/clock.ts';
import type { TracerouteReport } from '@monitor/shared/contract/check-result.ts';
import { AgentError } from '../../../agent/errors.ts';
import { ConnectionTrail } from '../../../agent/net/connection-trail.ts';
import { evidenceOf } from '../../../agent/net/network-evidence.ts';
import { resolveByQuery } from '../../../agent/net/dns/resolve.ts';
import type { PacketCapture } from '../../../agent/net/capture/packet-capture.ts';
import type { TracedTarget, Traceroute } from '../../../agent/net/traceroute/traceroute.ts';
import { runApi } from '../../../agent/runners/api.ts';
import { runTcp } from '../../../agent/runners/tcp.ts';
import { filesInMemory, visit } from '../../support/captured-visit.ts';
import { selfSigned } from '../../support/certificates.ts';
import { answerTo, startDnsServer } from '../../support/dns-server.ts';
import { proxyServer } from '../../support/proxy-server.ts';
import { definitionOf, runnerContext } from '../../support/runner-context.ts';
import { httpServer, httpsServer, rawServer, tcpServer } from '../../support/servers.ts';

const report: TracerouteReport = {
  ...{ method: 'tcp', address: '192.0.2.7', port: 443, ipFamily: 'IPv4' },
  ...{ startedAt: Date.parse('2026-11-21T12:00:00Z'), durationMs: 12, isReached: false, hops: [] },
};

/** A tracer that notes what it is asked, and answers as told. */
function tracer(answer: () => Promise<TracerouteReport> = () => Promise.resolve(report)) {
  const asked: TracedTarget[] = [];
  const traceroute: Traceroute = {
    trace: (target) => {
      asked.push(target);
      return answer();
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  return { asked, traceroute };
}

const bytes = Buffer.from('a capture');
const capture: PacketCapture = {
  cut: () => Promise.resolve({ bytes, packets: 3, leftOut: 0 }),
  start: () => ({ [Symbol.dispose]: () => undefined }),
  onFailure: () => undefined,
  [Symbol.dispose]: () => undefined,
};

/** A clock on which pauses cost nothing. Time limits stay: a busy machine needs them. */
const hasty = {
  ...systemClock,
  after: (ms: number, then: () => void) => systemClock.after(ms < 1_000 ? ms / 10 : ms, then),
};

function wordsOf(
  evidence: { diagnostics: { events: { phase: string; event: string }[] } } | undefined,
) {
  return evidence?.diagnostics.events.map(({ phase, event }) => `${phase}: ${event}`) ?? [];
}

suite('evidence of a failure', () => {
  test('is the packets, the way and what the socket saw', async () => {
    await using server = await rawServer(
      'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc',
      'reset',
    );
    const { asked, traceroute } = tracer();
    const { evidence, files } = await visit(
      server.url.replace('tcp', 'http'),
      { capture, traceroute },
      { context: { clock: hasty } },
    );
    assert.deepEqual(asked, [{ address: '127.0.0.1', family: 'IPv4', port: server.port }]);
    assert.equal(evidence?.pcapReference, 'artifact:capture.pcap');
    assert.deepEqual(evidence.diagnostics.capture, { kind: 'packets', packets: 3, missing: null });
    assert.deepEqual(evidence.diagnostics.traceroute, report);
    assert.equal(evidence.diagnostics.tracerouteMissing, null);
    assert.deepEqual(files.get('capture.pcap'), bytes);
    assert.match(
      files.get('traceroute.txt')?.toString() ?? '',
      /^Traceroute to 192\.0\.2\.7, port 443, TCP/,
    );
    const words = wordsOf(evidence);
    assert.match(words[0] ?? '', /^connect: connecting to 127\.0\.0\.1:\d+$/);
    assert.match(words[1] ?? '', /^connect: established from port \d+$/);
    assert.deepEqual(words.slice(2, 5), [
      'headers: GET request sent',
      'headers: response with status 200',
      'body: 3 bytes of the body had come',
    ]);
    assert.match(
      words[5] ?? '',
      /^body: the connection was reset: .*, after \d+ bytes sent and \d+ received$/,
    );
    const times = evidence.diagnostics.events.map(({ at }) => at);
    assert.deepEqual(
      times,
      times.toSorted((left, right) => left - right),
    );
  });

  test('does not count as time of the attempt', async () => {
    const server = await tcpServer(() => undefined);
    await server[Symbol.asyncDispose]();
    let tracedAt = Infinity;
    const { traceroute } = tracer(() => {
      tracedAt = Date.now();
      return new Promise((resolve) =>
        setTimeout(() => {
          resolve(report);
        }, 100),
      );
    });
    const { seen, evidence } = await visit(server.url.replace('tcp', 'http'), {
      capture,
      traceroute,
    });
    assert.ok(evidence?.diagnostics.traceroute !== null);
    assert.ok(seen.stoppedAt <= tracedAt + 1, `${seen.stoppedAt - tracedAt} ms too late`);
    const until = seen.startedAt + (seen.responseTime ?? 0);
    assert.ok(until <= tracedAt + 1, `${until - tracedAt} ms too long`);
  });

  test('has no way after a name without an address', async () => {
    await using server = await startDnsServer((query) => answerTo(query, { rcode: 3 }));
    const name = 'nowhere.example';
    const resolution = await resolveByQuery(name, 'IPv4', [`127.0.0.1:${server.port}`]);
    assert.ok('failure' in resolution);
    const { asked, traceroute } = tracer();
    const context = runnerContext(5_000, { capture, traceroute });
    const trail = new ConnectionTrail(context.clock);
    trail.resolved(name, resolution);
    const { evidence: gather } = evidenceOf(resolution.failure, trail, context);
    const evidence = await gather?.('all');
    assert.equal(asked.length, 0);
    assert.match(evidence?.diagnostics.tracerouteMissing ?? '', /^no address was found/);
    assert.match(evidence?.diagnostics.capture.missing ?? '', /^no connection was begun/);
    assert.deepEqual(wordsOf(evidence), ['resolve: nowhere.example has no address: ENOTFOUND']);
  });

  test('names who made a certificate that is not accepted', async () => {
    const { key, cert } = await selfSigned({ host: 'localhost', validForDays: 9 });
    await using server = await httpsServer(key, cert);
    const url = `https://localhost:${server.port}/`;
    const { evidence } = await visit(url, { capture }, { context: { clock: hasty } });
    const words = wordsOf(evidence).join('\n');
    assert.match(words, /tls: certificate by CN=localhost is not accepted\n/);
    assert.match(words, /tls: the certificate is self-signed: /);
  });

  test('behind a proxy is the connection to the proxy, and no way', async () => {
    await using proxy = await proxyServer({ refusesWith: 502, credentials: 'user:pass-7261' });
    const { asked, traceroute } = tracer();
    const flows: unknown[] = [];
    const noting: PacketCapture = {
      ...capture,
      cut(flow) {
        flows.push(flow.remotePort);
        return Promise.resolve({ missing: 'nothing' });
      },
    };
    const { evidence } = await visit(
      'https://shop.example/',
      { capture: noting, traceroute },
      { context: { proxyUrl: proxy.url, clock: hasty } },
    );
    assert.deepEqual([asked, flows], [[], [proxy.port]]);
    assert.match(
      evidence?.diagnostics.tracerouteMissing ?? '',
      /^the proxy of the location stands/,
    );
    const words = wordsOf(evidence);
    assert.match(words[0] ?? '', /^proxy: connecting to 127\.0\.0\.1:/);
    assert.ok(words.includes('proxy: asking for a tunnel to shop.example:443'));
    assert.ok(!words.join().includes('7261'));
  });

  test('says nothing of paths, credentials, headers or bodies', async () => {
    const canary = 'canary-71d2';
    await using server = await httpServer((request, response) => {
      if (request.url?.startsWith('/end') === true) request.socket.destroy();
      else response.writeHead(302, { location: `/end?key=${canary}`, 'x-key': canary }).end(canary);
    });
    const url = server.url.replace('//', `//${canary}:${canary}@`);
    const { evidence } = await visit(
      `${url}/${canary}`,
      { capture },
      { context: { clock: hasty } },
    );
    const words = wordsOf(evidence);
    assert.ok(words.some((word) => word.startsWith('headers: redirected to 127.0.0.1:')));
    assert.ok(!JSON.stringify(evidence).includes(canary));
  });

  test('is not gathered for what is no failure of the network', async () => {
    await using server = await httpServer((_request, response) =>
      response.writeHead(302, { location: 'ftp://elsewhere/' }).end(),
    );
    const { seen } = await visit(server.url, { capture });
    assert.equal(seen.failure?.code, 'INVALID_REDIRECT');
    assert.equal(seen.evidence, undefined);
  });

  test('says why the way is missing when the tracer has no time or fails', async () => {
    await using server = await rawServer('', 'reset');
    const url = server.url.replace('tcp', 'http');
    const busy = tracer(() => Promise.reject(new AgentError('TRACEROUTE_BUSY', 'too many')));
    const broken = tracer(() => Promise.reject(new Error('oops')));
    const missing = async (traceroute: Traceroute | null) => {
      const network = { capture, traceroute, tracerouteProblem: 'switched off by TRACEROUTE=off' };
      const { evidence } = await visit(url, network, { context: { clock: hasty } });
      assert.equal(evidence?.diagnostics.capture.kind, 'packets');
      return evidence.diagnostics.tracerouteMissing;
    };
    assert.equal(await missing(busy.traceroute), 'too many');
    assert.equal(await missing(broken.traceroute), 'the tracer failed: Error: oops');
    assert.equal(await missing(null), 'switched off by TRACEROUTE=off');
  });

  test('comes with API checks and TCP monitors as well', async () => {
    await using server = await rawServer('', 'reset');
    const { files, sink } = filesInMemory();
    const context = runnerContext(5_000, { capture }, { artifacts: sink, clock: hasty });
    const url = server.url.replace('tcp', 'http');
    const api = await runApi(definitionOf('API', { url, method: 'POST', body: '{}' }), context);
    assert.equal((await api.evidence?.('all'))?.pcapReference, 'artifact:capture.pcap');
    assert.equal(files.size, 1);
    const refused = await tcpServer(() => undefined);
    await refused[Symbol.asyncDispose]();
    const target = { hostname: '127.0.0.1', port: refused.port };
    const tcp = await runTcp(definitionOf('TCP', target), context);
    const evidence = await tcp.evidence?.('all');
    assert.equal(evidence?.pcapReference, 'artifact:capture.pcap');
    assert.match(wordsOf(evidence).at(-1) ?? '', /^connect: the connection was refused/);
  });
});
