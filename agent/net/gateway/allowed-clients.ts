/**
 * Identifies the client of a loopback connection from kernel data, without a secret. A run with its
 * own user is identified by the user; other runs share the user of the agent and are identified by
 * the process that holds the other end.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { readFile, readdir } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { setImmediate as others } from 'node:timers/promises';
import { codeOf } from '../failure.ts';
import { CoalescedRead } from './coalesced-read.ts';

/** The processes of one run, or of its own browser. */
export interface AllowedClient {
  /** The exclusive user of the run, or null. */
  readonly uid: number | null;
  /** Processes that the agent started for it; their descendants belong to it. */
  pids(): readonly number[];
}

interface OtherEnd {
  readonly uid: number;
  readonly inode: string;
}

/** 127.0.0.1 in kernel notation: in the IPv4 table, and as IPv4-mapped address in the IPv6 table. */
const tables = [
  { path: '/proc/net/tcp', loopback: '0100007F' },
  { path: '/proc/net/tcp6', loopback: '0000000000000000FFFF00000100007F' },
] as const;

const hex = (port: number): string => port.toString(16).toUpperCase().padStart(4, '0');

/** Without IPv6 the second table is missing. */
async function readTable(path: string): Promise<string> {
  return readFile(path, 'latin1').catch((error: unknown) => {
    if (path !== tables[0].path && codeOf(error) === 'ENOENT') return '';
    throw error;
  });
}

const connections = tables.map(({ path, loopback }) => ({
  loopback,
  lines: new CoalescedRead(() => readTable(path)),
}));

/** The table is read in pieces, and concurrent changes may hide a line, so reading is repeated. */
const maxReads = 3;

/** The fields of the line about the other end, from either table. */
async function lineOf(remotePort: number, localPort: number): Promise<string[] | null> {
  for (const { loopback, lines } of connections) {
    // Local and remote address as seen by the other end, and state 01: established.
    const wanted = `${loopback}:${hex(remotePort)} ${loopback}:${hex(localPort)} 01 `;
    const text = await lines.read();
    const at = text.indexOf(wanted);
    if (at !== -1) return text.slice(at, text.indexOf('\n', at)).trim().split(/ +/);
  }
  return null;
}

/** Null when the connection has ended. Rejects when kernel data is not readable. */
async function otherEndOf(socket: Socket): Promise<OtherEnd | null> {
  const { remotePort, localPort } = socket;
  if (remotePort === undefined || localPort === undefined) return null;
  for (let read = 0; read < maxReads && !socket.destroyed; read += 1) {
    const words = await lineOf(remotePort, localPort);
    const [uid, inode] = [words?.[6], words?.[8]];
    if (uid !== undefined && inode !== undefined) return { uid: Number(uid), inode };
  }
  return null;
}

/** What `read` gives, or `otherwise` when the process has ended or must not be read. */
function ofProcess<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}

function parentOf(pid: number): number {
  const stat = ofProcess(() => readFileSync(`/proc/${pid}/stat`, 'latin1'), '');
  // The name of a program may contain any character, including parentheses.
  return Number(/^ \S (\d+)/.exec(stat.slice(stat.lastIndexOf(')') + 1))?.[1] ?? 0);
}

function descendsFrom(
  pid: number,
  ancestors: ReadonlySet<number>,
  parentIn: (pid: number) => number,
): boolean {
  for (let at = pid; at > 1; at = parentIn(at)) if (ancestors.has(at)) return true;
  return false;
}

function holds(pid: number, inode: string): boolean {
  const link = `socket:[${inode}]`;
  const folder = `/proc/${pid}/fd`;
  const descriptors = ofProcess(() => readdirSync(folder), []);
  return descriptors.some(
    (each) => ofProcess(() => readlinkSync(`${folder}/${each}`), '') === link,
  );
}

/** Processes per batch, so that other work is not blocked. */
const atOnce = 50;

/** All processes and their parents. Processes that start or end meanwhile may be missing. */
async function parents(): Promise<Map<number, number>> {
  const found = new Map<number, number>();
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    found.set(Number(name), parentOf(Number(name)));
    if (found.size % atOnce === 0) await others();
  }
  return found;
}

/** The allowed clients of one port. */
export class AllowedClients {
  readonly #admitted: AllowedClient[] = [];
  readonly #family = new CoalescedRead(() => this.#findFamily());
  /** A browser makes all its connections in one process. */
  #lastHolder: number | null = null;

  admit(allowedClient: AllowedClient): void {
    this.#admitted.push(allowedClient);
  }

  /** True when an allowed process holds the other end of a connection. Rejects when that is unknown. */
  async include(socket: Socket): Promise<boolean> {
    const end = await otherEndOf(socket);
    if (end === null) return false;
    if (this.#admitted.some(({ uid }) => uid === end.uid)) return true;
    // Runs without their own user have that of the agent; processes of other users are not
    // inspected.
    const isOfShared = this.#admitted.some(({ uid }) => uid === null);
    return isOfShared && end.uid === process.geteuid?.() && this.#isHeld(end);
  }

  #ancestors(): ReadonlySet<number> {
    const shared = this.#admitted.filter(({ uid }) => uid === null);
    return new Set(shared.flatMap((each) => each.pids()));
  }

  async #isHeld({ inode }: OtherEnd): Promise<boolean> {
    const last = this.#lastHolder;
    if (last !== null && descendsFrom(last, this.#ancestors(), parentOf) && holds(last, inode)) {
      return true;
    }
    const holder = (await this.#family.read()).find((pid) => holds(pid, inode));
    if (holder === undefined) return false;
    this.#lastHolder = holder;
    return true;
  }

  /** All processes of clients that share the user of the agent. */
  async #findFamily(): Promise<number[]> {
    const known = await parents();
    const ancestors = this.#ancestors();
    return [...known.keys()].filter((pid) =>
      descendsFrom(pid, ancestors, (child) => known.get(child) ?? 0),
    );
  }
}
