/**
 * The packets of the attempts in progress and of the last seconds, of which the failing connection is
 * cut out afterwards. The capture runs ahead of time: what fails cannot be asked to fail again.
 *
 * The kernel cuts each packet at the end of its TCP header before it is kept (`native/packet-filter.ts`).
 * It writes them to a small ring; full blocks are copied to memory of this process, so that the kernel
 * always has the whole ring for what comes next. A ring that was too small for what came during a pause
 * of the event loop is replaced by a larger one.
 *
 * The socket is in the agent's own process: that holds CAP_NET_RAW anyway, for ICMP, and is not
 * dumpable, so that code that shares its user cannot take the socket out of it.
 */
import { sleep, systemClock, type Clock } from '@monitor/shared/clock.ts';
import type { IpFamily } from '@monitor/shared/contract/primitives.ts';
import { AgentError } from '../../errors.ts';
import {
  isLateHelper,
  openLibc,
  SystemCallError,
  type Libc,
  type OpenedLibc,
} from '../../native/libc.ts';
import { PacketRing, readBlock } from '../../native/packet-ring.ts';
import { FlowSearch, type FoundPackets } from './flow-search.ts';
import { PacketHistory, type KeptBlock } from './packet-history.ts';
import { pcapFile } from './pcap-file.ts';

/** One TCP connection, or the attempt at one. Instants are of the monotonic clock, in ms. */
export interface Flow {
  readonly family: IpFamily;
  readonly localAddress: string;
  readonly localPort: number;
  readonly remoteAddress: string;
  readonly remotePort: number;
  readonly from: number;
  readonly to: number;
}

export interface CutCapture {
  /** A pcap file. */
  readonly bytes: Buffer;
  readonly packets: number;
  /** Packets in the middle of a long connection that were left out. */
  readonly leftOut: number;
}

export type Cut = CutCapture | { missing: string };

export interface PacketCapture extends Disposable {
  /**
   * Keeps packets from before the first connection of an attempt until its end, and some seconds
   * longer: they are cut out by then, or not at all. Never throws.
   */
  start(): Disposable;
  /** Gives the packets of a flow in one file, or says why there are none. Never rejects. */
  cut(flow: Flow, signal: AbortSignal): Promise<Cut>;
  /** Called for temporary failures. */
  onFailure(listener: (fault: AgentError) => void): void;
}

export interface CaptureOptions {
  /** PACKET_CAPTURE_BUFFER_MB. */
  bufferMb: number;
  /** Why the helper that opens sockets is of no use here; null where there is none. */
  helperProblem?: string | null;
  clock?: Clock;
  opened?: OpenedLibc;
}

/** Between the instant of an event in Node and that of its packet in the kernel. */
const slackMs = 100;
const firstPauseMs = 1_000;
const maxPauseMs = 60_000;
/** Attempts may last longer than packets are kept. */
const maxAgeMs = 60_000;
/** Evidence is complete so long after an attempt, with time to spare for a busy event loop. */
const keptAfterMs = 20_000;
const megabyte = 1_048_576;
const firstRingBytes = 2 * megabyte;
const ringGrowth = 4;
/** A search holds the event loop for so long at a time, and then lets it go for this many times as long. */
const turnMs = 2;
const restFactor = 4;
const lookEveryMs = 250;
const minLookMs = 10;
/** The kernel calls when it has closed a block: so many calls without one are a fault. */
const maxEmptyCalls = 100;
const broken = 'packets were not kept during the connection, because the capture was broken';

function explain(error: unknown, helperProblem: string | null): string {
  const begin = 'packets cannot be captured:';
  const code = error instanceof SystemCallError ? error.code : '';
  if (code === 'EPERM' || code === 'EACCES') {
    const help =
      helperProblem ??
      'start the container with --cap-add=NET_RAW as root, or give the process the ambient capability';
    return `${begin} this process has no CAP_NET_RAW (${help})`;
  }
  const text = error instanceof Error ? error.message : String(error);
  if (code === 'ENOMEM' || code === 'ENOBUFS') {
    return `${begin} the kernel has no memory for them (${text}); lower PACKET_CAPTURE_BUFFER_MB`;
  }
  return `${begin} ${text}`;
}

interface Request {
  readonly flow: Flow;
  readonly signal: AbortSignal;
  answer(cut: Cut): void;
}

class RingCapture implements PacketCapture {
  readonly #libc: Libc;
  readonly #clock: Clock;
  readonly #bufferBytes: number;
  readonly #history = new PacketHistory();
  readonly #listeners: ((fault: AgentError) => void)[] = [];
  readonly #waiting: Request[] = [];
  /** The attempts in progress, the oldest first. */
  readonly #attempts = new Set<{ readonly from: number }>();
  #largestRing: number;
  #ring: PacketRing | null = null;
  #openedAt = 0;
  #calledAt = 0;
  #emptyCalls = 0;
  #pauseMs = firstPauseMs;
  #state: 'new' | 'started' | 'closed' = 'new';
  #isSearching = false;
  #cancelOpen: () => void = () => undefined;
  #cancelLook: () => void = () => undefined;

