/** Terminates TLS of the client and opens TLS to the target, with a client certificate. */
import type { Socket } from 'node:net';
import { pipeline, type Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import type { AssignedCertificate } from '@monitor/shared/contract/agent-protocol.ts';
import { chooseClientCertificate } from '@monitor/shared/domain/client-certificate.ts';
import { clientCertificateRejection } from '../tls/client-certificate-errors.ts';
import { codeOf } from '../failure.ts';
import { secureContextOf } from '../tls/secure-context.ts';
import { alertOf } from '../tls-alert.ts';
import { readOpening } from './client-hello.ts';
import { authorityOf, sentenceOf, type Target } from './dial.ts';
import { endingWith, ClientGone } from './ending.ts';
import { shakeHands } from './handshake.ts';
import type { SessionContext } from './proxy-session.ts';

const spoken = ['h2', 'http/1.1'];
const internalError = 80;

/** The client certificate for a target, if any. */
export function certificateFor(
  { host, port }: Target,
  certificates: readonly AssignedCertificate[],
): AssignedCertificate | undefined {
  return chooseClientCertificate(certificates, host, port);
}

/** Pipes two streams into each other; when one ends, so does the other. */
export function join(one: Duplex, other: Duplex): void {
  pipeline(one, other, () => undefined);
  pipeline(other, one, () => undefined);
}

/** Peeks at the first bytes of a client until their kind is clear. */
function opening(client: Duplex): Promise<ReturnType<typeof readOpening>> {
  return new Promise((resolve, reject) => {
    let bytes = Buffer.alloc(0);
    const done = (then: () => void): void => {
      client.removeListener('data', onData);
      client.removeListener('close', onClose);
      client.pause();
      then();
    };
    const onClose = (): void => {
      done(() => reject(new Error('the client is gone')));
    };
    const onData = (part: Buffer): void => {
      bytes = Buffer.concat([bytes, part]);
      const read = readOpening(bytes);
      if (read.kind === 'incomplete') return;
      done(() => {
        client.unshift(bytes);
        resolve(read);
      });
    };
    client.on('data', onData);
    client.once('close', onClose);
    client.resume();
  });
}

/** Sends a TLS alert before the handshake, as a server would. RFC 8446, 6. */
function alert(client: Duplex, description: number): void {
  client.end(Buffer.from([21, 3, 1, 0, 2, 2, description]));
}

/** Intercepts TLS between a client and its target. Other protocols are passed through. */
export async function interceptTls(
  client: Duplex,
  onward: Socket,
  target: Target,
  certificate: AssignedCertificate,
  session: SessionContext,
): Promise<void> {
  const first = await opening(client);
  if (first.kind !== 'tls') {
    join(client, onward);
    return;
  }
  const subject = authorityOf(target);
  const rejected = (error: unknown, moment: 'handshake' | 'after' | 'later'): string | null => {
    const said = clientCertificateRejection(error, { shownFor: certificate.host, moment });
    return said === null ? null : `${said}: ${subject} (${codeOf(error)})`;
  };
  const offered = first.protocols.filter((name) => spoken.includes(name));
  let server: TLSSocket;
  try {
    const options = {
      // Throws UnusableCertificate.
      secureContext: secureContextOf(certificate),
      protocols: offered,
      // Decided below, when it is known which certificate the client must see.
      rejectUnauthorized: false,
    };
    server = await shakeHands(onward, target, options, endingWith(client, session.withinMs));
  } catch (error) {
    if (error instanceof ClientGone) return;
    session.say(rejected(error, 'handshake') ?? handshakeFailure(error, target, certificate));
    alert(client, alertOf(error) ?? internalError);
    // An unusable client certificate is reported before any handshake.
    onward.destroy();
    return;
  }
  if (client.destroyed) {
    server.destroy();
    return;
  }
  const { authorized, alpnProtocol } = server;
  if (!authorized) {
    const why = sentenceOf({ code: String(server.authorizationError) }, target);
    session.say(`the certificate of the server is not trusted: ${why}`);
  }
  const shown = new TLSSocket(client as Socket, {
    isServer: true,
    secureContext: (authorized ? session.trusted : session.untrusted).contextFor(target.host),
    ...(typeof alpnProtocol === 'string' ? { ALPNProtocols: [alpnProtocol] } : {}),
  });
  let hasAnswered = false;
  server.once('data', () => {
    hasAnswered = true;
  });
  shown.on('error', () => undefined);
  server.on('error', (error) => {
    const said = rejected(error, hasAnswered ? 'later' : 'after');
    if (said !== null) session.say(said);
  });
  server.once('end', () => {
    const said =
      hasAnswered || shown.destroyed ? null : rejected({ code: 'SOCKET_CLOSED' }, 'after');
    if (said !== null) session.say(said);
  });
  join(shown, server);
}

function handshakeFailure(
  error: unknown,
  target: Target,
  certificate: AssignedCertificate,
): string {
  const { code, message } = error as { code?: string; message: string };
  if (code === 'CLIENT_CERTIFICATE_UNUSABLE') {
    return `the client certificate for ${certificate.host} cannot be used: ${message}; store it again`;
  }
  return sentenceOf(error, target);
}
