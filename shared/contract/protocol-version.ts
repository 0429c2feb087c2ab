/**
 * Grows with every change that the other side must know. An agent speaks one version; a control
 * plane accepts all since `oldestProtocol` and refuses others with PROTOCOL_UNSUPPORTED.
 */
export const protocolVersion = 2;
export const oldestProtocol = 1;
