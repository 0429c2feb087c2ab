/** The next hop to an address: the interface, and the gateway if there is one. */

/** States in the neighbour table as `ip neigh` names them, in the order of their bits in the kernel. */
export const neighbourStates = [
  ...(['incomplete', 'reachable', 'stale', 'delay'] as const),
  ...(['probe', 'failed', 'noarp', 'permanent'] as const),
];

/**
 * State of a gateway. `incomplete`: it has not answered yet; `probe`: it is being checked; `failed`:
 * it did not answer; null: unknown.
 */
export type NeighbourState = (typeof neighbourStates)[number] | null;

/**
 * none   this machine has no route; `code` as in ENETUNREACH
 *   here   the address is one of this machine
 * hop    through a device, and by a gateway unless the address is on the link
 */
export type NextHop =
  | { kind: 'none'; code: string }
  | { kind: 'here' }
  | {
      kind: 'hop';
      device: string;
      isUp: boolean;
      hasCarrier: boolean;
      /** Set when the link is down and the target may be the only host on it. */
      mayEndAtTarget?: true;
      gateway: { address: string; state: NeighbourState } | null;
    };

export interface NextHops {
  /** Why every hop is unknown here; null where the kernel can be asked. */
  readonly problem: string | null;
  /** Null when it cannot be determined. Never rejects. */
  to(address: string): Promise<NextHop | null>;
}
