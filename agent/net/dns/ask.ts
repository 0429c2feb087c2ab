/** One question to one name server. */
import {
  textOf,
  type Answered,
  type AskOptions,
  type Exchange,
  type NameServer,
  type Unanswered,
} from './exchange.ts';
import type { DnsQuery } from './query.ts';
import type { DnsProtocol } from './registry.ts';
import { askOverTcp } from './tcp.ts';
import { askOverUdp } from './udp.ts';

/** So long one server may take: over UDP two tries of five seconds. */
const serverMs = 10_000;

export interface AskServerOptions extends AskOptions {
  readonly log: (message: string, level?: 'INFO' | 'WARN') => void;
}

/** Who answered what. A failure may come before there is a server. */
export type Asked = (Answered & { server: NameServer }) | (Unanswered & { server?: NameServer });

async function exchangeWith(
  query: DnsQuery,
  server: NameServer,
  protocol: DnsProtocol,
  options: AskServerOptions,
): Promise<Exchange> {
  const { clock, signal } = options;
  const deadline = Math.min(options.deadline, clock.monotonic() + serverMs);
  const { kernelTimes } = options;
  const limits = { clock, signal, deadline, ...(kernelTimes === undefined ? {} : { kernelTimes }) };
  if (protocol === 'TCP') return askOverTcp(query, server, limits);
  const exchange = await askOverUdp(query, server, limits);
  if (!('truncated' in exchange)) return exchange;
  options.log(`the answer of ${textOf(server)} did not fit a datagram, asking again over TCP`);
  const overTcp = await askOverTcp(query, server, limits);
  if (!('answer' in overTcp)) return overTcp;
  const { sentAt } = exchange;
  const unexplainedMs = overTcp.unexplainedMs + overTcp.sentAt - sentAt;
  return { ...overTcp, sentAt, unexplainedMs };
}

/** An answer that did not fit a datagram is asked for again over TCP, and timed as a whole. */
export async function askServer(
  query: DnsQuery,
  server: NameServer,
  protocol: DnsProtocol,
  options: AskServerOptions,
): Promise<Asked> {
  return { ...(await exchangeWith(query, server, protocol, options)), server };
}
