/** One request over HTTP/2 on a connection of its own, read as the answers of HTTP/1 are. */
import { connect, constants, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { Answer, AnswerError, maxInterim, takeFields, type AnswerListener } from './read-answer.ts';

/** A target is not held up by windows that a visitor's browser would have, too. */
const windowBytes = 1_048_576;
/** Headers of a connection, which HTTP/2 forbids; `host` is the authority. */
const ofConnection = new Set([
  ...['connection', 'host', 'http2-settings', 'keep-alive', 'proxy-connection'],
  ...['transfer-encoding', 'upgrade'],
]);

interface Http2Request {
  url: URL;
  method: string;
  headers: Readonly<Record<string, string>>;
  body: Buffer | null;
}

const codeName = (code: number | undefined): string =>
  Object.entries(constants)
    .find(([name, value]) => /^NGHTTP2_[A-Z0-9_]+$/.test(name) && value === code)?.[0]
    .replace('NGHTTP2_', '') ?? 'no code';

/** Asks, and starts to read. The caller closes the connection. */
export function askHttp2(
  socket: TLSSocket,
  { url, method, headers, body }: Http2Request,
  listener: AnswerListener,
): void {
  const session: ClientHttp2Session = connect(url.origin, {
    createConnection: () => socket,
    settings: { enablePush: false, initialWindowSize: windowBytes },
  });
  let problem: AnswerError | null = null;
  session.on('goaway', (code) => {
    if (code === constants.NGHTTP2_NO_ERROR) return;
    problem = new AnswerError('HTTP2_GOAWAY', `the server ended the session: ${codeName(code)}`);
  });
  session.once('connect', () => {
    session.setLocalWindowSize(windowBytes);
  });
  const fields = Object.entries(headers).filter(([name]) => !ofConnection.has(name.toLowerCase()));
  const host = Object.entries(headers).find(([name]) => name.toLowerCase() === 'host')?.[1];
  const stream: ClientHttp2Stream = session.request(
    {
      ':method': method,
      ':scheme': 'https',
      ':authority': host ?? url.host,
      ':path': url.pathname + url.search,
      ...(body === null ? {} : { 'content-length': String(body.length) }),
      ...Object.fromEntries(fields.map(([name, value]) => [name.toLowerCase(), value])),
    },
    { endStream: body === null },
  );
  if (body !== null) stream.end(body);
  const answer = new Answer(socket, stream);
  let interim = 0;
  const isOver = (): boolean => answer.isWhole || answer.problem !== null;
  const finish = (error: AnswerError | null): void => {
    if (isOver()) return;
    if (answer.status === 0 && error !== null) listener.onError(error);
    else {
      answer.problem = error;
      answer.isWhole = error === null;
      answer.push(null);
    }
  };
  stream.on('headers', () => {
    interim += 1;
    if (interim <= maxInterim) return;
    finish(new AnswerError('TOO_MANY_INTERIM', 'more interim responses (1xx) came'));
  });
  stream.once('response', (known, _flags, raw: string[] = []) => {
    const pairs = raw.flatMap((name, index) =>
      index % 2 === 1 || name.startsWith(':') ? [] : [[name, raw[index + 1] ?? ''] as const],
    );
    takeFields(answer, pairs, (text) => {
      listener.onDeviation(text);
    });
    answer.status = Number(known[':status']);
    answer.httpVersion = '2.0';
    listener.onHead(answer);
  });
  let bodyBytes = 0;
  stream.on('data', (chunk: Buffer) => {
    if (isOver()) return;
    bodyBytes += chunk.length;
    if (!answer.push(chunk)) stream.pause();
  });
  const failure = (): AnswerError => {
    const code = stream.rstCode ?? constants.NGHTTP2_NO_ERROR;
    const reset = code === constants.NGHTTP2_NO_ERROR ? '' : codeName(code);
    if (problem !== null) return problem;
    if (answer.status > 0) {
      return new AnswerError('BODY_INCOMPLETE', `the body ended after ${bodyBytes} bytes`);
    }
    return reset === '' || socket.destroyed || socket.readableEnded
      ? new AnswerError('SOCKET_CLOSED', '')
      : new AnswerError('HTTP2_RESET', `the server refused the request: ${reset}`);
  };
  const failed = (): void => {
    finish(failure());
  };
  stream.once('end', () => {
    // A stream that was reset ends as well.
    const isWhole = answer.status > 0 && stream.rstCode === constants.NGHTTP2_NO_ERROR;
    finish(isWhole ? null : failure());
  });
  stream.on('error', failed);
  stream.once('close', failed);
  session.on('error', failed);
}
