/** How a name becomes addresses here: as the operating system does it, and server by server. */
import { isIP } from 'node:net';
import type { Clock } from '@monitor/shared/clock.ts';
import { AgentError } from '../../errors.ts';
import { askServer } from '../../net/dns/ask.ts';
import { encodeQuery } from '../../net/dns/query.ts';
import type { Machine } from '../machine.ts';

/** What one server of /etc/resolv.conf says. */
export interface ServerAnswer {
  server: string;
  durationMs: number;
  addresses: string[];
  /** NOERROR, NXDOMAIN, SERVFAIL …; null where nothing, or nothing sensible, came. */
  returnCode: string | null;
  /** Why there is no return code. */
  failure: string | null;
}

export interface NameFacts {
  host: string;
  /** It is an IP address already, so no resolver is asked. */
  isAddress: boolean;
  os: { addresses: string[]; code: string | null; durationMs: number };
  servers: ServerAnswer[];
  search: string[];
  /** Addresses that /etc/hosts has for the name. */
  hostsFile: string[];
  hasResolvConf: boolean;
}

/** The agent gives names, TCP and TLS together 20 s. */
const osWithinMs = 18_000;
const serverWithinMs = 2_500;
const maxServers = 3;

/**
 * In a process of its own: a lookup in a thread of ours could not be given up. It takes the time
 * itself: on a busy machine the start of the process takes longer than any lookup.
 */
const lookUp =
  "const began=performance.now();require('node:dns').lookup(process.argv[1],{all:true},(error,found)=>" +
  'console.log(JSON.stringify({durationMs:Math.round(performance.now()-began),' +
  '...(error?{code:error.code}:{addresses:found.map((one)=>one.address)})})))';

/** Name servers and search domains of resolv.conf. */
export function parseResolvConf(text: string): { servers: string[]; search: string[] } {
  const servers: string[] = [];
  let search: string[] = [];
  for (const line of text.split('\n')) {
    const [word, ...rest] = line
      .replace(/[#;].*$/, '')
      .trim()
      .split(/\s+/);
    if (word === 'nameserver' && rest[0] !== undefined) servers.push(rest[0]);
    if (word === 'search' || word === 'domain') search = rest;
  }
  // The C library looks at no more.
  return { servers: servers.slice(0, maxServers), search };
}

/** The addresses that a hosts file has for a name. */
export function addressesInHosts(text: string, name: string): string[] {
  return text.split('\n').flatMap((line) => {
    const [address = '', ...names] = line.replace(/#.*$/, '').trim().split(/\s+/);
    const isNamed = names.some((one) => one.toLowerCase() === name.toLowerCase());
    return isNamed && isIP(address) !== 0 ? [address] : [];
  });
}

async function askOne(host: string, server: string, clock: Clock): Promise<ServerAnswer> {
  const began = clock.monotonic();
  // The deadline limits the query. An abort would make a late answer an agent error.
  const { signal } = new AbortController();
  const answer: ServerAnswer = {
    ...{ server, durationMs: 0, addresses: [], returnCode: null, failure: null },
  };
  for (const type of ['A', 'AAAA'] as const) {
    const query = encodeQuery(host, type);
    if (query === null) return { ...answer, failure: 'the name cannot be asked for' };
    try {
      const deadline = began + serverWithinMs;
      const asked = await askServer(query, { host: server, port: 53 }, 'UDP', {
        ...{ clock, signal, deadline },
        log: () => undefined,
      });
      if ('failure' in asked) {
        answer.failure ??= asked.failure.message;
        break;
      }
      answer.returnCode ??= asked.answer.returnCode;
      for (const record of asked.answer.answers) {
        if (record.type === type) answer.addresses.push(record.data);
      }
      if (asked.answer.returnCode !== 'NOERROR') break;
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      answer.failure ??= error.message.split(';')[0] ?? error.message;
      break;
    }
  }
  return { ...answer, durationMs: Math.round(clock.monotonic() - began) };
}

async function askOs(host: string, machine: Machine, clock: Clock): Promise<NameFacts['os']> {
  const began = clock.monotonic();
  const ended = await machine.run(process.execPath, ['-e', lookUp, host], {
    timeoutMs: osWithinMs,
  });
  if (ended.isTimeout || ended.stdout === '') {
    const durationMs = Math.round(clock.monotonic() - began);
    const code = ended.isTimeout ? 'ETIMEOUT' : 'UNKNOWN';
    return { addresses: [], code, durationMs };
  }
  const {
    addresses = [],
    code = null,
    durationMs,
  } = JSON.parse(ended.stdout) as { addresses?: string[]; code?: string; durationMs: number };
  return { addresses: [...new Set(addresses)], code, durationMs };
}

/** Asks everybody at the same time. */
export async function observeNames(
  host: string,
  machine: Machine,
  clock: Clock,
): Promise<NameFacts> {
  const resolvConf = machine.read('/etc/resolv.conf');
  const { servers, search } = parseResolvConf(resolvConf ?? '');
  const isAddress = isIP(host) !== 0;
  const common = {
    ...{ host, isAddress, search },
    hostsFile: addressesInHosts(machine.read('/etc/hosts') ?? '', host),
    hasResolvConf: resolvConf !== null,
  };
  if (isAddress) {
    const os = { addresses: [host], code: null, durationMs: 0 };
    return { ...common, os, servers: [] };
  }
  const [os, ...answers] = await Promise.all([
    askOs(host, machine, clock),
    ...servers.map((server) => askOne(host, server, clock)),
  ]);
  return { ...common, os, servers: answers };
}
