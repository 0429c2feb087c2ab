/**
 * The world of a simulation: one time for all hosts, a queue of what happens when, and chance from one seed. Nothing
 * in it happens at the same time: each event ends, with all that it sets off, before the next one begins.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { createHash } from 'node:crypto';
import type { Clock } from '@monitor/shared/clock.ts';
import { Heap } from '@monitor/shared/heap.ts';
import { seededRandom } from '../proof/random.ts';
import type { Network } from './network.ts';

/** When every world begins: the wall clock of a host that is right. */
export const epoch = Date.UTC(2026, 2, 2, 9);
/** Its machines were started a while before. */
const bootedMs = 86_400_000;
/** More events at one instant than any real one: something repeats itself for ever. */
const maxEventsAtOnce = 200_000;

interface Event {
  at: number;
  order: number;
  host: Host;
  /** Timers of a process stand still while its machine sleeps; what comes over the network does not. */
  isTimer: boolean;
  isCancelled: boolean;
  isLate: boolean;
  run: () => void;
}

/** The earliest event first, of two at one instant the one that was added first. */
const comesBefore = (one: Event, other: Event): boolean =>
  one.at < other.at || (one.at === other.at && one.order < other.order);

/** How late a host calls back; null for one that is on time. */
export type Slowness = (() => number) | null;

/** A machine with one process. Its clocks, its chance and its timers are its own. */
export class Host {
  readonly world: World;
  readonly name: string;
  readonly random: () => number;
  /** False once its process was killed: nothing of it happens any more. */
  isAlive = true;
  slowness: Slowness = null;
  /** Called before each statement that its process gives to a database. */
  onStatement: (() => void) | null = null;
  #held: Event[] | null = null;
  #heldAt = 0;
  #asleepMs = 0;
  #waitedMs = 0;
  #lateUntil = 0;
  #wall: Wall;

  constructor(world: World, name: string, wall: Wall, start = 0) {
    this.world = world;
    this.name = name;
    this.#wall = wall;
    this.random = world.chance(`host ${name} ${start}`);
  }

  get isSuspended(): boolean {
    return this.#held !== null;
  }

  /** CPU time that its process waited for, in ms. */
  get waitedMs(): number {
    return this.#waitedMs;
  }

  readonly clock: Clock = {
    now: () => Math.round(this.wallNow()),
    monotonic: () => this.world.now - this.#asleepMs,
    after: (delayMs, callback) => this.after(delayMs, callback),
  };

  wallNow(): number {
    return epoch + this.world.now + this.#wall.aheadAt(this.world.now);
  }

  /** Since its machine was started, its sleep included. */
  bootMs(): number {
    return bootedMs + this.world.now;
  }

  after(delayMs: number, callback: () => void): () => void {
    const event = this.world.add(this, this.world.now + Math.max(0, delayMs), callback, true);
    return () => {
      event.isCancelled = true;
    };
  }

  /** Does something as the process of this host. */
  act<T>(work: () => T): T {
    return currentHost.run(this, work);
  }

