/**
 * Knows when this process could not receive anything, and when its clock was set. It reads the clocks
 * every second, and whoever is about to conclude something from silence has them read first: after a
 * pause all timers fire at once, before the sockets are read. See `reception/decide/receivable-time.ts`.
 */
import type { Logger } from 'pino';
import type { Clock } from '@monitor/shared/clock.ts';
import type { DiskWatch } from '../core/disk-watch.ts';
import {
  gapsBetween,
  gapsOverRestart,
  isStall,
  lateBy,
  minGapMs,
  receivableSince,
  gracePeriodAfter,
  gracePeriodAtStart,
  type Gap,
  type LastAlive,
  type Reading,
  type GracePeriod,
} from './decide/receivable-time.ts';
import { ClockTrust } from './decide/clock-trust.ts';
import type { MachineClocks } from './machine-clocks.ts';

const tickMs = 1_000;
const maxGaps = 1_000;
/** After a stall, requests that waited in the sockets are read within this time. */
const readWithinMs = 2_000;
/** A process that stalls again and again draws its conclusions all the same: requests have not waited longer. */
const maxUnreadMs = 60_000;

interface ReceptionParts {
  clock: Clock;
  machine: MachineClocks;
  logger: Logger;
  disk: DiskWatch;
}

interface OpenedReception {
  /** Of the process before this one; null for a new installation. */
  before: LastAlive | null;
  /** What is on record, in the order in which it happened. */
  known: readonly Gap[];
  /** Puts gaps on record and moves all deadlines, in one transaction. */
  record: (gaps: readonly Gap[]) => Promise<void>;
}

export class Reception implements Disposable {
  readonly #clock: Clock;
  readonly #machine: MachineClocks;
  readonly #logger: Logger;
  readonly #disk: DiskWatch;
  readonly #trust = new ClockTrust();
  #record: OpenedReception['record'] | null = null;
  #last: Reading;
  #lostMs = 0;
  /** In receivable ms: the last stall, and since when one has followed the other before all was read. */
  #stalledAt = Number.NEGATIVE_INFINITY;
  #unreadSince = Number.NEGATIVE_INFINITY;
  #gracePeriod: GracePeriod | null = null;
  /** The newest ones. */
  #gaps: Gap[] = [];
  #unrecorded: Gap[] = [];
  #recording: Promise<void> | null = null;
  /** To put gaps on record; tried again with the next tick. */
  #hasFailed = false;
  #cancelTick: () => void = () => {};

  constructor({ clock, machine, logger, disk }: ReceptionParts) {
    this.#clock = clock;
    this.#machine = machine;
    this.#logger = logger;
    this.#disk = disk;
    this.#last = this.#read();
    this.#gracePeriod = gracePeriodAtStart(this.#last.monotonic);
    this.#tick();
  }

