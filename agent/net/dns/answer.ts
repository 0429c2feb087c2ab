/** What a name server sent, read and held against the question. */
import { MalformedAnswer, MessageReader } from './message-reader.ts';
import type { DnsQuery } from './query.ts';
import { presentData } from './record-data.ts';
import { classNameOf, returnCodeNameOf, typeNameOf, type DnsProtocol } from './registry.ts';

export interface DnsRecord {
  /** With the dot at its end, as all names here. */
  name: string;
  type: string;
  class: string;
  ttl: number;
  /** In presentation form. */
  data: string;
}

export interface DnsAnswer {
  id: number;
  /** `NXDOMAIN`. */
  returnCode: string;
  flags: { aa: boolean; tc: boolean; rd: boolean; ra: boolean; ad: boolean; cd: boolean };
  questions: { name: string; type: string; class: string }[];
  answers: DnsRecord[];
  authorities: DnsRecord[];
  additionalCount: number;
}

/**
 *   answer     the server's answer to the query
 *   truncated  it did not fit a datagram; what there is of it says nothing (RFC 2181 section 9)
 *   foreign    a message, but not an answer to this query
 *   malformed  an answer to this query that is not a whole DNS message
 */
export type Reading =
  | { kind: 'answer'; answer: DnsAnswer }
  | { kind: 'truncated' }
  | { kind: 'foreign' | 'malformed'; why: string };

const headerSize = 12;
const bit = { response: 0x8000, aa: 0x400, tc: 0x200, rd: 0x100, ra: 0x80, ad: 0x20, cd: 0x10 };
const operationCode = 0x7800;
const returnCode = 0xf;

/** Letters may come back in the other case (RFC 4343), everything else as it was asked. */
function repeatsQuestion(message: Buffer, query: Buffer): boolean {
  const size = query.length;
  if (message.length < size) return false;
  if (message.compare(query, headerSize, size, headerSize, size) === 0) return true;
  const questionOf = (bytes: Buffer): string =>
    bytes.toString('latin1', headerSize, size).toLowerCase();
  return questionOf(message) === questionOf(query);
}

function readRecord(reader: MessageReader): DnsRecord {
  const name = reader.name();
  const type = typeNameOf(reader.u16());
  const recordClass = classNameOf(reader.u16());
  const ttl = reader.u32();
  const data = reader.within(reader.u16(), () => presentData(type, reader));
  return { name, type, class: recordClass, ttl, data };
}

function readRecords(reader: MessageReader, count: number): DnsRecord[] {
  const records: DnsRecord[] = [];
  while (records.length < count) records.push(readRecord(reader));
  return records;
}

/** Only the bounds of additional records matter: nothing shows them. */
function skipRecords(reader: MessageReader, count: number): void {
  for (let skipped = 0; skipped < count; skipped += 1) {
    reader.name();
    reader.bytes(8);
    reader.bytes(reader.u16());
  }
}

function readMessage(message: Buffer, flags: number, questionCount: number): DnsAnswer {
  const reader = new MessageReader(message, headerSize);
  const questions =
    questionCount === 0
      ? []
      : [
          {
            name: reader.name(),
            type: typeNameOf(reader.u16()),
            class: classNameOf(reader.u16()),
          },
        ];
  const additionalCount = message.readUInt16BE(10);
  const answer = {
    id: message.readUInt16BE(0),
    returnCode: returnCodeNameOf(flags & returnCode),
    flags: {
      aa: (flags & bit.aa) !== 0,
      tc: (flags & bit.tc) !== 0,
      rd: (flags & bit.rd) !== 0,
      ra: (flags & bit.ra) !== 0,
      ad: (flags & bit.ad) !== 0,
      cd: (flags & bit.cd) !== 0,
    },
    questions,
    answers: readRecords(reader, message.readUInt16BE(6)),
    authorities: readRecords(reader, message.readUInt16BE(8)),
    additionalCount,
  };
  skipRecords(reader, additionalCount);
  return answer;
}

/** Reads a message that came in reply to a query. Never throws on what a stranger sent. */
export function readAnswer(message: Buffer, query: DnsQuery, protocol: DnsProtocol): Reading {
  if (message.length < 2 || message.readUInt16BE(0) !== query.id) {
    return { kind: 'foreign', why: 'has another id' };
  }
  if (message.length < headerSize) return { kind: 'malformed', why: 'is shorter than a header' };
  const flags = message.readUInt16BE(2);
  if ((flags & bit.response) === 0) return { kind: 'malformed', why: 'is a query, not an answer' };
  if ((flags & operationCode) !== 0) return { kind: 'malformed', why: 'answers no query' };
  const questionCount = message.readUInt16BE(4);
  // A server that could not read the query, or would not, need not repeat it.
  const mayOmitQuestion = (flags & returnCode) !== 0;
  const hasOwnQuestion = questionCount === 1 && repeatsQuestion(message, query.message);
  if (!hasOwnQuestion && !(questionCount === 0 && mayOmitQuestion)) {
    return { kind: 'foreign', why: 'answers another question' };
  }
  if (protocol === 'UDP' && (flags & bit.tc) !== 0) return { kind: 'truncated' };
  try {
    return { kind: 'answer', answer: readMessage(message, flags, questionCount) };
  } catch (error) {
    if (error instanceof MalformedAnswer)
      return { kind: 'malformed', why: `cannot be read: ${error.message}` };
    throw error;
  }
}
