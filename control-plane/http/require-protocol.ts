import { refusalOfProtocol } from '../core/decide/agent-protocol.ts';
import { ApiError } from '../errors/api-error.ts';

/** Refuses an agent with an unsupported protocol. */
export function requireProtocol(agent: number): void {
  const refusal = refusalOfProtocol(agent);
  if (refusal === null) return;
  throw new ApiError('PROTOCOL_UNSUPPORTED', refusal.message, { ...refusal.attributes });
}