  #read(): Reading {
    const boot = this.#machine.boot();
    return {
      wall: Math.round(this.#clock.now()),
      monotonic: Math.round(this.#clock.monotonic()),
      boot: boot === null ? null : Math.round(boot),
    };
  }

  #tick(): void {
    this.#cancelTick = this.#clock.after(tickMs, () => {
      this.#look();
      this.#last = this.#read();
      this.#hasFailed = false;
      void this.recorded();
      this.#tick();
    });
  }

  /** Compares the clocks with the last reading. Costs two readings unless something happened. */
  #look(): void {
    const before = this.#last;
    const ranMs = this.#clock.monotonic() - before.monotonic;
    const driftMs = this.#clock.now() - before.wall - ranMs;
    if (ranMs < tickMs && Math.abs(driftMs) < minGapMs) return;
    const now = this.#read();
    const lateMs = lateBy(before, now, tickMs);
    const gaps = gapsBetween(before, now, tickMs);
    if (gaps.length === 0) {
      if (isStall(lateMs)) this.#noteStall();
      return;
    }
    this.#last = now;
    if (gaps.some(({ lostMs }) => lostMs > 0)) this.#lostMs += lateMs;
    this.note(gaps);
  }

  #noteStall(): void {
    const at = this.#receivedMs();
    // Only what lasts for a tick or two is noticed by those who ask.
    if (at - this.#stalledAt >= readWithinMs + 2 * tickMs) this.#unreadSince = at;
    this.#stalledAt = at;
  }

  /** Adds gaps that something else knows of. They count at once, and are put on record soon. */
  note(gaps: readonly Gap[]): void {
    if (gaps.length === 0) return;
    const monotonic = this.#clock.monotonic();
    this.#noteStall();
    this.#gracePeriod = gracePeriodAfter(this.#gracePeriod, gaps, monotonic);
    this.#gaps = [...this.#gaps, ...gaps].slice(-maxGaps);
    this.#unrecorded.push(...gaps);
    for (const gap of gaps) {
      this.#trust.onGap(gap, this.#receivedMs());
      const facts = { cause: gap.cause, from: gap.from, to: gap.to };
      if (gap.stepMs === 0) {
        this.#logger.warn(
          { ...facts, lostMs: gap.lostMs },
          'nothing could be received for a while',
        );
      } else {
        this.#logger.error({ ...facts, stepMs: gap.stepMs }, 'the clock was set');
      }
    }
  }

  /** Begins with what is on record. Gives once what happened since then is on record too. */
  async open({ before, known, record }: OpenedReception): Promise<void> {
    this.#gaps = [...known];
    this.#record = record;
    // A restart confirms no clock.
    for (const gap of known) this.#trust.onGap(gap, this.#receivedMs() - this.since(gap.to));
    if (before !== null) this.note(gapsOverRestart(before, this.lastAlive()));
    await this.recorded();
  }

  /** What the next process needs to know of this moment. */
  lastAlive(): LastAlive {
    const { wall, boot } = this.#read();
    const { bootId } = this.#machine;
    return { wall, boot: boot === null || bootId === null ? null : { id: bootId, ms: boot } };
  }

  /**
   * Resolves once every gap up to now is on record and all deadlines have moved; also when that could
   * not be written, see `isGracePeriodOver`. Never call it within a transaction: it waits for one.
   */
  async recorded(): Promise<void> {
    this.#look();
    if (this.#unrecorded.length === 0 || this.#hasFailed) return;
    this.#recording ??= this.#writeDown().finally(() => {
      this.#recording = null;
    });
    await this.#recording;
  }

  async #writeDown(): Promise<void> {
    if (this.#record === null) return;
    const gaps = [...this.#unrecorded];
    try {
      await this.#record(gaps);
      this.#unrecorded.splice(0, gaps.length);
    } catch (error) {
      this.#hasFailed = true;
      if (this.#disk.noteFailure(error)) return;
      this.#logger.error({ err: error }, 'a pause could not be put on record, trying again');
    }
  }

  /** Whether everything that arrived until a moment ago has been read: pings that nobody sent can be missed. */
  hasReadAll(): boolean {
    this.#look();
    if (this.#unrecorded.length > 0 || this.#disk.problem !== null) return false;
    const now = this.#receivedMs();
    return now - this.#stalledAt >= readWithinMs || now - this.#unreadSince >= maxUnreadMs;
  }

  /** Whether agents had the time to hand in what they could not hand in before. */
  isGracePeriodOver(): boolean {
    if (!this.hasReadAll()) return false;
    return this.#gracePeriod === null || this.#clock.monotonic() >= this.#gracePeriod.until;
  }

  #receivedMs(): number {
    return this.#clock.monotonic() - this.#lostMs;
  }

  /** Receivable time on a clock of its own, in ms: it stands still during gaps. */
  receivableMs(): number {
    this.#look();
    return this.#receivedMs();
  }

  /** Receivable time since an instant of the wall clock, in ms. */
  since(instant: number): number {
    this.#look();
    return receivableSince(instant, this.#clock.now(), this.#gaps);
  }

  /** True once a doubtful clock was set back: what lies in the future was recorded by it. */
  get wasAhead(): boolean {
    return this.#trust.wasAhead;
  }

  /** Nothing of the future is left. */
  noteFutureCleared(): void {
    this.#trust.noteFutureCleared();
  }

  /** Whether the wall clock is good enough for what cannot be undone, and to judge dates by. */
  isClockTrusted(): boolean {
    this.#look();
    return this.#trust.isTrusted(this.#receivedMs());
  }

  /** An agent of a location stamped a request with its own clock. */
  hearClock(caller: { accountId: string; location: string }, aheadMs: number): void {
    if (this.isGracePeriodOver()) this.#trust.hear(caller, aheadMs, this.#receivedMs());
  }

  /** What is wrong with the clock, in words; null when nothing is known to be. */
  get clockProblem(): string | null {
    return this.#trust.problem(this.#receivedMs());
  }

  /** The newest step of the clock; null when none is on record. */
  get lastStep(): Gap | null {
    return this.#gaps.findLast(({ stepMs }) => stepMs !== 0) ?? null;
  }

  [Symbol.dispose](): void {
    this.#cancelTick();
  }
}
