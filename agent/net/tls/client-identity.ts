/** Client certificate and trust of a connection to a host, and why a server did not accept them. */
import type { SecureContext } from 'node:tls';
import type { AssignedCertificate } from '@monitor/shared/contract/agent-protocol.ts';
import type { Failure } from '@monitor/shared/contract/checks/check-type.ts';
import { chooseClientCertificate } from '@monitor/shared/domain/client-certificate.ts';
import { codeOf, failureOf } from '../failure.ts';
import { clientCertificateRejection, type Rejection } from './client-certificate-errors.ts';
import { defaultSecureContext, secureContextOf } from './secure-context.ts';

export interface Identity {
  secureContext: SecureContext;
  /** Host pattern of the client certificate, or null. */
  shownFor: string | null;
}

/** Without a client certificate. */
export function anonymous(): Identity {
  return { secureContext: defaultSecureContext(), shownFor: null };
}

/** `host` has no brackets; `subject` names the peer in a failure. */
export function identityFor(
  { host, port, subject }: { host: string; port: number; subject: string },
  certificates: readonly AssignedCertificate[],
): Identity | Failure {
  if (certificates.length === 0) return anonymous();
  const certificate = chooseClientCertificate(certificates, host, port);
  if (certificate === undefined) return anonymous();
  try {
    return { secureContext: secureContextOf(certificate), shownFor: certificate.host };
  } catch (error) {
    const why = error instanceof Error ? error.message : '';
    const detail = `the client certificate for ${certificate.host} cannot be used: ${why}; store it again`;
    return failureOf('tls', codeOf(error), subject, detail);
  }
}

/** Explains a rejected or missing client certificate, instead of the message of OpenSSL. */
export function withRejection(failure: Failure, rejection: Rejection): Failure {
  const said = clientCertificateRejection(failure, rejection);
  if (said === null) return failure;
  const subject = failure.message.slice(failure.message.lastIndexOf(': '));
  return { ...failure, phase: 'tls', message: `${said}${subject}` };
}
