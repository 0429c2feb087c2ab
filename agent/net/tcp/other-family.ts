/** Tries the other address family for a check that could not connect. */
import { connect, isIP } from 'node:net';
import type { IpFamily } from '@monitor/shared/contract/primitives.ts';
import type { Address, Resolution } from '../dns/resolve.ts';
import { otherFamily } from '../ip-family.ts';
import { bareHost } from '../url-address.ts';

/** Limit of this attempt, twice. */
const withinMs = 1_500;

interface Question {
  readonly host: string;
  readonly port: number;
  readonly tried: Address;
  readonly resolve: (host: string, family: IpFamily) => Promise<Resolution>;
  readonly signal: AbortSignal;
}

function within<T>(promise: Promise<T>): Promise<T | null> {
  const { promise: tooLong, resolve } = Promise.withResolvers<null>();
  const timer = setTimeout(resolve, withinMs, null);
  return Promise.race([promise, tooLong]).finally(() => clearTimeout(timer));
}

function answers({ address }: Address, port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect({ host: address, port, timeout: withinMs, autoSelectFamily: false });
  socket.once('connect', () => resolve(true));
  for (const event of ['error', 'timeout', 'close']) {
    socket.once(event, () => resolve(false));
  }
  return promise.finally(() => socket.destroy());
}

/** Tries a name by the other family and logs the outcome in the run. */
export async function logOtherFamily(
  { host, port, tried, resolve, signal }: Question,
  log: (message: string, level: 'INFO') => void,
): Promise<void> {
  if (signal.aborted || isIP(bareHost(host)) !== 0) return;
  const other = otherFamily(tried.family);
  const found = await within(resolve(host, other).catch(() => null));
  if (found === null || !('address' in found)) return;
  const { address } = found.address;
  const isOpen = await answers(found.address, port);
  log(
    `${tried.family} (${tried.address}) was tried, as the check asks; by ${other} (${address}) the same port ` +
      (isOpen
        ? `can be reached: set ipFamily to ${other}, or mend ${tried.family}`
        : 'does not answer either'),
    'INFO',
  );
}