  constructor(libc: Libc, bufferBytes: number, clock: Clock) {
    this.#libc = libc;
    this.#clock = clock;
    this.#bufferBytes = bufferBytes;
    this.#largestRing = Math.max(bufferBytes / 4, Math.min(firstRingBytes, bufferBytes / 2));
  }

  onFailure(listener: (fault: AgentError) => void): void {
    this.#listeners.push(listener);
  }

  start(): Disposable {
    if (this.#state === 'new') {
      this.#state = 'started';
      this.#open();
    }
    const attempt = { from: this.#clock.monotonic() };
    this.#attempts.add(attempt);
    return {
      [Symbol.dispose]: () => {
        this.#attempts.delete(attempt);
      },
    };
  }

  #keep(block: Buffer, now: number): void {
    const [oldest] = this.#attempts;
    const neededFrom = Math.max((oldest?.from ?? now) - keptAfterMs, now - maxAgeMs);
    this.#history.add(block, now, neededFrom);
  }

  #open(): void {
    try {
      this.#use(Math.min(firstRingBytes, this.#largestRing));
      this.#openedAt = this.#clock.monotonic();
    } catch (error) {
      this.#openLater(explain(error, null));
    }
  }

  /** Throws a SystemCallError and changes nothing when there is no such ring. */
  #use(bytes: number): void {
    const ring = new PacketRing(this.#libc, bytes);
    try {
      this.#watch(ring);
    } catch (error) {
      ring[Symbol.dispose]();
      throw error;
    }
    const former = this.#ring;
    this.#ring = ring;
    this.#history.limitTo(this.#bufferBytes - ring.bytes);
    if (former === null) return;
    const now = this.#clock.monotonic();
    const keep = (block: Buffer): void => this.#keep(block, now);
    former.takeBlocks(keep);
    if (former.filling !== null) keep(former.filling);
    former[Symbol.dispose]();
  }

  /** Waits for closed blocks. When they come quickly, a timer is cheaper than a call for each. */
  #watch(ring: PacketRing): void {
    ring.watch(() => {
      const passedMs = this.#clock.monotonic() - this.#calledAt;
      this.#calledAt += passedMs;
      const blocks = this.#take(ring);
      this.#emptyCalls = blocks === 0 ? this.#emptyCalls + 1 : 0;
      if (this.#emptyCalls > maxEmptyCalls) this.#break('it calls without a reason');
      if (blocks === 0 || passedMs > lookEveryMs) return;
      ring.unwatch();
      this.#lookLater(ring, blocks, passedMs);
    });
  }

  /** Looks again when about a quarter of the ring is full, by what came in the time that has passed. */
  #lookLater(ring: PacketRing, blocks: number, passedMs: number): void {
    if (this.#ring !== ring) return;
    const quarterMs = (passedMs * ring.blocks) / 4 / blocks;
    const pauseMs = Math.max(minLookMs, Math.min(quarterMs, lookEveryMs));
    const begunAt = this.#clock.monotonic();
    this.#cancelLook = this.#clock.after(pauseMs, () => {
      const more = this.#take(ring);
      if (more > 0) {
        this.#lookLater(ring, more, this.#clock.monotonic() - begunAt);
        return;
      }
      try {
        this.#watch(ring);
      } catch (error) {
        this.#break(String(error));
      }
    });
  }

  /** Copies the closed blocks; gives how many there were. */
  #take(ring: PacketRing): number {
    if (this.#ring !== ring) return 0;
    let blocks = 0;
    try {
      const now = this.#clock.monotonic();
      const hasLost = ring.takeBlocks((block) => {
        blocks += 1;
        this.#keep(block, now);
      });
      const problem = blocks === 0 ? ring.problem : null;
      if (problem !== null) this.#break(problem);
      else if (hasLost) this.#grow(ring);
    } catch (error) {
      this.#break(String(error));
    }
    return blocks;
  }

  #grow({ bytes }: PacketRing): void {
    const larger = Math.min(bytes * ringGrowth, this.#largestRing);
    if (larger < bytes * 2) return;
    try {
      this.#use(larger);
    } catch (error) {
      if (!(error instanceof SystemCallError)) throw error;
      this.#largestRing = bytes;
    }
  }

  #break(why: string): void {
    this.#cancelLook();
    this.#ring?.[Symbol.dispose]();
    this.#ring = null;
    this.#emptyCalls = 0;
    this.#history.clear();
    if (this.#clock.monotonic() - this.#openedAt > maxPauseMs) this.#pauseMs = firstPauseMs;
    this.#openLater(`the ring that keeps packets broke (${why})`);
  }

  #openLater(why: string): void {
    const pauseMs = this.#pauseMs;
    this.#pauseMs = Math.min(pauseMs * 2, maxPauseMs);
    const message = `${why}; it is opened again in ${pauseMs / 1000} s`;
    this.#cancelOpen = this.#clock.after(pauseMs, () => this.#open());
    for (const listener of this.#listeners) listener(new AgentError('CAPTURE_BROKEN', message));
  }

  cut(flow: Flow, signal: AbortSignal): Promise<Cut> {
    return new Promise((resolve) => {
      const stop = (): void => resolve({ missing: 'the search for packets was stopped' });
      if (signal.aborted) {
        stop();
        return;
      }
      signal.addEventListener('abort', stop, { once: true });
      const answer = (cut: Cut): void => {
        signal.removeEventListener('abort', stop);
        resolve(cut);
      };
      this.#waiting.push({ flow, signal, answer });
      if (!this.#isSearching) void this.#search();
    });
  }

  /** One pass answers all who have asked by then; those who ask meanwhile wait for the next. */
  async #search(): Promise<void> {
    this.#isSearching = true;
    while (this.#waiting.length > 0) {
      await new Promise(setImmediate);
      const requests = this.#waiting.splice(0).filter(({ signal }) => !signal.aborted);
      try {
        await this.#answer(requests);
      } catch (error) {
        const missing = `the search failed: ${String(error)}`;
        for (const { answer } of requests) answer({ missing });
      }
    }
    this.#isSearching = false;
  }

  async #answer(requests: readonly Request[]): Promise<void> {
    // Packets have times of the wall clock.
    const epoch = this.#clock.now() - this.#clock.monotonic();
    const search = new FlowSearch(
      requests.map(({ flow }) => ({
        ...flow,
        from: Math.floor(epoch + flow.from - slackMs),
        to: Math.ceil(epoch + flow.to + slackMs),
      })),
    );
    const blocks = this.#history[Symbol.iterator]();
    for (let isDone = false; !isDone;) {
      const begunAt = this.#clock.monotonic();
      isDone = this.#searchUntil(begunAt + turnMs, blocks, search);
      const restMs = restFactor * (this.#clock.monotonic() - begunAt);
      if (isDone) {
        requests.forEach(({ flow, answer }, index) => {
          answer(this.#cutOf(flow, search.found[index]));
        });
      }
      await sleep(this.#clock, restMs);
    }
  }

  /** True when all blocks were looked at. */
  #searchUntil(end: number, blocks: Iterator<KeptBlock>, search: FlowSearch): boolean {
    if (this.#ring !== null) this.#take(this.#ring);
    do {
      const { value: block, done } = blocks.next();
      if (done !== true) {
        search.look(block.bytes, block);
        continue;
      }
      const filling = this.#ring?.filling ?? null;
      const header = filling === null ? null : readBlock(filling);
      if (filling !== null && header !== null) search.look(filling, header, true);
      return true;
    } while (this.#clock.monotonic() < end);
    return false;
  }

  #cutOf(flow: Flow, found: FoundPackets | undefined): Cut {
    if (this.#ring === null || flow.from < this.#openedAt) return { missing: broken };
    if (found === undefined || found.records.length === 0) {
      return {
        missing: 'no packet of the connection was seen, or none is left of those that were',
      };
    }
    const { records, leftOut } = found;
    return { bytes: pcapFile(Buffer.concat(records)), packets: records.length, leftOut };
  }

  [Symbol.dispose](): void {
    this.#state = 'closed';
    this.#cancelOpen();
    this.#cancelLook();
    this.#ring?.[Symbol.dispose]();
    this.#ring = null;
    this.#history.clear();
  }
}

/**
 * Opens a capture, or says why that is not possible here and what would help. It tries the smallest
 * ring that there is; one that keeps packets is made when the capture is started.
 */
export function openPacketCapture({
  bufferMb,
  helperProblem = null,
  clock = systemClock,
  opened = openLibc(),
}: CaptureOptions): { capture: PacketCapture | null; problem: string | null } {
  if (opened.libc === null) return { capture: null, problem: explain(opened.problem, null) };
  let problem: string | null = null;
  try {
    new PacketRing(opened.libc, 0)[Symbol.dispose]();
  } catch (error) {
    problem = explain(error, helperProblem);
    if (!isLateHelper(error)) return { capture: null, problem };
  }
  return { capture: new RingCapture(opened.libc, bufferMb * megabyte, clock), problem };
}
