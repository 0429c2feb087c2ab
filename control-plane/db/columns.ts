/** Codecs between rows and values: flags, JSON, instants, payloads. */
import { deflateRawSync, inflateRawSync } from 'node:zlib';

export function toFlag(value: boolean): number {
  return value ? 1 : 0;
}

export function fromFlag(flag: number): boolean {
  return flag !== 0;
}

/** Milliseconds since the epoch → ISO 8601, as bodies have it. */
export function toTimestamp(instant: number): string {
  return new Date(instant).toISOString();
}

export function toTimestampOrNull(instant: number | null): string | null {
  return instant === null ? null : toTimestamp(instant);
}

/** JSON that this program wrote itself. */
export function fromJson<T>(text: string): T {
  return JSON.parse(text) as T;
}

/** Below that, inflating costs a reader more than the disk saves. */
const worthDeflatingBytes = 2048;

export interface EncodedPayload {
  encoding: 'json' | 'deflate';
  payload: Buffer;
}

export function encodePayload(value: unknown): EncodedPayload {
  return encodeJson(Buffer.from(JSON.stringify(value)));
}

/** The fastest level: payloads are small and many. */
export function encodeJson(json: Buffer): EncodedPayload {
  if (json.length < worthDeflatingBytes) return { encoding: 'json', payload: json };
  return { encoding: 'deflate', payload: deflateRawSync(json, { level: 1 }) };
}

/** A stored payload as JSON. */
export function payloadText(row: EncodedPayload): string {
  const json = row.encoding === 'deflate' ? inflateRawSync(row.payload) : row.payload;
  return json.toString('utf8');
}

export function decodePayload(row: EncodedPayload): unknown {
  return JSON.parse(payloadText(row));
}
