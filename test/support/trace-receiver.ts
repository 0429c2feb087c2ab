/** A receiver of OTLP over HTTP, in JSON: keeps the spans it is sent, and refuses what is not in form. */
import { type IncomingHttpHeaders } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { z } from 'zod';
import { httpServer } from './servers.ts';

const attribute = z.strictObject({
  key: z.string().min(1),
  value: z.union([
    z.strictObject({ stringValue: z.string() }),
    z.strictObject({ boolValue: z.boolean() }),
    z.strictObject({ intValue: z.string().regex(/^-?\d+$/) }),
    z.strictObject({ doubleValue: z.number() }),
  ]),
});

const nanoseconds = z.string().regex(/^\d{19}$/);
const spanId = z.string().regex(/^(?!0{16})[0-9a-f]{16}$/);

/** opentelemetry-proto, trace/v1, in its JSON form. */
const exported = z.strictObject({
  resourceSpans: z.array(
    z.strictObject({
      resource: z.strictObject({ attributes: z.array(attribute) }),
      scopeSpans: z.array(
        z.strictObject({
          scope: z.strictObject({ name: z.string(), version: z.string() }),
          spans: z.array(
            z.strictObject({
              traceId: z.string().regex(/^(?!0{32})[0-9a-f]{32}$/),
              ...{ spanId, parentSpanId: spanId.optional(), name: z.string().min(1) },
              ...{ kind: z.union([z.literal(1), z.literal(3)]), flags: z.literal(1) },
              ...{ startTimeUnixNano: nanoseconds, endTimeUnixNano: nanoseconds },
              attributes: z.array(attribute),
              status: z.strictObject({
                code: z.literal(2).optional(),
                message: z.string().optional(),
              }),
            }),
          ),
        }),
      ),
    }),
  ),
});

export interface ReceivedSpan {
  traceId: string;
  spanId: string;
  parentSpanId: string | undefined;
  name: string;
  kind: 1 | 3;
  startedAt: bigint;
  endedAt: bigint;
  attributes: Record<string, unknown>;
  status: { code?: 2 | undefined; message?: string | undefined };
}

export interface TraceReceiver extends AsyncDisposable {
  url: string;
  spans: ReceivedSpan[];
  headers: IncomingHttpHeaders[];
  /** Everything that was sent, as text. */
  text: string;
  resource: Record<string, unknown>;
  /** What comes back, in place of 200 and nothing. */
  answer: (request: number) => { status: number; body?: string };
}

const plain = (attributes: z.output<typeof attribute>[]): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0] as unknown]));

export async function startTraceReceiver(): Promise<TraceReceiver> {
  const server = await httpServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      receiver.headers.push(request.headers);
      const { status, body = '{}' } = receiver.answer(receiver.headers.length);
      if (status !== 200) {
        response.writeHead(status).end(body);
        return;
      }
      if (request.url !== '/v1/traces' || request.headers['content-type'] !== 'application/json') {
        response.writeHead(404).end();
        return;
      }
      const raw = Buffer.concat(chunks);
      const text = (
        request.headers['content-encoding'] === 'gzip' ? gunzipSync(raw) : raw
      ).toString();
      const parsed = exported.safeParse(JSON.parse(text));
      if (!parsed.success) {
        response.writeHead(400).end(parsed.error.message);
        return;
      }
      receiver.text += text;
      for (const { resource, scopeSpans } of parsed.data.resourceSpans) {
        receiver.resource = plain(resource.attributes);
        for (const { spans } of scopeSpans) {
          receiver.spans.push(
            ...spans.map(
              ({ attributes, startTimeUnixNano, endTimeUnixNano, flags: _f, ...span }) => ({
                ...span,
                ...{ parentSpanId: span.parentSpanId, startedAt: BigInt(startTimeUnixNano) },
                ...{ endedAt: BigInt(endTimeUnixNano), attributes: plain(attributes) },
              }),
            ),
          );
        }
      }
      response.writeHead(200, { 'content-type': 'application/json' }).end(body);
    });
  });
  const receiver: TraceReceiver = {
    ...server,
    ...{ spans: [], headers: [], text: '', resource: {} },
    answer: () => ({ status: 200 }),
  };
  return receiver;
}
