/** The data of HTTPS and SVCB records: `1 . alpn="h2,h3" port=8443` (RFC 9460). */
import { ipv4Text, ipv6Text } from './address-text.ts';
import { MalformedAnswer, quoted, type MessageReader } from './message-reader.ts';

type Present = (reader: MessageReader) => string;

const keyNames = [
  'mandatory',
  'alpn',
  'no-default-alpn',
  'port',
  'ipv4hint',
  'ech',
  'ipv6hint',
  'dohpath',
  'ohttp',
];

const keyName = (key: number): string => keyNames[key] ?? `key${key}`;

function list(reader: MessageReader, item: Present): string {
  const items: string[] = [];
  while (!reader.isAtEnd) items.push(item(reader));
  if (items.length === 0) throw new MalformedAnswer('a parameter has no value');
  return items.join(',');
}

/** A quoted list entry: escaped for the list, then for the quotes (appendix A.1). */
const listedString: Present = (reader) => {
  const entry = reader.string().toString('latin1').replace(/[\\,]/g, '\\$&');
  return quoted(Buffer.from(entry, 'latin1')).slice(1, -1);
};

const values = new Map<string, Present>([
  ['mandatory', (reader) => list(reader, () => keyName(reader.u16()))],
  ['alpn', (reader) => `"${list(reader, listedString)}"`],
  ['port', (reader) => String(reader.u16())],
  ['ipv4hint', (reader) => list(reader, () => ipv4Text(reader.bytes(4)))],
  ['ech', (reader) => reader.rest().toString('base64')],
  ['ipv6hint', (reader) => list(reader, () => ipv6Text(reader.bytes(16)))],
]);

const anyValue: Present = (reader) => quoted(reader.rest());

function parameter(reader: MessageReader): string {
  const name = keyName(reader.u16());
  const size = reader.u16();
  if (size === 0) return name;
  return `${name}=${reader.within(size, values.get(name) ?? anyValue)}`;
}

export function presentServiceBinding(reader: MessageReader): string {
  const parts = [String(reader.u16()), reader.name()];
  while (!reader.isAtEnd) parts.push(parameter(reader));
  return parts.join(' ');
}
