/**
 * Knows when this process could not receive anything, and when its clock was set. It reads the
 * clocks every second, and before a conclusion is drawn from missing data: after a pause all timers
 * fire before the sockets are read. See `reception/decide/receivable-time.ts`. Beside other
 * replicas, a pause of this one is a doubt until it is known whether others received meanwhile.
 */
import type { Logger } from 'pino';
import type { Clock } from '@monitor/shared/clock.ts';
import type { WriteWatch } from '../core/write-watch.ts';
import {
  gapsBetween,
  gapsOverRestart,
  isStall,
  lateBy,
  minGapMs,
  receivableSince,
  gracePeriodAfter,
  gracePeriodAtStart,
  maxGracePeriodMs,
  type Gap,
  type GapCause,
  type LastAlive,
  type Reading,
  type GracePeriod,
} from './decide/receivable-time.ts';
import { ClockTrust } from './decide/clock-trust.ts';
import type { MachineClocks } from './machine-clocks.ts';

const tickMs = 1_000;
const maxGaps = 1_000;
/** After a stall, requests in the sockets are read within this time. */
const readWithinMs = 2_000;
/** And within so many turns of the event loop: on a busy machine they take longer. */
const readWithinTurns = 5;
/** A process with continuous stalls still draws conclusions: no request waits longer than this. */
const maxUnreadMs = 60_000;

interface ReceptionParts {
  clock: Clock;
  machine: MachineClocks;
  logger: Logger;
  writes: WriteWatch;
}

interface OpenedReception {
  /** The previous process; null for a new installation. */
  before: LastAlive | null;
  /** Recorded gaps, in order. */
  known: readonly Gap[];
  /** Records gaps and moves all deadlines in one transaction. */
  record: (gaps: readonly Gap[]) => Promise<void>;
  /** The other replicas; null for the only process of the installation. */
  others: OtherReplicas | null;
}

/** Beside other replicas, time is lost only when none of them could receive. */
export interface OtherReplicas {
  isColdStart: boolean;
  /** This process received nothing since an instant. */
  doubt: (since: number, cause: GapCause) => void;
  isInDoubt: () => boolean;
  /** Asks whether others received meanwhile; resolves also when that failed. */
  settle: () => Promise<void>;
}

export class Reception implements Disposable {
  readonly #clock: Clock;
  readonly #machine: MachineClocks;
  readonly #logger: Logger;
  readonly #writes: WriteWatch;
  readonly #trust = new ClockTrust();
  #record: OpenedReception['record'] | null = null;
  #others: OtherReplicas | null = null;
  #last: Reading;
  #lostMs = 0;
  /** In receivable ms: the last stall, and the start of continuous stalls. */
  #stalledAt = Number.NEGATIVE_INFINITY;
  #unreadSince = Number.NEGATIVE_INFINITY;
  #turnsLeft = 0;
  /** Pings that are being recorded, by when they came: in receivable ms, and by the wall clock. */
  readonly #unrecordedPings = new Set<{ receivedMs: number; at: number }>();
  #gracePeriod: GracePeriod | null = null;
  /** The newest ones. */
  #gaps: Gap[] = [];
  #unrecorded: Gap[] = [];
  #recording: Promise<void> | null = null;
  /** Recording gaps has failed; it is retried with the next tick. */
  #hasFailed = false;
  #cancelTick: () => void = () => {};

