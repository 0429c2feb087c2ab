/** Answers of handlers: a value, or text, CSV or a stream in its place, and how each is sent. */
import { hash } from 'node:crypto';
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Request, Response } from 'express';
import type { z } from 'zod';
import type { Route } from '@monitor/shared/contract/route.ts';
import { acceptsGzip, isUnchanged } from './accepted.ts';

/** An answer that is already JSON. */
class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Returns JSON text in place of the answer value, where building the value would cost too much. */
export function asJson(text: string): never {
  return new JsonText(text) as never;
}

/** An answer as CSV, with a file name for browsers. */
class CsvText {
  readonly text: string;
  readonly fileName: string;

  constructor(text: string, fileName: string) {
    this.text = text;
    this.fileName = fileName;
  }
}

/** Returns CSV in place of the answer of a route with `orCsv`. */
export function asCsv(text: string, fileName: string): never {
  return new CsvText(text, fileName) as never;
}

/**
 * True when a client of a route with `orCsv` asks for CSV: by `format`, or by preferring `text/csv`
 * in `Accept`.
 */
export function wantsCsv(format: string | undefined, { accept }: IncomingHttpHeaders): boolean {
  if (format !== undefined) return format === 'csv';
  const types = (accept ?? '')
    .split(',')
    .filter((type) => !/;\s*q=0(\.0*)?\s*$/.test(type))
    .map((type) => type.split(';')[0]?.trim().toLowerCase() ?? '');
  const csv = types.indexOf('text/csv');
  const json = types.indexOf('application/json');
  return csv !== -1 && (json === -1 || csv < json);
}

function sendCsv(response: Response, status: number, { text, fileName }: CsvText): void {
  response.writeHead(status, {
    'Content-Type': 'text/csv; charset=utf-8; header=present',
    'Content-Disposition': `attachment; filename="${fileName}"`,
    'Content-Length': Buffer.byteLength(text),
  });
  response.end(text);
}

/** A streamed answer of any size. */
class StreamAnswer {
  readonly stream: Readable;
  readonly headers: OutgoingHttpHeaders;

  constructor(stream: Readable, headers: OutgoingHttpHeaders) {
    this.stream = stream;
    this.headers = headers;
  }
}

/** The answer of a route with `responseStream`; `headers` may replace its type. */
export function asStream(stream: Readable, headers: OutgoingHttpHeaders = {}): never {
  return new StreamAnswer(stream, headers) as never;
}

/** When the source fails, the connection is broken, so that the client notices the missing rest. */
async function sendStream(
  route: Route,
  response: Response,
  status: number,
  { stream, headers }: StreamAnswer,
): Promise<void> {
  response.writeHead(status, { 'Content-Type': route.responseStream, ...headers });
  if (response.req.method === 'HEAD') {
    stream.destroy();
    response.end();
    return;
  }
  await pipeline(stream, response).catch(() => {
    response.destroy();
  });
}

export function textOfAnswer(route: Route, answer: unknown): string {
  if (answer instanceof JsonText) return answer.text;
  return route.contentType === undefined ? JSON.stringify(answer) : String(answer);
}

/** In development, an answer that breaks its contract is an error. */
export function assertAnswer(route: Route, schema: z.ZodType, value: unknown): void {
  if (value instanceof CsvText) return;
  const parsed = schema.safeParse(value instanceof JsonText ? JSON.parse(value.text) : value);
  if (!parsed.success) {
    throw new Error(`${route.operationId} answered against its contract: ${parsed.error.message}`);
  }
}

/** The value of an answer that is JSON; undefined for others. */
export function valueOfAnswer(answer: unknown): unknown {
  if (answer instanceof JsonText) return JSON.parse(answer.text);
  return answer instanceof CsvText || answer instanceof StreamAnswer ? undefined : answer;
}

export function etagOf(body: Buffer): string {
  return `W/"${hash('sha1', body, 'base64url')}"`;
}

const gzipped = promisify(gzip);
/** Half of the work of the default level, for answers of JSON that are a twentieth larger. */
const packingLevel = 3;
/** Smaller bodies fit into one packet and are not compressed. */
const worthPackingBytes = 1_024;

/** Sends the body, compressed if accepted, or 304. */
async function sendValue(
  route: Route,
  request: Request,
  response: Response,
  status: number,
  answer: unknown,
): Promise<void> {
  if (route.response === undefined) {
    response.writeHead(status).end();
    return;
  }
  const body = Buffer.from(textOfAnswer(route, answer));
  const headers: OutgoingHttpHeaders = {
    'Content-Type': `${route.contentType ?? 'application/json'}; charset=utf-8`,
  };
  // Pictures are embedded in pages of other origins.
  if (route.contentType?.startsWith('image/') === true) {
    headers['Cross-Origin-Resource-Policy'] = 'cross-origin';
  }
  const isRead = route.method === 'GET' && status === 200 && route.hasEffects !== true;
  // Agents poll often, get short answers, and cache by themselves.
  if (isRead && route.authentication === 'apiKey') {
    const etag = etagOf(body);
    headers['ETag'] = etag;
    headers['Cache-Control'] = 'private, no-cache';
    response.vary('Accept-Encoding, Authorization, Cookie');
    if (isUnchanged(request.headers, etag)) {
      response.writeHead(304, headers).end();
      return;
    }
  }
  const { authentication } = route;
  const isPacked =
    body.length >= worthPackingBytes &&
    authentication !== 'locationKey' &&
    acceptsGzip(request.headers['accept-encoding']);
  const sent = isPacked ? await gzipped(body, { level: packingLevel }) : body;
  if (isPacked) headers['Content-Encoding'] = 'gzip';
  if (authentication !== 'locationKey') response.vary('Accept-Encoding');
  response.writeHead(status, { ...headers, 'Content-Length': sent.length });
  response.end(sent);
}

export async function sendAnswer(
  route: Route,
  request: Request,
  response: Response,
  status: number,
  answer: unknown,
): Promise<void> {
  if (route.orCsv === true) response.vary('Accept');
  if (answer instanceof CsvText) sendCsv(response, status, answer);
  else if (answer instanceof StreamAnswer) await sendStream(route, response, status, answer);
  else await sendValue(route, request, response, status, answer);
}
