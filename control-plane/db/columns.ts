/** Converts between rows and values: flags, JSON, instants, payloads. */
import { crc32, deflateRawSync, inflateRawSync } from 'node:zlib';

export function toFlag(value: boolean): number {
  return value ? 1 : 0;
}

export function fromFlag(flag: number): boolean {
  return flag !== 0;
}

const dayMs = 86_400_000;
const years = { from: Date.UTC(1970), to: Date.UTC(10_000) };
/** The day of the last timestamp: those of a list are of few days, and a date is half of the work. */
let lastDay = Number.NaN;
let lastDate = '';

const twoDigits = Array.from({ length: 60 }, (_, value) => String(value).padStart(2, '0'));

/** Milliseconds since the epoch → ISO 8601, as bodies have it. */
export function toTimestamp(instant: number): string {
  if (!Number.isInteger(instant) || instant < years.from || instant >= years.to) {
    return new Date(instant).toISOString();
  }
  const ofDay = instant % dayMs;
  const day = instant - ofDay;
  if (day !== lastDay) {
    lastDate = new Date(day).toISOString().slice(0, 11);
    lastDay = day;
  }
  const seconds = Math.floor(ofDay / 1_000);
  const minutes = Math.floor(seconds / 60);
  const time = `${twoDigits[Math.floor(minutes / 60)]}:${twoDigits[minutes % 60]}:${twoDigits[seconds % 60]}`;
  return `${lastDate}${time}.${String(ofDay % 1_000).padStart(3, '0')}Z`;
}

export function toTimestampOrNull(instant: number | null): string | null {
  return instant === null ? null : toTimestamp(instant);
}

/** When a row was made and last changed, as answers have it. */
export function stampsOf(row: { created_at: number; updated_at: number | null }) {
  return { created_at: toTimestamp(row.created_at), updated_at: toTimestampOrNull(row.updated_at) };
}

/** Parses JSON that this program wrote. Throws when it is damaged. */
export function fromJson<T>(text: string): T {
  return JSON.parse(text) as T;
}

export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Bytes as PostgreSQL reads them from a text, since JSON has none; other values as they are. */
export function withoutBytes(value: unknown): unknown {
  return Buffer.isBuffer(value) ? `\\x${value.toString('hex')}` : value;
}

/** Smaller payloads are not deflated: inflating costs readers more than the disk saves. */
const worthDeflatingBytes = 2048;
/** Ciphertext in base64 shrinks by a quarter, and takes many times as long as other JSON. */
const worthDeflatingEncryptedBytes = 32_768;

export interface EncodedPayload {
  encoding: 'json' | 'deflate';
  payload: Buffer;
  checksum: number;
}

export function encodePayload(value: unknown): EncodedPayload {
  return encodeJson(Buffer.from(JSON.stringify(value)));
}

export function encodeEncryptedPayload(value: unknown): EncodedPayload {
  return encodeJson(Buffer.from(JSON.stringify(value)), worthDeflatingEncryptedBytes);
}

/** Uses the fastest level: payloads are small and many. */
export function encodeJson(json: Buffer, fromBytes = worthDeflatingBytes): EncodedPayload {
  const isSmall = json.length < fromBytes;
  const payload = isSmall ? json : deflateRawSync(json, { level: 1 });
  return { encoding: isSmall ? 'json' : 'deflate', payload, checksum: crc32(payload) };
}

export type StoredPayload = Pick<EncodedPayload, 'encoding' | 'payload'> & {
  checksum: number | null;
};

/** A stored payload as JSON; null when it is damaged. */
export function payloadText({ encoding, payload, checksum }: StoredPayload): string | null {
  if (checksum !== null && crc32(payload) !== checksum) return null;
  try {
    const json = (encoding === 'deflate' ? inflateRawSync(payload) : payload).toString('utf8');
    // Without a checksum, only parsing shows damage.
    if (checksum === null) JSON.parse(json);
    return json;
  } catch {
    return null;
  }
}

/** The value of a stored payload; undefined when it is damaged. */
export function decodePayload(row: StoredPayload): unknown {
  const text = payloadText(row);
  return text === null ? undefined : JSON.parse(text);
}

/** The same for a joined row; undefined when it has no payload, too. */
export function decodeJoinedPayload(row: {
  [Column in keyof StoredPayload]: StoredPayload[Column] | null;
}): unknown {
  const { encoding, payload, checksum } = row;
  return payload === null || encoding === null
    ? undefined
    : decodePayload({ encoding, payload, checksum });
}
