/** What routers and hosts say about echo requests, by both kinds of sockets and both families. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { proberIn, type Prober } from '../../../support/lab-host.ts';
import {
  labProblem,
  openNetworkLab,
  type LabHost,
  type NetworkLab,
} from '../../../support/network-lab.ts';
import { answerWithoutLimit } from '../../../support/router-chain.ts';

/**
 * clients ── router   routes of the router answer, refuse or throw away what is behind it. It sends five
 *                     errors at once to each client: so those that need many are clients of their own.
 */
const problem = labProblem();
let lab: NetworkLab;
const probers: Record<string, Prober> = {};

const asUser = ['setpriv', '--reuid', '10001', '--regid', '10001', '--clear-groups'];

const ranges = { raw: '1 0', datagram: '0 2147483647' };

async function addClient(router: LabHost, index: number, name: string): Promise<void> {
  const client = await lab.host(`client${index}`);
  await lab.cable(
    { host: client, addresses: [`10.60.${index}.2/24`, `fd60:${index}::2/64`] },
    { host: router, addresses: [`10.60.${index}.1/24`, `fd60:${index}::1/64`] },
  );
  await client.ipBatch([
    `route add default via 10.60.${index}.1`,
    `route add default via fd60:${index}::1`,
  ]);
  const isRaw = name.startsWith('raw');
  await client.sysctl('net.ipv4.ping_group_range', ranges[isRaw ? 'raw' : 'datagram']);
  probers[name] = await proberIn(client, isRaw ? [] : asUser);
}

before(async () => {
  if (problem !== null) return;
  lab = openNetworkLab();
  const router = await lab.host('router', { isRouter: true });
  await answerWithoutLimit(router);
  await router.ipBatch([
    'addr add 10.61.0.1/32 dev lo',
    'addr add fd61::1/128 dev lo',
    ...['unreachable', 'prohibit', 'blackhole'].flatMap((kind, index) => [
      `route add ${kind} 10.62.${index}.0/24`,
      `route add ${kind} fd62:${index}::/32`,
    ]),
  ]);
  const clients = Object.keys(ranges).flatMap((way) => [way, `${way}, busy`]);
  for (const [index, name] of clients.entries()) await addClient(router, index, name);
});

after(async () => {
  if (problem === null) await lab[Symbol.asyncDispose]();
});

interface Reply {
  success: boolean;
  type: number | null;
  code: number | null;
  ttl: number | null;
  rtt: number | null;
}

async function ping(way: string, hostname: string): Promise<(number | null | boolean)[][]> {
  const ipFamily = hostname.includes(':') ? 'IPv6' : 'IPv4';
  const request = { hostname, ipFamily, pingCount: 2 };
  const answer = await probers[way]?.({ type: 'ICMP', request, timeoutMs: 1_000 });
  assert.equal(answer?.ours, null, answer?.ours?.message);
  const replies = answer.seen?.response?.['pingResults'] as Reply[];
  for (const { success, rtt } of replies) assert.equal(success, rtt !== null && rtt > 0);
  return replies.map(({ success, type, code, ttl }) => [success, type, code, ttl]);
}

suite('echo requests', { concurrency: true, skip: problem ?? false }, () => {
  for (const way of Object.keys(ranges)) {
    for (const [target, what, ...expected] of [
      ['10.61.0.1', 'a host that answers', true, 0, 0, 64],
      ['fd61::1', 'a host that answers', true, 129, 0, 64],
      ['10.62.0.1', 'a router that says unreachable', false, 3, 1, null],
      ['fd62:0::1', 'a router that says unreachable', false, 1, 0, null],
      ['10.62.1.1', 'a router that says prohibited', false, 3, 13, null],
      ['fd62:1::1', 'a router that says prohibited', false, 1, 1, null],
      ['10.62.2.1', 'silence', false, null, null, null],
      ['fd62:2::1', 'silence', false, null, null, null],
    ] as const) {
      test(`by a ${way} socket to ${target}: ${what}`, async () => {
        assert.deepEqual(await ping(way, target), [expected, expected]);
      });
    }

    test(`by a ${way} socket, errors about some targets are not those of others`, async () => {
      const many = await Promise.all(
        Array.from({ length: 60 }, (_one, index) =>
          ping(`${way}, busy`, ['10.62.0.9', '10.61.0.1', 'fd62:1::9', 'fd61::1'][index % 4] ?? ''),
        ),
      );
      assert.deepEqual(
        many.map((replies) => replies.map(([success]) => success)),
        many.map((_replies, index) => [index % 2 === 1, index % 2 === 1]),
      );
    });
  }
});