  constructor({ clock, machine, logger, writes }: ReceptionParts) {
    this.#clock = clock;
    this.#machine = machine;
    this.#logger = logger;
    this.#writes = writes;
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

  /** Compares the clocks with the last reading. */
  #look(): void {
    const before = this.#last;
    const ranMs = this.#clock.monotonic() - before.monotonic;
    const driftMs = this.#clock.now() - before.wall - ranMs;
    if (ranMs < tickMs && Math.abs(driftMs) < minGapMs) return;
    const now = this.#read();
    const lateMs = lateBy(before, now, tickMs);
    const gaps = gapsBetween(before, now, tickMs);
    if (this.#others?.isInDoubt() === true) {
      // The clock is measured anew; what it shows until then is no step.
      this.#last = now;
      if (isStall(lateMs)) this.#noteStall();
      return;
    }
    if (gaps.length === 0) {
      if (isStall(lateMs)) this.#noteStall();
      return;
    }
    this.#last = now;
    const lost = gaps.find(({ lostMs }) => lostMs > 0);
    if (lost !== undefined) this.#lostMs += lateMs;
    if (lost === undefined || this.#others === null) {
      this.note(gaps);
      return;
    }
    this.#noteStall();
    this.#others.doubt(lost.from, lost.cause);
  }

  /** Compares the clocks now, before something depends on it. */
  noticePause(): void {
    this.#look();
  }

