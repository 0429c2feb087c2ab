/** DNS messages to and from bytes (RFC 1035), bounded against hostile answers by dns-packet. */
import dnsPacket, { type Answer, type DecodedPacket, type Question } from 'dns-packet';

/** dns-packet knows newer types by number only. */
const byNumber: Record<string, string> = { HTTPS: 'UNKNOWN_65', SVCB: 'UNKNOWN_64' };
const byName = new Map(Object.entries(byNumber).map(([name, number]) => [number, name]));

/** Name of a record type as everybody writes it. */
export function typeName(type: string): string {
  return byName.get(type) ?? type;
}

/** A query for one name, recursion desired. */
export function encodeQuery(id: number, name: string, type: string): Buffer {
  return dnsPacket.encode({
    type: 'query',
    id,
    flags: dnsPacket.RECURSION_DESIRED,
    questions: [{ name, type: (byNumber[type] ?? type) as Question['type'] }],
  });
}

/** Decodes an answer; throws on anything that is not a whole DNS message. */
export function decodeAnswer(message: Buffer): DecodedPacket {
  return dnsPacket.decode(message);
}

/** True when the message answers this query: same id, same question. Others are not for us. */
export function answersQuery(
  packet: DecodedPacket,
  id: number,
  name: string,
  type: string,
): boolean {
  if (packet.id !== id || packet.type !== 'response') return false;
  const [question] = packet.questions ?? [];
  // A server that could not read the query repeats no question.
  if (question === undefined) return true;
  return (
    question.name.toLowerCase() === name.toLowerCase().replace(/\.$/, '') &&
    typeName(question.type) === type
  );
}

/** The response code; dns-packet leaves it in the low bits of the flags. */
export function returnCodeOf(packet: DecodedPacket): string {
  const codes = [
    'NOERROR',
    'FORMERR',
    'SERVFAIL',
    'NXDOMAIN',
    'NOTIMP',
    'REFUSED',
    'YXDOMAIN',
    'YXRRSET',
    'NXRRSET',
    'NOTAUTH',
    'NOTZONE',
  ];
  const code = (packet.flags ?? 0) & 0xf;
  return codes[code] ?? `RCODE${code}`;
}

function dotted(name: string): string {
  return name.endsWith('.') ? name : `${name}.`;
}

