import type { Clock } from '@monitor/shared/clock.ts';
import type { NetworkAccess } from '../net/network-access.ts';

/** What every probe is given. */
export interface ProbeSurroundings {
  readonly clock: Clock;
  readonly network: NetworkAccess;
  readonly signal: AbortSignal;
  /** Ceiling of the whole probe. */
  readonly timeoutMs: number;
  /** `hostname` of the request: the name that a server at another address is asked for. */
  readonly hostname: string | null;
}
