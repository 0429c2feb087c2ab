/** Selects the way of sending echo requests, and relaunches the process for the best one. */
import { closeSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { systemClock, type Clock } from '@monitor/shared/clock.ts';
import { defaultPath, findOnPath } from '../../system/find-program.ts';
import { SocketTransport } from './echo.ts';
import type { IcmpTransport } from './icmp.ts';
import { PingIcmp } from './ping.ts';

type Environment = Readonly<Record<string, string | undefined>>;

const launcher = fileURLToPath(new URL('../../icmp-launcher.pl', import.meta.url));

/**
 * V8 flags, which the operator may override: a small young generation, and an old generation that
 * is collected instead of grown. They halve the memory of an agent with a thousand checks.
 */
function memoryFlags(heavyRuns: number): string[] {
  // Reports of scripts are read and scrubbed as a whole.
  const oldSpaceMb = 192 * (1 + heavyRuns);
  return ['--max-semi-space-size=1', `--max-old-space-size=${oldSpaceMb}`];
}

function v8Flags(environment: Environment, heavyRuns: number): string[] {
  const given = [environment['NODE_OPTIONS'] ?? '', ...process.execArgv].join(' ');
  return memoryFlags(heavyRuns).filter((flag) => !given.includes(flag.split('=')[0] ?? flag));
}

/** The variables are for one process; its children inherit them, but not the sockets. */
function isLaunched(environment: Environment): boolean {
  return environment['AGENT_ICMP_LAUNCHED'] === String(process.pid);
}

/**
 * Re-executes this program through the launcher, which opens the ICMP sockets where perl is
 * available: same process id, same standard streams. Afterwards the variables in `secrets` are not
 * in the environment; `inheritedSecrets` returns them. Does nothing when this was done before or is
 * not possible. `heavyRuns` is the limit of concurrent runs with code.
 */
export function relaunch(
  environment: Environment,
  { secrets = [], heavyRuns = 0 }: { secrets?: readonly string[]; heavyRuns?: number } = {},
): void {
  if (isLaunched(environment) || process.platform !== 'linux') return;
  if (process.execve === undefined) return;
  const perl = findOnPath('perl', environment);
  const given = Object.entries(environment).filter(
    (pair): pair is [string, string] => pair[1] !== undefined,
  );
  const self = [
    process.execPath,
    ...v8Flags(environment, heavyRuns),
    ...process.execArgv,
    ...process.argv.slice(1),
  ];
  process.execve(
    perl ?? process.execPath,
    perl === null ? self : ['perl', launcher, ...self],
    Object.fromEntries([
      ...given,
      ['AGENT_ICMP_LAUNCHED', String(process.pid)],
      ...(perl === null ? [] : [['AGENT_SECRETS', secrets.join(',')]]),
    ]),
  );
}

/** The variables that the launcher removed from the environment. Returned only once. */
export function inheritedSecrets(environment: Environment): Record<string, string> {
  const fd = descriptor(environment['AGENT_SECRETS_FD']);
  if (fd === null || !isLaunched(environment)) return {};
  const entries = readFileSync(fd, 'utf8').split('\0').slice(0, -1);
  closeSync(fd);
  return Object.fromEntries(
    entries.map((entry) => {
      const equals = entry.indexOf('=');
      return [entry.slice(0, equals), entry.slice(equals + 1)];
    }),
  );
}

function descriptor(text: string | undefined): number | null {
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : null;
}

function openTransport(given: Environment, clock: Clock): IcmpTransport | null {
  const environment = isLaunched(given) ? given : { PATH: given['PATH'] };
  const fd4 = descriptor(environment['AGENT_ICMP_FD4']);
  const fd6 = descriptor(environment['AGENT_ICMP_FD6']);
  const relayFd = descriptor(environment['AGENT_ICMP_RELAY_FD']);
  const relayPort = descriptor(environment['AGENT_ICMP_RELAY_PORT']);
  const relay = relayFd !== null && relayPort !== null ? { fd: relayFd, port: relayPort } : null;
  if (fd4 !== null || relay !== null) return new SocketTransport({ fd4, fd6, relay }, clock);
  const path = environment['PATH'] ?? defaultPath;
  return findOnPath('ping', environment) === null ? null : new PingIcmp(path, clock);
}

/** What is missing for each way, and what would help. */
export function explainMissingIcmp(environment: Environment): string {
  let range = 'unknown';
  try {
    range = readFileSync('/proc/sys/net/ipv4/ping_group_range', 'utf8').trim().replace(/\s+/, ' ');
  } catch {
    // Not Linux.
  }
  const perl =
    findOnPath('perl', environment) === null
      ? ' perl, which opens the sockets, is not installed.'
      : '';
  const gid = process.getgid?.() ?? 'unknown';
  return (
    `echo requests cannot be sent: net.ipv4.ping_group_range is "${range}" and does not include group ${gid}, ` +
    `no raw socket could be opened, and no ping program was found.${perl} ` +
    `Set the sysctl net.ipv4.ping_group_range to "0 2147483647", or grant CAP_NET_RAW, or install ping`
  );
}

/** Opens the best way of sending echo requests. Close it at the end. */
export function openIcmp(
  environment: Environment,
  clock: Clock = systemClock,
): { icmp: IcmpTransport } | { icmp: null; problem: string } {
  const icmp = openTransport(environment, clock);
  return icmp === null ? { icmp, problem: explainMissingIcmp(environment) } : { icmp };
}
