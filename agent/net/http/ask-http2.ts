/** One request over HTTP/2 on a connection of its own, read as the answers of HTTP/1 are. */
import { connect, constants, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { http2CodeName, windowBytes } from '../http2-codes.ts';
import { headerOf, withoutHeaders, type Headers } from './headers.ts';
import { Answer, AnswerError, maxInterim, takeFields, type AnswerListener } from './read-answer.ts';

/** Headers of a connection, which HTTP/2 forbids; `host` is the authority. */
const ofConnection = [
  ...['connection', 'host', 'http2-settings', 'keep-alive', 'proxy-connection'],
  ...['transfer-encoding', 'upgrade'],
];

interface Http2Request {
  url: URL;
  method: string;
  headers: Headers;
  body: Buffer | null;
}

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
    problem = new AnswerError(
      'HTTP2_GOAWAY',
      `the server ended the session: ${http2CodeName(code)}`,
    );
  });
  session.once('connect', () => session.setLocalWindowSize(windowBytes));
  const fields = Object.entries(withoutHeaders(headers, ofConnection));
  const stream: ClientHttp2Stream = session.request(
    {
      ':method': method,
      ':scheme': 'https',
      ':authority': headerOf(headers, 'host') ?? url.host,
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
    takeFields(answer, pairs, listener.onDeviation);
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
    const reset = code === constants.NGHTTP2_NO_ERROR ? '' : http2CodeName(code);
    if (problem !== null) return problem;
    if (answer.status > 0) {
      return new AnswerError('BODY_INCOMPLETE', `the body ended after ${bodyBytes} bytes`);
    }
    return reset === '' || socket.destroyed || socket.readableEnded
      ? new AnswerError('SOCKET_CLOSED', '')
      : new AnswerError('HTTP2_RESET', `the server refused the request: ${reset}`);
  };
  const failed = (): void => finish(failure());
  stream.once('end', () => {
    // A stream that was reset ends as well.
    const isWhole = answer.status > 0 && stream.rstCode === constants.NGHTTP2_NO_ERROR;
    finish(isWhole ? null : failure());
  });
  stream.on('error', failed);
  stream.once('close', failed);
  session.on('error', failed);
}