function quoted(text: Buffer | string): string {
  const escaped = text.toString('latin1' as never).replace(/["\\]/g, '\\$&');
  return `"${escaped.replace(/[^\x20-\x7e]/g, (char) => `\\${String(char.charCodeAt(0)).padStart(3, '0')}`)}"`;
}

const parameterNames = [
  'mandatory',
  'alpn',
  'no-default-alpn',
  'port',
  'ipv4hint',
  'ech',
  'ipv6hint',
];

function ipv6Text(bytes: Buffer): string {
  const groups = Array.from({ length: 8 }, (_group, index) =>
    bytes.readUInt16BE(index * 2).toString(16),
  );
  return groups.join(':');
}

function parameterValue(key: number, value: Buffer): string {
  const items: string[] = [];
  switch (key) {
    case 1:
      for (let at = 0; at < value.length; at += 1 + (value[at] ?? 0)) {
        items.push(value.toString('latin1', at + 1, at + 1 + (value[at] ?? 0)));
      }
      return `="${items.join(',')}"`;
    case 2:
      return '';
    case 3:
      return `=${value.readUInt16BE(0)}`;
    case 4:
      for (let at = 0; at + 4 <= value.length; at += 4)
        items.push([...value.subarray(at, at + 4)].join('.'));
      return `=${items.join(',')}`;
    case 5:
      return `=${value.toString('base64')}`;
    case 6:
      for (let at = 0; at + 16 <= value.length; at += 16)
        items.push(ipv6Text(value.subarray(at, at + 16)));
      return `=${items.join(',')}`;
    default:
      return `="${value.toString('hex')}"`;
  }
}

/** SVCB and HTTPS data in presentation form (RFC 9460). */
function serviceBinding(data: Buffer): string {
  const priority = data.readUInt16BE(0);
  const labels: string[] = [];
  let at = 2;
  for (let length = data.readUInt8(at); length > 0; length = data.readUInt8(at)) {
    labels.push(data.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  at += 1;
  const parameters: string[] = [];
  while (at + 4 <= data.length) {
    const key = data.readUInt16BE(at);
    const length = data.readUInt16BE(at + 2);
    const value = data.subarray(at + 4, at + 4 + length);
    parameters.push((parameterNames[key] ?? `key${key}`) + parameterValue(key, value));
    at += 4 + length;
  }
  return [String(priority), dotted(labels.join('.')), ...parameters].join(' ');
}

/** The generic form of RFC 3597, for types nobody here can read. */
function generic(data: Buffer): string {
  return `\\# ${data.length} ${data.toString('hex')}`;
}

/** The data of a record in presentation form: `10 mail.example.com.` for MX. */
export function presentData(answer: Answer): string {
  switch (answer.type) {
    case 'A':
    case 'AAAA':
      return answer.data;
    case 'CNAME':
    case 'NS':
    case 'PTR':
    case 'DNAME':
      return dotted(answer.data);
    case 'MX':
      return `${answer.data.preference ?? 0} ${dotted(answer.data.exchange)}`;
    case 'TXT': {
      const parts = Array.isArray(answer.data) ? answer.data : [answer.data];
      return parts.map((part) => quoted(part)).join(' ');
    }
    case 'SOA': {
      const { mname, rname, serial, refresh, retry, expire, minimum } = answer.data;
      return [dotted(mname), dotted(rname), serial, refresh, retry, expire, minimum].join(' ');
    }
    case 'SRV': {
      const { priority = 0, weight = 0, port, target } = answer.data;
      return `${priority} ${weight} ${port} ${dotted(target)}`;
    }
    case 'CAA': {
      const { flags = 0, tag, value } = answer.data;
      return `${flags} ${tag} ${quoted(value)}`;
    }
    case 'DS': {
      const { keyTag, algorithm, digestType, digest } = answer.data;
      return `${keyTag} ${algorithm} ${digestType} ${digest.toString('hex').toUpperCase()}`;
    }
    case 'DNSKEY': {
      const { flags, algorithm, key } = answer.data;
      return `${flags} 3 ${algorithm} ${key.toString('base64')}`;
    }
    case 'TLSA': {
      const { usage, selector, matchingType, certificate } = answer.data;
      return `${usage} ${selector} ${matchingType} ${certificate.toString('hex').toUpperCase()}`;
    }
    case 'NAPTR': {
      const { order, preference, flags, services, regexp, replacement } = answer.data;
      return `${order} ${preference} ${quoted(flags)} ${quoted(services)} ${quoted(regexp)} ${dotted(replacement)}`;
    }
    default: {
      const { type, data } = answer as { type: string; data: unknown };
      if (!Buffer.isBuffer(data)) return JSON.stringify(data);
      return byName.has(type) ? serviceBinding(data) : generic(data);
    }
  }
}

export interface PresentedRecord {
  name: string;
  type: string;
  TTL: number;
  data: string;
}

function presentRecords(records: readonly Answer[] | undefined): PresentedRecord[] {
  return (records ?? []).flatMap((record) =>
    'ttl' in record
      ? [
          {
            name: dotted(record.name),
            type: typeName(record.type),
            TTL: record.ttl ?? 0,
            data: presentData(record),
          },
        ]
      : [],
  );
}

/** The answer as JSON, in the shape that public resolvers made common. */
export interface JsonAnswer {
  Status: string;
  TC: boolean;
  RD: boolean;
  RA: boolean;
  AD: boolean;
  CD: boolean;
  Question: { name: string; type: string }[];
  Answer: PresentedRecord[];
}

export interface PresentedAnswer {
  jsonAnswer: JsonAnswer;
  /** As dig would print it. */
  answer: string;
}

function lineOf({ name, TTL, type, data }: PresentedRecord): string {
  return `${name}\t${TTL}\tIN\t${type}\t${data}`;
}

/** Both readable forms of an answer. Throws when a record cannot be read. */
export function presentAnswer(packet: DecodedPacket): PresentedAnswer {
  const status = returnCodeOf(packet);
  const questions = (packet.questions ?? []).map(({ name, type }) => ({
    name: dotted(name),
    type: typeName(type),
  }));
  const answers = presentRecords(packet.answers);
  const authorities = presentRecords(packet.authorities);
  const flag = (isSet: boolean | undefined) => isSet === true;
  const jsonAnswer: JsonAnswer = {
    Status: status,
    TC: flag(packet.flag_tc),
    RD: flag(packet.flag_rd),
    RA: flag(packet.flag_ra),
    AD: flag(packet.flag_ad),
    CD: flag(packet.flag_cd),
    Question: questions,
    Answer: answers,
  };
  const flags = [
    'qr',
    ...(flag(packet.flag_aa) ? ['aa'] : []),
    ...(jsonAnswer.TC ? ['tc'] : []),
    ...(jsonAnswer.RD ? ['rd'] : []),
    ...(jsonAnswer.RA ? ['ra'] : []),
    ...(jsonAnswer.AD ? ['ad'] : []),
    ...(jsonAnswer.CD ? ['cd'] : []),
  ];
  const additional = packet.additionals?.length ?? 0;
  const lines = [
    `;; ->>HEADER<<- opcode: ${(packet as { opcode?: string }).opcode ?? 'QUERY'}, status: ${status}, id: ${packet.id ?? 0}`,
    `;; flags: ${flags.join(' ')}; QUERY: ${questions.length}, ANSWER: ${answers.length}, AUTHORITY: ${authorities.length}, ADDITIONAL: ${additional}`,
    '',
    ';; QUESTION SECTION:',
    ...questions.map(({ name, type }) => `;${name}\t\tIN\t${type}`),
    ...(answers.length > 0 ? ['', ';; ANSWER SECTION:', ...answers.map(lineOf)] : []),
    ...(authorities.length > 0 ? ['', ';; AUTHORITY SECTION:', ...authorities.map(lineOf)] : []),
  ];
  return { jsonAnswer, answer: lines.join('\n') };
}
