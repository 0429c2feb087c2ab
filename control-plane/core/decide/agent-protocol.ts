/**
 * Compatibility of agents. The control plane accepts its own protocol and older ones down to
 * `oldestProtocol`; an agent speaks one. So the control plane is upgraded first. An agent that was
 * upgraded too early keeps its results until then.
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
    /** The side to upgrade. */
    upgrade: 'agent' | 'control-plane';
  };
}

const spokenHere: SpokenProtocols = { oldest: oldestProtocol, newest: protocolVersion };

/** Why the protocol of an agent is not accepted, and what to do; null when it is accepted. */
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
 * The protocol that an agent sends in a header. Without the header it is 1; null for an invalid
 * header: empty, or sent twice.
 */
export function protocolIn(header: string | string[] | undefined): number | null {
  if (header === undefined) return 1;
  return typeof header === 'string' && /^\d{1,9}$/.test(header) ? Number(header) : null;
}