  /** What takes place now; false when it was put off. */
  take(event: Event): boolean {
    if (!this.isAlive || event.isCancelled) return false;
    if (this.#held !== null) {
      this.#held.push(event);
      return false;
    }
    if (this.slowness !== null && !event.isLate) {
      const at = Math.max(this.#lateUntil, event.at + this.slowness());
      if (at > event.at) {
        this.#lateUntil = at;
        this.#waitedMs += at - event.at;
        this.world.put({ ...event, at }, event);
        return false;
      }
    }
    return true;
  }

  suspend(): void {
    if (this.#held !== null) return;
    this.#held = [];
    this.#heldAt = this.world.now;
  }

  /** Timers that are overdue fire first, then what lies in the sockets is read. */
  resume(wasAsleep: boolean): void {
    const held = this.#held;
    if (held === null) return;
    this.#held = null;
    const lastedMs = this.world.now - this.#heldAt;
    if (wasAsleep) {
      this.#asleepMs += lastedMs;
      this.world.delayTimers(this, lastedMs);
      for (const event of held.filter(({ isTimer }) => isTimer)) {
        this.world.put({ ...event, at: event.at + lastedMs }, event);
      }
    }
    const due = wasAsleep ? held.filter(({ isTimer }) => !isTimer) : held;
    for (const event of due.toSorted((one, other) => Number(other.isTimer) - Number(one.isTimer))) {
      if (!event.isCancelled) this.act(event.run);
    }
  }
}

/** The wall clock of a machine, which outlives its processes. */
export class Wall {
  #aheadMs = 0;
  #driftPerMs = 0;
  #from = 0;

  aheadAt(now: number): number {
    return this.#aheadMs + (now - this.#from) * this.#driftPerMs;
  }

  /** Sets it, as an operator or a time service does. */
  set(now: number, aheadMs: number): void {
    this.#aheadMs = aheadMs;
    this.#from = now;
  }

  /** From now on it runs too fast, or too slowly. */
  drift(now: number, perMs: number): void {
    this.#aheadMs = this.aheadAt(now);
    this.#from = now;
    this.#driftPerMs = perMs;
  }
}

const currentHost = new AsyncLocalStorage<Host>();
/** Whose process runs now. */
export const runningHost = (): Host | undefined => currentHost.getStore();

/** Work that was handed to the event loop or to its threads and has not ended. */
export const pending = { count: 0 };
const turn = setImmediate;

/** Until everything that the last event set off has ended. */
async function settled(): Promise<void> {
  for (let quiet = 0; quiet < 2;) {
    await new Promise((resolve) => turn(resolve));
    quiet = pending.count === 0 ? quiet + 1 : 0;
  }
}

export class World {
  now = 0;
  readonly seed: number;
  /** For what belongs to no program: targets, receivers, people. */
  readonly outside: Host;
  /** Set by the one who makes it. */
  network!: Network;
  #queue = new Heap(comesBefore);
  readonly #hash = createHash('sha256');
  readonly #timeline: string[] = [];
  #order = 0;
  traced = 0;
  /** Called after each event, when all that it set off has ended. */
  afterEach: () => void = () => undefined;
  /** Whether the timeline is whole: with what programs log of their daily work. */
  hasTimeline = false;

  constructor(seed: number) {
    this.seed = seed;
    this.outside = new Host(this, 'outside', new Wall());
  }

  /** Chance of its own for each purpose, so that one event more or less leaves the others as they were. */
  chance(purpose: string): () => number {
    const digest = createHash('sha256').update(`${this.seed} ${purpose}`).digest();
    return seededRandom(digest.readUInt32LE());
  }

  add(host: Host, at: number, run: () => void, isTimer = false): Event {
    const event = {
      ...{ at: Math.max(at, this.now), order: this.#order++, host, isTimer, run },
      ...{ isCancelled: false, isLate: false },
    };
    this.#queue.push(event);
    return event;
  }

  /** Puts off an event; who cancels the first one cancels this one. */
  put(later: Event, of: Event): void {
    const event = { ...later, isLate: true, run: () => !of.isCancelled && of.run() };
    this.#queue.push({ ...event, order: this.#order++ });
  }

  delayTimers(host: Host, byMs: number): void {
    for (const event of this.#queue.items) {
      if (event.host === host && event.isTimer) event.at += byMs;
    }
    this.#orderAnew(() => true);
  }

  /** What nobody waits for any more is forgotten. */
  bury(host: Host): void {
    host.isAlive = false;
    this.#orderAnew((event) => event.host !== host);
  }

  #orderAnew(keep: (event: Event) => boolean): void {
    const kept = this.#queue.items.filter(keep);
    this.#queue = new Heap(comesBefore);
    for (const event of kept) this.#queue.push(event);
  }

  /** Part of the trace, which is the same each time for the same seed. */
  trace(what: string, bytes?: Uint8Array): void {
    this.traced += 1;
    this.#hash.update(`${this.now} ${what}\n`);
    if (bytes !== undefined) this.#hash.update(bytes);
  }

  /** Part of the trace, and of the timeline of a failure. */
  note(where: string, what: string): void {
    this.trace(`${where}: ${what}`);
    this.tell(where, what);
  }

  /** Part of the timeline alone. */
  tell(where: string, what: string): void {
    this.#timeline.push(
      `${(this.now / 1000).toFixed(3).padStart(9)} s  ${where.padEnd(14)} ${what}`,
    );
  }

  get timeline(): readonly string[] {
    return this.#timeline;
  }

  get hash(): string {
    return this.#hash.copy().digest('hex').slice(0, 16);
  }

  /** Lets so much time pass. */
  async run(ms: number): Promise<void> {
    await settled();
    const until = this.now + ms;
    for (let atOnce = 0; ;) {
      const event = this.#queue.peek();
      if (event === undefined || event.at > until) break;
      this.#queue.pop();
      atOnce = event.at > this.now ? 0 : atOnce + 1;
      if (atOnce > maxEventsAtOnce) throw new Error(`time stands still at ${this.now}`);
      this.now = Math.max(this.now, event.at);
      if (!event.host.take(event)) continue;
      event.host.act(event.run);
      await settled();
      this.afterEach();
    }
    this.now = until;
  }

  /** Lets time pass until something is so, at most so long. */
  async until(isSo: () => boolean, withinMs: number): Promise<boolean> {
    for (let passed = 0; passed < withinMs && !isSo(); passed += 100) await this.run(100);
    return isSo();
  }
}
