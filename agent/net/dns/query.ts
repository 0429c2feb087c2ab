/** A question as bytes (RFC 1035 section 4). */
import { isIP } from 'node:net';
import { randomInt } from 'node:crypto';
import { domainToASCII } from 'node:url';
import dnsPacket, { type Question } from 'dns-packet';
import { typeNumberOf, type RecordType } from './registry.ts';

export interface DnsQuery {
  /** Random, so that only a host that sees the query can answer it. */
  id: number;
  /** The whole message: a header of 12 bytes and one question. */
  message: Buffer;
}

const maxLabelLength = 63;
const maxNameLength = 253;

/**
 * The name for a query: without the final dot, international names in ASCII form. Null for an
 * invalid name. ASCII names are left alone, because `domainToASCII` follows the rules for hosts and
 * would turn `10` into `0.0.0.10`.
 */
function toAscii(name: string): string | null {
  const isAscii = /^[\x21-\x7e]*$/.test(name);
  const ascii = (isAscii ? name : domainToASCII(name)).replace(/\.$/, '');
  if (ascii === '') return name === '.' ? '.' : null;
  const labels = ascii.split('.');
  const isValid =
    ascii.length <= maxNameLength &&
    labels.every((label) => label.length > 0 && label.length <= maxLabelLength);
  return isValid ? ascii : null;
}

/** The name under which the names of an address stand; a name stays what it is. */
function reverseName(name: string): string {
  const version = isIP(name);
  if (version === 4) return `${name.split('.').toReversed().join('.')}.in-addr.arpa`;
  if (version === 0) return name;
  const [, text = ''] =
    /^\[(.*)\]$/.exec(new URL(`http://[${name.replace(/%.*/, '')}]`).hostname) ?? [];
  const [before = [], after] = text.split('::').map((part) => part.split(':').filter(Boolean));
  const zeros = after === undefined ? 0 : 8 - before.length - after.length;
  const groups = [...before, ...Array<string>(zeros).fill('0'), ...(after ?? [])];
  const digits = groups.map((group) => group.padStart(4, '0')).join('');
  return `${[...digits].toReversed().join('.')}.ip6.arpa`;
}

/**
 * Encodes a query for one record type of a name, with recursion unless the options say otherwise.
 * The AD bit asks the resolver whether it validated the answer (RFC 6840 section 5.7). Null for an
 * invalid name.
 */
export function encodeQuery(
  name: string,
  type: RecordType,
  isRecursionDesired = true,
): DnsQuery | null {
  const ascii = toAscii(type === 'PTR' ? reverseName(name) : name);
  if (ascii === null) return null;
  const id = randomInt(65_536);
  // Types by number: dns-packet does not know all names, but accepts numbers.
  const question = { name: ascii, type: `UNKNOWN_${typeNumberOf(type)}` as Question['type'] };
  const message = dnsPacket.encode({
    type: 'query',
    id,
    flags: (isRecursionDesired ? dnsPacket.RECURSION_DESIRED : 0) | dnsPacket.AUTHENTIC_DATA,
    questions: [question],
  });
  return { id, message };
}
