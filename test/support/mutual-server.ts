/** Servers that want to see a client certificate. */
import type { ServerResponse } from 'node:http';
import { createSecureServer } from 'node:http2';
import type { TLSSocket, TlsOptions } from 'node:tls';
import type { Authority, KeyAndCertificate } from './certificates.ts';
import type { TestServer } from './servers.ts';
import { listening } from './servers.ts';

export interface MutualServer extends TestServer {
  /** Common names of the certificates it was shown, one for each request; `-` for none. */
  readonly seen: string[];
}

export interface MutualOptions extends TlsOptions {
  /** What it shows itself. */
  own: KeyAndCertificate;
  /** Whose certificates it accepts. */
  accepts: Authority;
  /** Everybody is let in. */
  isOpen?: boolean;
  /** Answers wait for it. */
  before?: () => Promise<void>;
  /** Where it listens, as clients name it. */
  name?: string;
}

/** Answers with the name in the certificate it was shown, and refuses whoever shows none. */
export async function mutualServer(options: MutualOptions): Promise<MutualServer> {
  const { own, accepts, isOpen = false, before, name = 'localhost', ...tls } = options;
  const seen: string[] = [];
  const answer = (socket: TLSSocket, response: ServerResponse): void => {
    const { subject } = socket.getPeerCertificate();
    const shown = socket.authorized ? String(subject.CN) : '-';
    seen.push(shown);
    response.statusCode = socket.authorized || isOpen ? 200 : 403;
    response.setHeader('content-type', 'text/html');
    response.end(`<title>${shown}</title>\n<body>${shown}`);
  };
  const server = createSecureServer({
    ...own,
    ...{ ca: accepts.cert, requestCert: true, rejectUnauthorized: false, allowHTTP1: true },
    ...tls,
  });
  server.on('request', (request, response) => {
    // A socket of HTTP/2 stands behind a proxy object that does not show certificates.
    const socket = request.httpVersion === '2.0' ? request.stream.session?.socket : request.socket;
    void (before?.() ?? Promise.resolve()).then(() => {
      // The client may have given up meanwhile.
      if (request.httpVersion === '2.0' && request.stream.destroyed) return;
      answer(socket as TLSSocket, response as unknown as ServerResponse);
    });
  });
  server.on('sessionError', () => undefined);
  server.on('tlsClientError', () => undefined);
  const opened = await listening(server);
  return { ...opened, seen, url: `https://${name}:${opened.port}` };
}
