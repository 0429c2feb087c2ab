/** Selects the way of sending echo requests. */
import { readFileSync } from 'node:fs';
import { systemClock, type Clock } from '@monitor/shared/clock.ts';
import { openLibc, SystemCallError, type OpenedLibc } from '../../native/libc.ts';
import { defaultPath, findOnPath } from '../../system/find-program.ts';
import { SocketTransport } from './echo.ts';
import type { IcmpTransport } from './icmp.ts';
import { PingIcmp } from './ping.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** What is missing for each way, and what would help. `why` says why there is no socket. */
function explainMissingIcmp(why: string): string {
  let range = 'unknown';
  try {
    range = readFileSync('/proc/sys/net/ipv4/ping_group_range', 'utf8').trim().replace(/\s+/, ' ');
  } catch {
    // Not Linux.
  }
  const gid = process.getgid?.() ?? 'unknown';
  return (
    `echo requests cannot be sent: net.ipv4.ping_group_range is "${range}" and does not include group ${gid}, ` +
    `no raw socket could be opened (${why}), and no ping program was found. ` +
    `Set the sysctl net.ipv4.ping_group_range to "0 2147483647", or grant CAP_NET_RAW, or install ping`
  );
}

/** Opens the best way of sending echo requests. Close it at the end. */
export function openIcmp(
  environment: Environment,
  clock: Clock = systemClock,
  opened: OpenedLibc = openLibc(),
): { icmp: IcmpTransport } | { icmp: null; problem: string } {
  let why: string;
  if (opened.libc === null) why = opened.problem;
  else {
    try {
      return { icmp: new SocketTransport(opened.libc, clock) };
    } catch (error) {
      if (!(error instanceof SystemCallError)) throw error;
      why = error.message;
    }
  }
  if (findOnPath('ping', environment) === null) {
    return { icmp: null, problem: explainMissingIcmp(why) };
  }
  return { icmp: new PingIcmp(environment['PATH'] ?? defaultPath, clock) };
}