  #noteStall(): void {
    const at = this.#receivedMs();
    // Only gaps of a tick or more are noticed by callers.
    if (at - this.#stalledAt >= readWithinMs + 2 * tickMs) this.#unreadSince = at;
    this.#stalledAt = at;
    const isCounting = this.#turnsLeft > 0;
    this.#turnsLeft = readWithinTurns;
    if (!isCounting) setImmediate(this.#countTurn);
  }

  readonly #countTurn = (): void => {
    this.#turnsLeft -= 1;
    if (this.#turnsLeft > 0) setImmediate(this.#countTurn);
  };

  /** Records a ping that came `at` an instant of the wall clock; until then it is not missing. */
  async receive<T>(at: number, record: () => Promise<T>): Promise<T> {
    const ping = { receivedMs: this.#receivedMs(), at };
    this.#unrecordedPings.add(ping);
    try {
      return await record();
    } finally {
      this.#unrecordedPings.delete(ping);
    }
  }

  /** Pings that are being recorded. One that takes too long keeps nothing back. */
  #waitingPings(): { receivedMs: number; at: number }[] {
    const oldestMs = this.#receivedMs() - maxUnreadMs;
    return [...this.#unrecordedPings].filter(({ receivedMs }) => receivedMs > oldestMs);
  }

  /** The instant of the wall clock up to which every ping that has been read is recorded. */
  pingsRecordedUntil(now: number): number {
    return Math.min(now, ...this.#waitingPings().map(({ at }) => at - 1));
  }

  /** Adds gaps from another source. They count at once and are recorded soon. */
  note(gaps: readonly Gap[]): void {
    if (gaps.length === 0) return;
    this.#unrecorded.push(...gaps);
    // Beside others they count once they are recorded: another replica may have been first.
    if (this.#others === null) this.#take(gaps);
    else this.#noteStall();
  }

  /** Gaps that some replica has recorded since the last call, in order. */
  adopt(gaps: readonly Gap[]): void {
    this.#last = this.#read();
    if (gaps.length > 0) this.#take(gaps);
  }

  #take(gaps: readonly Gap[]): void {
    const monotonic = this.#clock.monotonic();
    this.#noteStall();
    this.#gracePeriod = gracePeriodAfter(this.#gracePeriod, gaps, monotonic);
    this.#gaps = [...this.#gaps, ...gaps].slice(-maxGaps);
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

  /** Loads the recorded gaps. Resolves once the newest gap is recorded too. */
  async open({ before, known, record, others }: OpenedReception): Promise<void> {
    this.#gaps = [...known];
    this.#record = record;
    this.#others = others;
    if (others !== null) this.#joinGracePeriod(others, known);
    // A restart does not confirm a clock.
    for (const gap of known) this.#trust.onGap(gap, this.#receivedMs() - this.since(gap.to));
    if (before !== null) this.note(gapsOverRestart(before, this.lastAlive()));
    await this.recorded();
  }

  /** A replica that starts beside others waits only as long as they do. */
  #joinGracePeriod({ isColdStart }: OtherReplicas, known: readonly Gap[]): void {
    if (!isColdStart) this.#gracePeriod = null;
    const monotonic = this.#clock.monotonic();
    for (const gap of known) {
      const agoMs = this.since(gap.to);
      if (agoMs >= maxGracePeriodMs) continue;
      this.#gracePeriod = gracePeriodAfter(this.#gracePeriod, [gap], monotonic - agoMs);
    }
  }

  /** The facts about this moment for the next process. */
  lastAlive(): LastAlive {
    const { wall, boot } = this.#read();
    const { bootId } = this.#machine;
    return { wall, boot: boot === null || bootId === null ? null : { id: bootId, ms: boot } };
  }

  /**
   * Resolves once all gaps so far are recorded and all deadlines moved; also when writing failed, see
   * `isGracePeriodOver`. Never call it within a transaction: it waits for one.
   */
  async recorded(): Promise<void> {
    this.#look();
    if (this.#others?.isInDoubt() === true) await this.#others.settle();
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
      if (this.#writes.noteFailure(error)) return;
      this.#logger.error({ err: error }, 'a pause could not be put on record, trying again');
    }
  }

  /**
   * True when everything that arrived until a moment ago has been read, so that missing pings are
   * really missing.
   */
  hasReadAll(): boolean {
    this.#look();
    if (this.#others?.isInDoubt() === true) return false;
    if (this.#unrecorded.length > 0 || this.#writes.problem !== null) return false;
    const now = this.#receivedMs();
    if (now - this.#unreadSince >= maxUnreadMs) return true;
    const readBy = this.#stalledAt + readWithinMs;
    if (now < readBy || this.#turnsLeft > 0) return false;
    return !this.#waitingPings().some(({ receivedMs }) => receivedMs <= readBy);
  }

  /** True when agents had time to send what they could not send before. */
  isGracePeriodOver(): boolean {
    if (!this.hasReadAll()) return false;
    return this.#gracePeriod === null || this.#clock.monotonic() >= this.#gracePeriod.until;
  }

  #receivedMs(): number {
    return this.#clock.monotonic() - this.#lostMs;
  }

  /** Receivable time as a clock, in ms: it stops during gaps. */
  receivableMs(): number {
    this.#look();
    return this.#receivedMs();
  }

  /** Receivable time since an instant of the wall clock, in ms. */
  since(instant: number): number {
    this.#look();
    return receivableSince(instant, this.#clock.now(), this.#gaps);
  }

  /** True once a doubtful clock was set back and agents agree with it: stored future instants came from it. */
  get wasAhead(): boolean {
    return this.#trust.wasAhead;
  }

  /** True where agents say that the clock is behind, and until they agree with one that was set far back. */
  get mayBeBehind(): boolean {
    return this.#trust.mayBeBehind;
  }

  /** Call it when no future instants are left. */
  noteFutureCleared(): void {
    this.#trust.noteFutureCleared();
  }

  /** True when the wall clock may be used for irreversible work and for dates. */
  isClockTrusted(): boolean {
    this.#look();
    // Beside others, a step is judged once it is recorded.
    if (this.#others !== null && this.#unrecorded.length > 0) return false;
    return this.#trust.isTrusted(this.#receivedMs());
  }

  /** Records the clock offset of an agent that sent its own time. */
  hearClock(caller: { accountId: string; location: string }, aheadMs: number): void {
    if (this.isGracePeriodOver()) this.#trust.hear(caller, aheadMs, this.#receivedMs());
  }

  /** The problem of the clock as text; null without one. */
  get clockProblem(): string | null {
    return this.#trust.problem(this.#receivedMs());
  }

  /** Steps back of the clock, in order: slots came again. */
  get stepsBack(): Gap[] {
    return this.#gaps.filter(({ stepMs }) => stepMs < 0);
  }

  /** The newest step of the clock; null without one. */
  get lastStep(): Gap | null {
    return this.#gaps.findLast(({ stepMs }) => stepMs !== 0) ?? null;
  }

  [Symbol.dispose](): void {
    this.#cancelTick();
  }
}
