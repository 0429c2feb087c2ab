/** A client, routers in a row behind it, and a target at the far end, by IPv4 and IPv6. */
import type { LabHost, NetworkLab } from './network-lab.ts';

export interface RouterChain {
  readonly client: LabHost;
  readonly routers: readonly LabHost[];
  readonly target: LabHost;
  /** The addresses that answer, hop by hop; the last is the target's. */
  readonly hops4: readonly string[];
  readonly hops6: readonly string[];
}

/** A router that answers everybody at any rate: tests ask more often than real routers like. */
export async function answerWithoutLimit(host: LabHost): Promise<void> {
  await host.sysctls({ 'net.ipv4.icmp_ratelimit': '0', 'net.ipv6.icmp.ratelimit': '0' });
}

/**
 * Cable n has the networks 10.80.n.0/24 and fd80:0:n::/64; the end that is nearer to the client is 1, and
 * the router behind it 2. Every router sends what it does not know on to the next one.
 */
export async function routerChain(lab: NetworkLab, count: number): Promise<RouterChain> {
  const client = await lab.host('client');
  const routers: LabHost[] = [];
  for (let index = 1; index <= count; index += 1) {
    const router = await lab.host(`r${index}`, { isRouter: true });
    await answerWithoutLimit(router);
    routers.push(router);
  }
  const target = await lab.host('target');
  await answerWithoutLimit(target);
  const far = [...routers, target];
  const row = [client, ...far];
  for (const [index, host] of far.entries()) {
    await lab.cable(
      {
        host: row[index] ?? client,
        addresses: [`10.80.${index}.1/24`, `fd80:0:${index + 1}::1/64`],
      },
      { host, addresses: [`10.80.${index}.2/24`, `fd80:0:${index + 1}::2/64`] },
    );
    await row[index]?.ipBatch([
      `route add default via 10.80.${index}.2`,
      `route add default via fd80:0:${index + 1}::2`,
    ]);
    if (index === 0) continue;
    await host.ipBatch([
      `route add 10.80.0.0/24 via 10.80.${index}.1`,
      `route add fd80:0:1::/64 via fd80:0:${index + 1}::1`,
    ]);
  }
  return {
    ...{ client, routers, target },
    hops4: far.map((_host, index) => `10.80.${index}.2`),
    hops6: far.map((_host, index) => `fd80:0:${index + 1}::2`),
  };
}
