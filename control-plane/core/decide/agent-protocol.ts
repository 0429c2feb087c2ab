/**
 * Which agents a control plane understands. It speaks its own protocol and the ones before it down to
 * the oldest it still knows; an agent speaks one. So the control plane is upgraded first, then its
 * agents, and an agent that was upgraded too early waits with its results.
 */
import { oldestProtocol, protocolVersion } from '@monitor/shared/contract/agent-protocol.ts';

export interface SpokenProtocols {
  oldest: number;
  newest: number;
}

export interface ProtocolRefusal {
  message: string;
  attributes: {
    protocol: { agent: number; controlPlane: SpokenProtocols };
    /** The side that is too old. */
    upgrade: 'agent' | 'control-plane';
  };
}

const spokenHere: SpokenProtocols = { oldest: oldestProtocol, newest: protocolVersion };

/** Why an agent of a protocol is not understood and what helps, or null where it is. */
export function refusalOfProtocol(
  agent: number,
  spoken: SpokenProtocols = spokenHere,
): ProtocolRefusal | null {
  const { oldest, newest } = spoken;
  if (agent >= oldest && agent <= newest) return null;
  const range = oldest === newest ? `protocol ${newest}` : `protocols ${oldest} to ${newest}`;
  const upgrade = agent > newest ? 'control-plane' : 'agent';
  const older = upgrade === 'agent' ? 'agent' : 'control plane';
  return {
    message: `this control plane speaks ${range} of agents and the agent protocol ${agent}: the ${older} is the older one, upgrade it`,
    attributes: { protocol: { agent, controlPlane: spoken }, upgrade },
  };
}

/**
 * What an agent says it speaks, in a header of each call. None is the first, which had no header; null is
 * what no agent says: empty, or said twice.
 */
export function protocolIn(header: string | string[] | undefined): number | null {
  if (header === undefined) return 1;
  return typeof header === 'string' && /^\d{1,9}$/.test(header) ? Number(header) : null;
}
