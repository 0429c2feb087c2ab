// Own process: it starts many programs.
/**
 * The capture among hosts, as a user without rights and as one with just the right to capture. The far
 * network is behind a router; what is sent to some of its addresses is dropped or refused.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, before, suite, test } from 'node:test';
import type { PrintedVisit } from '../../../support/captured-visit.ts';
import {
  labProblem,
  openNetworkLab,
  type LabHost,
  type NetworkLab,
} from '../../../support/network-lab.ts';
import { readPcap, type ReadPacket } from '../../../support/pcap-reader.ts';

const nobody = ['--reuid', '1001', '--regid', '1001', '--clear-groups'];
const mayCapture = [
  ...nobody,
  ...['--inh-caps', '+net_raw', '--ambient-caps', '+net_raw', '--bounding-set', '-all,+net_raw'],
];
const mayNothing = [...nobody, '--inh-caps', '-all', '--bounding-set', '-all', '--no-new-privs'];

const visitor = new URL('../../../support/captured-visit.ts', import.meta.url).pathname;

/** A server that resets after the request, on both families. */
const resetting = `
  require('node:net').createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.write('HTTP/1.1 200 OK\\r\\n', () => socket.resetAndDestroy()));
  }).listen(8080, '::', () => console.log('listening'));`;

interface World {
  lab: NetworkLab;
  agent: LabHost;
}

async function openWorld(): Promise<World> {
  const lab = openNetworkLab();
  const agent = await lab.host('agent');
  const router = await lab.host('router', { isRouter: true });
  const far = await lab.host('far', { isRouter: true });
  await lab.cable(
    { host: agent, addresses: ['10.1.0.2/24', 'fd01::2/64'] },
    { host: router, addresses: ['10.1.0.1/24', 'fd01::1/64'] },
  );
  await lab.cable(
    { host: router, addresses: ['10.2.0.1/24', 'fd02::1/64'] },
    { host: far, addresses: ['10.2.0.2/24', 'fd02::2/64'] },
  );
  await agent.ip('route', 'add', 'default', 'via', '10.1.0.1');
  await agent.ip('-6', 'route', 'add', 'default', 'via', 'fd01::1');
  await far.ip('route', 'add', '10.1.0.0/24', 'via', '10.2.0.1');
  await far.ip('-6', 'route', 'add', 'fd01::/64', 'via', 'fd02::1');
  await router.ip('route', 'add', '10.9.0.0/16', 'via', '10.2.0.2');
  await router.ip('-6', 'route', 'add', 'fd09::/64', 'via', 'fd02::2');
  await far.ip('route', 'add', 'blackhole', '10.9.1.0/24');
  await far.ip('route', 'add', 'prohibit', '10.9.2.0/24');
  await far.ip('-6', 'route', 'add', 'blackhole', 'fd09::1/128');
  await far.ip('-6', 'route', 'add', 'prohibit', 'fd09::2/128');
  const server = far.spawn(process.execPath, ['-e', resetting]);
  if (server.stdout !== null) await once(server.stdout, 'data');
  return { lab, agent };
}

async function visitAs(
  { agent }: World,
  rights: readonly string[],
  url: string,
  timeoutMs = 2_000,
): Promise<PrintedVisit> {
  const family = url.includes('[') ? 'IPv6' : 'IPv4';
  const words = [...rights, process.execPath, visitor, url, String(timeoutMs), family];
  const child = agent.spawn('setpriv', words, { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout?.on('data', (chunk: Buffer) => (text += chunk.toString()));
  await once(child, 'close');
  return JSON.parse(text) as PrintedVisit;
}

function packetsIn({ pcap, problem, evidence }: PrintedVisit): ReadPacket[] {
  assert.equal(problem, null);
  assert.equal(evidence?.diagnostics.capture.missing, null);
  return readPcap(Buffer.from(pcap ?? '', 'base64'));
}

suite('the capture among hosts', { skip: labProblem() ?? false, concurrency: 4 }, () => {
  let world: World;
  before(async () => {
    world = await openWorld();
  });
  after(() => world.lab[Symbol.asyncDispose]());

  for (const [family, far, dropped, refused] of [
    ['IPv4', '10.2.0.2', '10.9.1.1', '10.9.2.1'],
    ['IPv6', '[fd02::2]', '[fd09::1]', '[fd09::2]'],
  ] as const) {
    test(`a user with nothing but the right to capture sees a reset over ${family}`, async () => {
      const seen = await visitAs(world, mayCapture, `http://${far}:8080/`);
      assert.deepEqual([seen.uid, seen.failure?.code], [1001, 'ECONNRESET']);
      const flags = packetsIn(seen).map((packet) => packet.flags);
      assert.deepEqual(flags.slice(0, 4), ['S', 'SA', 'A', 'PA']);
      assert.match(flags.join(' '), /R/);
    });

    test(`of packets that are dropped somewhere the SYN and its repetition stay, over ${family}`, async () => {
      const seen = await visitAs(world, mayCapture, `http://${dropped}:443/`, 4_000);
      assert.equal(seen.failure?.code, 'TIMEOUT');
      const packets = packetsIn(seen);
      // The first is repeated after a second, then after two more.
      const flags = packets.map((packet) => packet.flags).join('');
      assert.match(flags, /^SS+$/);
      assert.equal(packets[0]?.to, `${dropped.replace(/[[\]]/g, '')} 443`);
    });

    test(`the error of a router that refuses is among the packets, over ${family}`, async () => {
      const seen = await visitAs(world, mayCapture, `http://${refused}:443/`);
      assert.equal(seen.failure?.code, family === 'IPv4' ? 'EHOSTUNREACH' : 'EACCES');
      const [syn, error] = packetsIn(seen);
      assert.equal(syn?.flags, 'S');
      assert.equal(error?.protocol, 'icmp');
      assert.equal(error.from, far.replace(/[[\]]/g, ''));
      // It quotes the SYN: its IP header and the ports.
      const length = family === 'IPv4' ? 28 : 48;
      assert.equal(error.rest.length, length);
      assert.ok(error.rest.subarray(-8).equals(syn.bytes.subarray(length - 8, length)));
    });
  }

  test('a capture that this machine forbids is an agent error', async () => {
    await world.agent.ip('route', 'add', 'prohibit', '10.8.0.0/16');
    const seen = await visitAs(world, mayNothing, 'http://10.8.0.1/');
    assert.equal(seen.fault, 'NETWORK_UNAVAILABLE');
  });

  test('a user without rights gets the socket events and the name of the missing right', async () => {
    const seen = await visitAs(world, mayNothing, 'http://10.2.0.2:8080/');
    assert.deepEqual([seen.uid, seen.failure?.code, seen.pcap], [1001, 'ECONNRESET', null]);
    assert.equal(
      seen.evidence?.diagnostics.capture.missing,
      'packets cannot be captured: this process has no CAP_NET_RAW (start the container with --cap-add=NET_RAW as root, or give the process the ambient capability); the events of the socket are listed instead',
    );
    const events = seen.evidence.diagnostics.events.map(({ event }) => event);
    assert.match(events.join('\n'), /established from port \d+\nGET request sent\n/);
  });
});
