/**
 * Which packets the kernel keeps of all that this machine sends and receives, and how much of each: TCP
 * to the end of its header, and errors of ICMP about TCP with the headers that they quote. No payload
 * passes, with one exception: the first 7 bytes of a segment that begins as a TLS handshake or alert
 * does, which say of what kind it is.
 *
 * It is a program of the kernel's small language ("Linux Socket Filtering" in its documentation), for
 * packets that begin with their IP header.
 */
import { assembleFilter, type FilterLine } from './socket-filter.ts';

const facts = 0xffff_f000;
const [protocol, direction, device] = [facts, facts + 4, facts + 28];
const [loopback, outgoing, ipv4, ipv6, icmp, tcp, icmpv6] = [772, 4, 0x0800, 0x86dd, 1, 6, 58];

const program: readonly FilterLine[] = [
  // What loopback sends it receives as well: one of the two is enough.
  ['', 'half', device],
  ['', 'equal', loopback, '', 'family'],
  ['', 'byte', direction],
  ['', 'equal', outgoing, 'no', ''],
  ['family', 'half', protocol],
  ['', 'equal', ipv4, 'ipv4', ''],
  ['', 'equal', ipv6, 'ipv6', 'no'],

  // Later fragments have no ports.
  ['ipv4', 'half', 6],
  ['', 'any', 0x1fff, 'no', ''],
  ['', 'headerToX', 0],
  ['', 'byte', 9],
  ['', 'equal', tcp, 'tcp', ''],
  ['', 'equal', icmp, '', 'no'],
  ['', 'byteAtX', 0],
  ['', 'equal', 3, 'error', ''],
  ['', 'equal', 11, 'error', ''],
  ['', 'equal', 12, 'error', 'no'],
  ['error', 'byteAtX', 8 + 9],
  ['', 'equal', tcp, '', 'no'],
  ['', 'byteAtX', 8],
  ['', 'and', 0x0f],
  ['', 'left', 2],
  ['', 'addX', 0],
  ['', 'add', 8 + 8],
  ['', 'keepA', 0],

  ['ipv6', 'loadX', 40],
  ['', 'byte', 6],
  ['', 'equal', tcp, 'tcp', ''],
  ['', 'equal', icmpv6, '', 'no'],
  ['', 'byte', 40],
  ['', 'atLeast', 1, '', 'no'],
  ['', 'above', 4, 'no', ''],
  ['', 'byte', 48 + 6],
  ['', 'equal', tcp, '', 'no'],
  ['', 'keep', 48 + 40 + 8],

  // X is where the TCP header begins; afterwards, where it ends.
  ['tcp', 'byteAtX', 12],
  ['', 'and', 0xf0],
  ['', 'right', 2],
  ['', 'addX', 0],
  ['', 'save', 0],
  ['', 'toX', 0],
  ['', 'length', 0],
  ['', 'subtractX', 0],
  ['', 'atLeast', 7, '', 'headers'],
  ['', 'byteAtX', 0],
  ['', 'equal', 0x16, 'version', ''],
  ['', 'equal', 0x15, 'version', 'headers'],
  ['version', 'byteAtX', 1],
  ['', 'equal', 3, '', 'headers'],
  ['', 'byteAtX', 2],
  ['', 'above', 4, 'headers', ''],
  ['', 'restore', 0],
  ['', 'add', 7],
  ['', 'keepA', 0],
  ['headers', 'restore', 0],
  ['', 'keepA', 0],
  ['no', 'keep', 0],
];

/** The program as the kernel reads it. */
export const packetFilter = (): Buffer => assembleFilter(program);
