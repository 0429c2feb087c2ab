/**
 * Which agent says that the control plane is away. No agent can know more than what it and those that
 * it reaches see, so it speaks only where none of them reaches the control plane.
 */

/** What another agent says of itself. */
export interface PeerAnswer {
  agentId: string;
  /** How long the control plane has been away from it; null while it is not. */
  awayMs: number | null;
  /** Whether people know already. */
  hasSpoken: boolean;
}

export interface Sight {
  agentId: string;
  awayMs: number;
  /** When people are to know. */
  awayAfterMs: number;
  /** How many other agents there are. */
  peers: number;
  /** Of those that answered. */
  answers: readonly PeerAnswer[];
}

export type Decision =
  | 'too-early'
  /** Another agent reaches it, so the fault is on the way of this one. The control plane reports that. */
  | 'reached-by-others'
  | 'said-by-others'
  /** Nobody answers at all: this agent may be cut off. */
  | 'undecided'
  | 'not-its-turn'
  | 'speak';

/** A network that is cut off comes back or is noticed by people; after so long silence would hide more. */
export const aloneAfterMs = 15 * 60_000;
/** Time for the one before to send its messages. */
export const turnMs = 30_000;

export function decideSpeaker({ agentId, awayMs, awayAfterMs, peers, answers }: Sight): Decision {
  if (awayMs < awayAfterMs) return 'too-early';
  if (answers.some((peer) => peer.awayMs === null)) return 'reached-by-others';
  if (answers.some((peer) => peer.hasSpoken)) return 'said-by-others';
  if (peers > 0 && answers.length === 0) {
    return awayMs < Math.max(aloneAfterMs, awayAfterMs) ? 'undecided' : 'speak';
  }
  // One that has just lost it may be the first to have it back.
  if (answers.some((peer) => (peer.awayMs ?? 0) < awayAfterMs / 2)) return 'too-early';
  const before = answers.filter((peer) => peer.agentId < agentId).length;
  return awayMs < awayAfterMs + before * turnMs ? 'not-its-turn' : 'speak';
}
