/** Names and numbers of the DNS registries that monitors need. */
import type { DnsRequest } from '@monitor/shared/contract/checks/dns.ts';

/** Record types of queries; monitors do not offer `ANY`. */
export type RecordType = DnsRequest['recordType'] | 'ANY';
export type DnsProtocol = DnsRequest['protocol'];

const typeNumbers = {
  A: 1,
  NS: 2,
  CNAME: 5,
  SOA: 6,
  PTR: 12,
  MX: 15,
  TXT: 16,
  AAAA: 28,
  SRV: 33,
  NAPTR: 35,
  DNAME: 39,
  OPT: 41,
  DS: 43,
  SSHFP: 44,
  RRSIG: 46,
  NSEC: 47,
  DNSKEY: 48,
  NSEC3: 50,
  TLSA: 52,
  SVCB: 64,
  HTTPS: 65,
  ANY: 255,
  CAA: 257,
} as const satisfies Record<RecordType, number> & Record<string, number>;

const typeNames = new Map<number, string>(
  Object.entries(typeNumbers).map(([name, number]) => [number, name]),
);

export const typeNumberOf = (type: RecordType): number => typeNumbers[type];

/** `A` for 1; `TYPE4711` for an unnamed number (RFC 3597 section 5). */
export const typeNameOf = (number: number): string => typeNames.get(number) ?? `TYPE${number}`;

const classNames = new Map([
  [1, 'IN'],
  [3, 'CH'],
  [4, 'HS'],
]);

export const classNameOf = (number: number): string => classNames.get(number) ?? `CLASS${number}`;

const returnCodes = [
  ...['NOERROR', 'FORMERR', 'SERVFAIL', 'NXDOMAIN', 'NOTIMP', 'REFUSED', 'YXDOMAIN', 'YXRRSET'],
  ...['NXRRSET', 'NOTAUTH', 'NOTZONE'],
];

/** `NXDOMAIN` for 3; `RCODE12` for an unnamed number. */
export const returnCodeNameOf = (number: number): string => returnCodes[number] ?? `RCODE${number}`;
