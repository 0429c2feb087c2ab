/** Spans in the JSON form of OTLP (opentelemetry-proto, `trace/v1`): what collectors take at `/v1/traces`. */

export type AttributeValue = string | number | boolean;

/** One span. Instants are milliseconds since the epoch, with fractions. */
export interface Span {
  traceId: string;
  spanId: string;
  parentSpanId: string | null;
  name: string;
  kind: 'internal' | 'client';
  startedAt: number;
  endedAt: number;
  /** Those that are null are left out. */
  attributes: Readonly<Record<string, AttributeValue | null>>;
  /** Why it is in error; null when it is not. */
  problem: string | null;
}

const kinds = { internal: 1, client: 3 } as const;
const statusError = 2;
/** The span is sampled (W3C Trace Context, trace-flags). */
const sampled = 1;

/** To the microsecond, which is all that a double can hold of an instant. */
const nanoseconds = (instant: number): string => String(BigInt(Math.round(instant * 1000)) * 1000n);

function valueOf(value: AttributeValue): Record<string, unknown> {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  // 64-bit integers are strings in this form of JSON.
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}

function attributesOf(attributes: Span['attributes']): object[] {
  return Object.entries(attributes).flatMap(([key, value]) =>
    value === null ? [] : [{ key, value: valueOf(value) }],
  );
}

function toWire(span: Span): object {
  const { traceId, spanId, parentSpanId, name } = span;
  return {
    ...{ traceId, spanId, name, kind: kinds[span.kind], flags: sampled },
    ...(parentSpanId === null ? {} : { parentSpanId }),
    startTimeUnixNano: nanoseconds(span.startedAt),
    endTimeUnixNano: nanoseconds(Math.max(span.startedAt, span.endedAt)),
    attributes: attributesOf(span.attributes),
    status: span.problem === null ? {} : { code: statusError, message: span.problem },
  };
}

/** The body of an export request. */
export function exportRequest(
  resource: Span['attributes'],
  version: string,
  spans: readonly Span[],
): string {
  return JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: attributesOf(resource) },
        scopeSpans: [{ scope: { name: 'monitor-agent', version }, spans: spans.map(toWire) }],
      },
    ],
  });
}
