/** What comes first on the way to an address: the interface, and the gateway where there is one. */

/**
 * Of a gateway among the neighbours, as `ip neigh` names it. `incomplete` is asked for and did not answer
 * yet, `probe` is asked whether it is still there, `failed` was asked often enough; null is unknown.
 */
export type NeighbourState =
  | 'incomplete'
  | 'reachable'
  | 'stale'
  | 'delay'
  | 'probe'
  | 'failed'
  | 'noarp'
  | 'permanent'
  | null;

/**
 *   none   this machine has no way there; `code` as in ENETUNREACH
 *   here   the address is one of this machine
 *   hop    through a device, and by a gateway where the address is not on the link itself
 */
export type NextHop =
  | { kind: 'none'; code: string }
  | { kind: 'here' }
  | {
      kind: 'hop';
      device: string;
      isUp: boolean;
      hasCarrier: boolean;
      /** Set where a link is missing and the target itself may be all that is at its other end. */
      mayEndAtTarget?: true;
      gateway: { address: string; state: NeighbourState } | null;
    };

export interface NextHops extends AsyncDisposable {
  /** Null where it cannot be found out. Never rejects. */
  to(address: string): Promise<NextHop | null>;
}
