/** The data of a record in presentation form, by type: `10 mail.example.com.` for MX. */
import { ipv4Text, ipv6Text } from './address-text.ts';
import { MalformedAnswer, quoted, type MessageReader } from './message-reader.ts';
import type { RecordType } from './registry.ts';
import { presentServiceBinding } from './service-binding.ts';

type Present = (reader: MessageReader) => string;

const name: Present = (reader) => reader.name();
const numbers = (...read: number[]): string => read.join(' ');
const hexDigits = (bytes: Buffer): string => bytes.toString('hex').toUpperCase();

const strings: Present = (reader) => {
  const parts: string[] = [];
  while (!reader.isAtEnd) parts.push(quoted(reader.string()));
  return parts.join(' ');
};

/** The property tag of CAA: letters and digits (RFC 8659 section 4.1). */
const tag: Present = (reader) => {
  const text = reader.string().toString('latin1');
  if (!/^[a-z0-9]+$/i.test(text)) throw new MalformedAnswer('a CAA tag is not one');
  return text;
};

const startOfAuthority: Present = (reader) => {
  const names = `${reader.name()} ${reader.name()}`;
  return `${names} ${numbers(reader.u32(), reader.u32(), reader.u32(), reader.u32(), reader.u32())}`;
};

const namingAuthority: Present = (reader) => {
  const place = numbers(reader.u16(), reader.u16());
  const texts = [reader.string(), reader.string(), reader.string()].map((text) => quoted(text));
  return `${place} ${texts.join(' ')} ${reader.name()}`;
};

/** Record types of monitors, and others that are common in answers. */
const presenters: Record<Exclude<RecordType, 'ANY'> | 'DNAME' | 'SVCB', Present> = {
  A: (reader) => ipv4Text(reader.bytes(4)),
  AAAA: (reader) => ipv6Text(reader.bytes(16)),
  CNAME: name,
  DNAME: name,
  NS: name,
  PTR: name,
  MX: (reader) => `${reader.u16()} ${reader.name()}`,
  TXT: strings,
  SOA: startOfAuthority,
  SRV: (reader) => `${numbers(reader.u16(), reader.u16(), reader.u16())} ${reader.name()}`,
  CAA: (reader) => `${reader.u8()} ${tag(reader)} ${quoted(reader.rest())}`,
  DS: (reader) => `${numbers(reader.u16(), reader.u8(), reader.u8())} ${hexDigits(reader.rest())}`,
  DNSKEY: (reader) =>
    `${numbers(reader.u16(), reader.u8(), reader.u8())} ${reader.rest().toString('base64')}`,
  TLSA: (reader) => `${numbers(reader.u8(), reader.u8(), reader.u8())} ${hexDigits(reader.rest())}`,
  NAPTR: namingAuthority,
  HTTPS: presentServiceBinding,
  SVCB: presentServiceBinding,
};

const byTypeName = new Map(Object.entries(presenters));

/** The generic form of unknown types: `\# 2 0a0b` (RFC 3597 section 5). */
const generic: Present = (reader) => {
  const bytes = reader.rest();
  return bytes.length === 0 ? '\\# 0' : `\\# ${bytes.length} ${bytes.toString('hex')}`;
};

/** Reads data of a type from a reader that is bounded to it. */
export function presentData(typeName: string, reader: MessageReader): string {
  return (byTypeName.get(typeName) ?? generic)(reader);
}
