/** Tries the addresses of a name in turn, until a connection comes about. */
import type { Clock } from '@monitor/shared/clock.ts';
import type { Failure } from '@monitor/shared/contract/checks/check-type.ts';
import { AgentError } from '../errors.ts';
import type { ConnectionTrail } from './connection-trail.ts';
import type { Address } from './dns/resolve.ts';
import { assertNextHopReachable, type NextHopTools } from './next-hop/assert-reachable.ts';

const maxAddresses = 4;

export interface Turn {
  readonly address: Address;
  /** When it began, on the monotonic clock. */
  readonly begunAt: number;
  /** The part of the time left that connecting may take, so that the next one has its turn. */
  readonly connectShare: number;
  /** What the agent took of the time of earlier turns, in ms. */
  readonly takenMs: number;
}

interface Tools {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Absent where nobody has time to check the next hop. */
  readonly network?: NextHopTools['network'] | undefined;
  waitedMs?(): number;
  log(message: string, level: 'INFO'): void;
}

/** What one address gave. An outcome without a connection leads to the next address. */
interface Outcome {
  failure: Failure | null;
  isConnected: boolean;
}

/**
 * The outcome of the first address with a connection, or of the last one, whose failure then names all.
 * Where this machine could not try one of them and no other connected, that is thrown: nobody knows whether it serves.
 */
export async function tryAddresses<T extends Outcome>(
  place: { address: Address; others?: readonly Address[]; host: string; subject: string },
  attempt: (turn: Turn) => Promise<T>,
  tools: Tools,
  trail: ConnectionTrail,
): Promise<{ outcome: T; turn: Turn }> {
  const { host, subject, others = [] } = place;
  const { clock, signal, network } = tools;
  const tried = [place.address, ...others.slice(0, maxAddresses - 1)];
  const untried = others.length + 1 - tried.length;
  const isSeveral = tried.length > 1;
  const failed: { address: Address; failure: Failure }[] = [];
  let fault: unknown = null;
  let takenMs = 0;
  let last: { outcome: T; turn: Turn } | null = null;
  for (const [index, address] of tried.entries()) {
    const begunAt = clock.monotonic();
    const turn = { address, begunAt, connectShare: 1 / (tried.length - index), takenMs };
    const waitedBefore = isSeveral ? (tools.waitedMs?.() ?? 0) : 0;
    let code: string;
    try {
      const outcome = await attempt(turn);
      const { failure } = outcome;
      last = { outcome, turn };
      if (outcome.isConnected || failure === null) return last;
      failed.push({ address, failure });
      if (signal.aborted) break;
      ({ code } = failure);
    } catch (error) {
      if (!(error instanceof AgentError)) throw error;
      fault ??= error;
      ({ code } = error);
    }
    const next = tried[index + 1];
    if (next === undefined) break;
    takenMs += Math.min(clock.monotonic() - begunAt, (tools.waitedMs?.() ?? 0) - waitedBefore);
    const line = `${address.address} cannot be reached (${code}); ${next.address}, the next address of ${host}, is tried`;
    tools.log(line, 'INFO');
    trail.add('connect', line);
  }
  if (signal.aborted && last !== null) return last;
  for (const { address, failure } of network === undefined ? [] : failed) {
    const at = { address: address.address, subject };
    await assertNextHopReachable(failure, at, { network, clock, signal } as NextHopTools, trail);
  }
  if (fault !== null || last === null) throw fault;
  const { outcome, turn } = last;
  if (!isSeveral || outcome.failure === null) return last;
  const { code } = outcome.failure;
  const all = failed.map((one) => `${one.address.address} (${one.failure.code})`).join(', ');
  const more = untried > 0 ? `, and ${untried} more not tried` : '';
  const message = `no address could be reached: ${subject}: ${all}${more} (${code})`;
  return { outcome: { ...outcome, failure: { ...outcome.failure, message } }, turn };
}
