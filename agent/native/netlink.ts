/**
 * Questions about routes, links, neighbours and rules, by netlink: they need no right. The kernel
 * answers a question before the call that sends it returns, so nothing waits here.
 */
import { constants } from 'node:os';
import { checked, SystemCallError, type Libc } from './libc.ts';
import { AF_INET, AF_NETLINK, NativeSocket, SOCK_RAW } from './sockets.ts';

const NLMSG = { ERROR: 2, DONE: 3 } as const;
const NLM_F = { REQUEST: 1, DUMP: 0x300 } as const;
const RTM_GET = { LINK: 18, ROUTE: 26, NEIGH: 30, RULE: 34 } as const;
const RTA = {
  DST: 1,
  SRC: 2,
  OIF: 4,
  GATEWAY: 5,
  PREFSRC: 7,
  MULTIPATH: 9,
  VIA: 18,
  NH_ID: 30,
} as const;
const RTM_F_FIB_MATCH = 0x2000;
const NDA = { DST: 1, IFINDEX: 8 } as const;
const IFLA = { IFNAME: 3, LINKINFO: 18, INFO_KIND: 1 } as const;
const IFF = { UP: 1, LOWER_UP: 0x10000 } as const;

const headerBytes = 16;
/** Types of attributes have flags in their upper two bits. */
const attributeType = 0x3fff;
/** More parts than the largest table of neighbours has; a dump that has more is given up. */
const maxReads = 1_024;

const aligned = (length: number): number => (length + 3) & ~3;

export type Attributes = ReadonlyMap<number, Buffer>;

export interface NetlinkMessage {
  readonly type: number;
  readonly sequence: number;
  readonly content: Buffer;
}

/** The messages in the bytes of a read; what is cut off is left out. */
export function netlinkMessages(bytes: Buffer): NetlinkMessage[] {
  const found: NetlinkMessage[] = [];
  for (let at = 0; at + headerBytes <= bytes.length;) {
    const size = bytes.readUInt32LE(at);
    if (size < headerBytes || size > bytes.length - at) break;
    found.push({
      type: bytes.readUInt16LE(at + 4),
      sequence: bytes.readUInt32LE(at + 8),
      content: bytes.subarray(at + headerBytes, at + size),
    });
    at += aligned(size);
  }
  return found;
}

/** The attributes by type, the last of each; what is cut off is left out. */
export function attributesOf(bytes: Buffer): Attributes {
  const found = new Map<number, Buffer>();
  for (let at = 0; at + 4 <= bytes.length;) {
    const size = bytes.readUInt16LE(at);
    if (size < 4 || size > bytes.length - at) break;
    found.set(bytes.readUInt16LE(at + 2) & attributeType, bytes.subarray(at + 4, at + size));
    at += aligned(size);
  }
  return found;
}

