import { createSecureContext, type SecureContext } from 'node:tls';

let shared: SecureContext | undefined;

/**
 * The trust of this process: the well-known authorities and NODE_EXTRA_CA_CERTS. Built once, since
 * building one for each connection costs more than the handshake.
 */
export function defaultSecureContext(): SecureContext {
  shared ??= createSecureContext();
  return shared;
}