function attribute(type: number, value: Buffer): Buffer {
  const bytes = Buffer.alloc(aligned(4 + value.length));
  bytes.writeUInt16LE(4 + value.length, 0);
  bytes.writeUInt16LE(type, 2);
  value.copy(bytes, 4);
  return bytes;
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function readUInt32(bytes: Buffer | undefined): number | null {
  return bytes !== undefined && bytes.length >= 4 ? bytes.readUInt32LE(0) : null;
}

/** The text up to its closing zero. */
function textOf(bytes: Buffer | undefined): string | null {
  return bytes?.toString('latin1').replace(/\0.*$/s, '') ?? null;
}

export function encodeRequest(type: number, flags: number, sequence: number, body: Buffer): Buffer {
  const header = Buffer.alloc(headerBytes);
  header.writeUInt32LE(headerBytes + body.length, 0);
  header.writeUInt16LE(type, 4);
  header.writeUInt16LE(NLM_F.REQUEST | flags, 6);
  header.writeUInt32LE(sequence, 8);
  return Buffer.concat([header, body]);
}

export interface Gateway {
  /** AF_INET or AF_INET6. */
  readonly family: number;
  readonly address: Buffer;
}

export interface RouteQuestion {
  readonly family: number;
  readonly target: Buffer;
  /** The index of the interface that packets must leave by. */
  readonly device?: number | null;
  /** The address that packets come from. */
  readonly source?: Buffer;
  /** Asks for the route in the table, instead of the way that a packet takes. */
  readonly isInTable?: boolean;
}

export interface Route {
  /** RTN_UNICAST, RTN_LOCAL, … */
  readonly type: number;
  /** The index of an interface. */
  readonly device: number | null;
  readonly gateway: Gateway | null;
  /** The address that packets come from, unless their socket is bound to another. */
  readonly source: Buffer | null;
  readonly isMultipath: boolean;
  /** The gateways are in an object of their own. */
  readonly hasNextHopObject: boolean;
}

export interface Link {
  readonly name: string | null;
  readonly isUp: boolean;
  readonly hasCarrier: boolean;
  /** Of a virtual interface, as `bridge`. */
  readonly kind: string | null;
}

export function encodeRouteQuestion(question: RouteQuestion): Buffer {
  const { family, target, device, source, isInTable } = question;
  const header = Buffer.alloc(12);
  header.set([family, target.length * 8, (source?.length ?? 0) * 8]);
  header.writeUInt32LE(isInTable === true ? RTM_F_FIB_MATCH : 0, 8);
  return Buffer.concat([
    ...[header, attribute(RTA.DST, target)],
    ...(source === undefined ? [] : [attribute(RTA.SRC, source)]),
    ...(device === undefined || device === null ? [] : [attribute(RTA.OIF, uint32(device))]),
  ]);
}

/** Null without a gateway; undefined where its address is damaged. */
function gatewayIn(found: Attributes, asked: number): Gateway | null | undefined {
  const via = found.get(RTA.VIA);
  const bytes = via?.subarray(2) ?? found.get(RTA.GATEWAY);
  if (bytes === undefined) return null;
  const family = via !== undefined && via.length > 2 ? via.readUInt16LE(0) : asked;
  if (bytes.length !== (family === AF_INET ? 4 : 16)) return undefined;
  return { family, address: Buffer.from(bytes) };
}

/** `family` is that of the question. Null for a message that is damaged. */
export function decodeRoute(content: Buffer, family: number): Route | null {
  if (content.length < 12) return null;
  const found = attributesOf(content.subarray(12));
  const gateway = gatewayIn(found, family);
  if (gateway === undefined) return null;
  const source = found.get(RTA.PREFSRC);
  return {
    type: content.readUInt8(7),
    device: readUInt32(found.get(RTA.OIF)),
    gateway,
    source: source === undefined ? null : Buffer.from(source),
    isMultipath: found.has(RTA.MULTIPATH),
    hasNextHopObject: found.has(RTA.NH_ID),
  };
}

export function decodeLink(content: Buffer): Link | null {
  if (content.length < 16) return null;
  const flags = content.readUInt32LE(8);
  const found = attributesOf(content.subarray(16));
  const details = found.get(IFLA.LINKINFO);
  return {
    name: textOf(found.get(IFLA.IFNAME)),
    isUp: (flags & IFF.UP) !== 0,
    hasCarrier: (flags & IFF.LOWER_UP) !== 0,
    kind: details === undefined ? null : textOf(attributesOf(details).get(IFLA.INFO_KIND)),
  };
}

/** An entry of the table of neighbours; `state` is one of NUD_…, `address` a view of the message. */
export function decodeNeighbour(content: Buffer) {
  if (content.length < 12) return null;
  return {
    family: content.readUInt8(0),
    device: content.readInt32LE(4),
    state: content.readUInt16LE(8),
    address: attributesOf(content.subarray(12)).get(NDA.DST) ?? null,
  };
}

/** Asks the kernel. Methods throw a SystemCallError; its call is `netlink` when the kernel answered so. */
export class Netlink {
  readonly #libc: Libc;
  #sequence = 0;

  constructor(libc: Libc) {
    this.#libc = libc;
  }

  /** The contents of the messages that answer. Each is used again when the next one is taken. */
  *#ask(type: number, flags: number, body: Buffer): Generator<Buffer> {
    // A question that was given up leaves answers behind, so that each has a socket of its own.
    using socket = new NativeSocket(this.#libc, AF_NETLINK, SOCK_RAW);
    const sequence = (this.#sequence = (this.#sequence + 1) >>> 0);
    checked('sendto', socket.send(encodeRequest(type, flags, sequence, body)));
    for (let read = 0; read < maxReads; read += 1) {
      const received = socket.receive() ?? -constants.errno.EAGAIN;
      if (typeof received === 'number') throw new SystemCallError('recvmsg', received);
      for (const message of netlinkMessages(received.bytes)) {
        if (message.sequence !== sequence) continue;
        if (message.type === NLMSG.DONE) return;
        if (message.type === NLMSG.ERROR) {
          const { content } = message;
          const code = content.length < 4 ? 0 : content.readInt32LE(0);
          throw new SystemCallError('netlink', code === 0 ? constants.errno.EBADMSG : code);
        }
        // RTM_NEW… is two less than RTM_GET….
        if (message.type === type - 2) yield message.content;
        if ((flags & NLM_F.DUMP) === 0) return;
      }
    }
    throw new SystemCallError('recvmsg', constants.errno.EMSGSIZE);
  }

  route(question: RouteQuestion): Route | null {
    const body = encodeRouteQuestion(question);
    for (const content of this.#ask(RTM_GET.ROUTE, 0, body)) {
      return decodeRoute(content, question.family);
    }
    return null;
  }

  link(device: number): Link | null {
    const body = Buffer.alloc(16);
    body.writeInt32LE(device, 4);
    for (const content of this.#ask(RTM_GET.LINK, 0, body)) return decodeLink(content);
    return null;
  }

  /** The state of a neighbour of an interface, as a number; null where it has no entry. */
  neighbourState(device: number, { family, address }: Gateway): number | null {
    const header = Buffer.alloc(12);
    header.writeUInt8(family, 0);
    const body = Buffer.concat([header, attribute(NDA.IFINDEX, uint32(device))]);
    for (const content of this.#ask(RTM_GET.NEIGH, NLM_F.DUMP, body)) {
      const found = decodeNeighbour(content);
      if (found?.family !== family || found.device !== device) continue;
      if (found.address?.equals(address) === true) return found.state;
    }
    return null;
  }

  /** The types of all attributes (FRA_…) that some rule of a family has: what rules look at. */
  ruleAttributes(family: number): ReadonlySet<number> {
    const found = new Set<number>();
    const body = Buffer.alloc(12);
    body.writeUInt8(family, 0);
    for (const content of this.#ask(RTM_GET.RULE, NLM_F.DUMP, body)) {
      for (const type of attributesOf(content.subarray(12)).keys()) found.add(type);
    }
    return found;
  }
}
