/**
 * This process among the replicas of the installation. Each of them writes a sign of life every two
 * seconds and renews its leases with it: names of periodic operations that one replica does at a
 * time. A lease of a replica that died is free after ten seconds.
 *
 * On SQLite there is one process: it holds every lease, and nothing is written.
 */
import type { Logger } from 'pino';
import { sleep, type Clock } from '@monitor/shared/clock.ts';
import type { DatabaseClock } from '../core/database-clock.ts';
import { LeaseLost } from '../core/timers.ts';
import { engineOf } from '../db/engine.ts';
import { lockKeys, lockRows } from '../db/lock.ts';
import type { Db, RowOf } from '../db/tables.ts';
import { inTransaction } from '../db/unit.ts';
import {
  type Absence,
  aliveWithinMs,
  type Doubt,
  judgeDoubt,
  type SignOfLife,
  type Outage,
  outageOf,
} from './decide/absence.ts';

const beatEveryMs = 2_000;
const leaseMs = 10_000;
/** A holder gives up this long before others may take the lease. */
const leaseMarginMs = 1_000;
const outagesKeptMs = 3_600_000;
const rowsKeptMs = 86_400_000;
const endWithinMs = 3_000;
/** The lock under which one replica decides whether any was there. */
export const absenceLock = 'replicas';

type Row = RowOf<'replicas'>;

/** What the module above does with signs of life. */
export interface BeatConsumer {
  /** Before each sign of life: doubts it when this process stood still. */
  noticePause: () => void;
  /** Shortest absence of a replica without others that counts. */
  minAbsenceMs: number;
  /** The last sign of life before there were replicas; null without one. */
  aliveBefore: (db: Db) => Promise<number | null>;
  /** In the transaction that ends a time without any replica. */
  onAbsence: (db: Db, absence: Absence) => Promise<void>;
  /** After each sign of life. */
  onBeat: () => Promise<void>;
}

interface ReplicasParts {
  db: Db;
  clock: Clock;
  id: string;
  version: string;
  url: string;
  logger: Logger;
  /** Absent when the time is not the database's. */
  databaseClock?: Pick<DatabaseClock, 'measure' | 'offsetMs'>;
}

function signOf({ alive_at: aliveAt, stopped_at: stoppedAt }: Row): SignOfLife {
  return { aliveAt, isStopped: stoppedAt !== null };
}

/** Ids of the replicas that are alive, for a condition of another query. */
export const aliveReplicas = (db: Db, now: number) =>
  db
    .selectFrom('replicas')
    .select('id')
    .where('stopped_at', 'is', null)
    .where('alive_at', '>', now - aliveWithinMs);

export class Replicas implements AsyncDisposable {
  readonly id: string;
  /** True on SQLite. */
  readonly isAlone: boolean;
  readonly #parts: ReplicasParts;
  #consumer: BeatConsumer | null = null;
  /** All rows, with that of this replica. */
  #rows: readonly Row[] = [];
  #names: readonly string[] = [];
  /** Held leases, by name; `until` on the monotonic clock. */
  readonly #held = new Map<string, { token: number; until: number }>();
  /** Times in which requests to some replica may have been lost. */
  #outages: Outage[] = [];
  #doubt: Doubt | null = { since: null, cause: 'down' };
  #isStarted = false;
  #isColdStart = true;
  #isFailing = false;
  #beating: Promise<void> | null = null;
  #beganAt = Number.NEGATIVE_INFINITY;
  #answeredAt = Number.NEGATIVE_INFINITY;
  #isStopped = false;
  #cancelTimer: () => void = () => {};

  constructor(parts: ReplicasParts) {
    this.#parts = parts;
    this.id = parts.id;
    this.isAlone = engineOf(parts.db) === 'sqlite';
  }

  /** Gives the first sign of life and the following ones. Throws when the database refuses the first. */
  async start(consumer: BeatConsumer): Promise<void> {
    this.#consumer = consumer;
    if (this.isAlone) return;
    await this.beat();
    if (this.#doubt !== null) throw new Error('the first sign of life could not be written');
  }

  /** True when no other replica was alive when this one started. */
  get isColdStart(): boolean {
    return this.#isColdStart;
  }

  /** When the database took the last sign of life, on the monotonic clock. */
  get answeredAt(): number {
    return this.#answeredAt;
  }

  /** Number of replicas that are alive, this one included. */
  aliveCount(): number {
    if (this.isAlone) return 1;
    const since = this.#parts.clock.now() - aliveWithinMs;
    return (
      1 + this.#others().filter((row) => row.stopped_at === null && row.alive_at > since).length
    );
  }

  /** The part of a bound that this replica may use: all replicas together stay within it. */
  share(bound: number): number {
    return Math.max(1, Math.floor(bound / this.aliveCount()));
  }

  /** How much of a rate limit applies here, in (0, 1]; balancers do not distribute evenly. */
  shareOfLimit(): number {
    return Math.max(1 / 4, 1 / this.aliveCount());
  }

  #others(): readonly Row[] {
    return this.#rows.filter(({ id }) => id !== this.id);
  }

  /** Times within the last hour in which a replica did not answer, for pings that it may have lost. */
  outages(): readonly Outage[] {
    const now = this.#parts.clock.now();
    const present = this.#others().flatMap((row) => outageOf(signOf(row), now) ?? []);
    return [...this.#outages, ...present].filter(({ to }) => to > now - outagesKeptMs);
  }

  /**
   * This replica could not receive since an instant. The next sign of life finds out whether others
   * could; until then nothing may be concluded from missing data.
   */
  doubt(since: number, cause: Doubt['cause']): void {
    // Another object: a sign of life that is being written does not settle it.
    this.#doubt = { since, cause, ...this.#doubt };
  }

  get isInDoubt(): boolean {
    return !this.isAlone && this.#doubt !== null;
  }

  /** Names of operations that this replica does when it gets their lease. */
  async want(names: readonly string[]): Promise<void> {
    this.#names = names.toSorted();
    if (this.isAlone || names.length === 0) return;
    await this.#parts.db
      .insertInto('leases')
      .values(this.#names.map((name) => ({ name, holder: null, until: 0, token: 0 })))
      .onConflict((conflict) => conflict.column('name').doNothing())
      .execute();
    await this.beat();
  }

  /** True while this replica holds the lease. */
  holds(name: string): boolean {
    if (this.isAlone) return true;
    return (this.#held.get(name)?.until ?? 0) > this.#parts.clock.monotonic();
  }

  /** The same, after trying to take a lease that was not held a moment ago. */
  async tryHold(name: string): Promise<boolean> {
    const { clock } = this.#parts;
    if (!this.holds(name) && clock.monotonic() - this.#beganAt >= beatEveryMs) await this.beat();
    return this.holds(name);
  }

  /**
   * Keeps the lease from others until the transaction ends.
   * @throws LeaseLost when another replica has it, so that the transaction is rolled back.
   */
  async keep(db: Db, name: string): Promise<void> {
    if (this.isAlone) return;
    const row = await lockRows(
      db.selectFrom('leases').select(['holder', 'token']).where('name', '=', name),
    ).executeTakeFirst();
    const isMine = row?.holder === this.id && row.token === this.#held.get(name)?.token;
    if (!isMine) throw new LeaseLost(name);
  }

  /** Gives a sign of life now; a failure is logged, and is a doubt until the next one. */
  async beat(): Promise<void> {
    if (this.isAlone || this.#isStopped) return;
    this.#beating ??= this.#beat().finally(() => {
      this.#beating = null;
    });
    await this.#beating;
  }

  async #beat(): Promise<void> {
    const { clock, logger, databaseClock } = this.#parts;
    this.#cancelTimer();
    const begunAt = clock.now();
    this.#beganAt = clock.monotonic();
    try {
      // After a pause its timer may be the first that fires.
      this.#consumer?.noticePause();
      const doubt = this.#doubt;
      // After a failover, or a suspension of the machine.
      if (doubt !== null) await databaseClock?.measure();
      const settledAt = await this.#write(doubt);
      if (this.#doubt === doubt) this.#doubt = null;
      else if (this.#doubt !== null) this.#doubt = { ...this.#doubt, since: settledAt };
      await this.#consumer?.onBeat();
      if (this.#isFailing) logger.info('signs of life are written again');
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isStarted) throw error;
      this.doubt(begunAt, 'database-away');
      if (!this.#isFailing) logger.warn({ err: error }, 'a sign of life could not be written');
      this.#isFailing = true;
    }
    this.#cancelTimer = clock.after(beatEveryMs, () => void this.beat());
  }

  /** Gives the instant of the sign of life. */
  async #write(doubt: Doubt | null): Promise<number> {
    const { db, clock } = this.#parts;
    const until = clock.monotonic() + leaseMs - leaseMarginMs;
    // A pause from here on is none in which this replica was alive.
    const at = Math.round(clock.now());
    const { rows, renewed, verdict } = await inTransaction(db, async (unit) => {
      const settled = doubt === null ? null : await this.#settle(unit, doubt, at);
      await this.#sign(unit, at);
      return {
        verdict: settled,
        renewed: await this.#renew(unit, at),
        rows: await unit.selectFrom('replicas').selectAll().execute(),
      };
    });
    this.#answeredAt = clock.monotonic();
    if (!this.#isStarted && verdict !== null) this.#isColdStart = verdict.isColdStart;
    this.#isStarted = true;
    for (const { name, token } of renewed) this.#held.set(name, { token, until });
    this.#noteOutages(rows);
    this.#rows = rows;
    return at;
  }

  /** One replica after the other decides whether anybody was there. */
  async #settle(unit: Db, doubt: Doubt, now: number) {
    const consumer = this.#consumer;
    if (consumer === null) return null;
    await lockKeys(unit, [absenceLock]);
    const others = await unit
      .selectFrom('replicas')
      .selectAll()
      .where('id', '!=', this.id)
      .execute();
    const signs = others.map(signOf);
    const before = doubt.since === null ? await consumer.aliveBefore(unit) : null;
    if (before !== null) signs.push({ aliveAt: before, isStopped: true });
    const verdict = judgeDoubt(doubt, signs, now, consumer.minAbsenceMs);
    if (verdict.absence !== null) await consumer.onAbsence(unit, verdict.absence);
    await unit
      .deleteFrom('replicas')
      .where('alive_at', '<', now - rowsKeptMs)
      .where('id', '!=', this.id)
      .execute();
    return verdict;
  }

  async #sign(unit: Db, now: number): Promise<void> {
    const { version, url, databaseClock } = this.#parts;
    const present = {
      alive_at: now,
      clock_offset_ms: Math.round(databaseClock?.offsetMs ?? 0),
    };
    await unit
      .insertInto('replicas')
      .values({ id: this.id, started_at: now, stopped_at: null, version, url, ...present })
      .onConflict((conflict) => conflict.column('id').doUpdateSet(present))
      .execute();
  }

  /** Renews the leases of this replica and takes those that are free. */
  async #renew(unit: Db, now: number): Promise<{ name: string; token: number }[]> {
    if (this.#names.length === 0) return [];
    return unit
      .updateTable('leases')
      .set((set) => ({
        until: now + leaseMs,
        token: set
          .case()
          .when('holder', '=', this.id)
          .then(set.ref('token'))
          .else(set('token', '+', 1))
          .end(),
        holder: this.id,
      }))
      .where('name', 'in', (from) =>
        // An operation that keeps its lease must not hold up signs of life.
        lockRows(
          from
            .selectFrom('leases')
            .select('name')
            .where('name', 'in', this.#names)
            .where((where) => where.or([where('holder', '=', this.id), where('until', '<=', now)]))
            .orderBy('name'),
          { skipLocked: true },
        ),
      )
      .returning(['name', 'token'])
      .execute();
  }

  #noteOutages(rows: readonly Row[]): void {
    const now = this.#parts.clock.now();
    const before = new Map(this.#rows.map((row) => [row.id, row]));
    this.#outages = this.#outages.filter(({ to }) => to > now - outagesKeptMs);
    for (const row of rows) {
      const last = before.get(row.id);
      const outage = last === undefined ? null : outageOf(signOf(last), row.alive_at);
      if (outage !== null) this.#outages.push(outage);
    }
  }

  /** Gives its leases to others, and says that it ended in order. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.isAlone || this.#isStopped) return;
    this.#isStopped = true;
    const ended = new AbortController();
    const all = this.#end().finally(() => {
      ended.abort();
    });
    // Without a database, others notice the end by themselves.
    await Promise.race([all, sleep(this.#parts.clock, endWithinMs, ended.signal)]);
    this.#cancelTimer();
  }

  async #end(): Promise<void> {
    await this.#beating;
    this.#cancelTimer();
    const { db, clock, logger } = this.#parts;
    const now = Math.round(clock.now());
    try {
      await inTransaction(db, async (unit) => {
        await unit
          .updateTable('replicas')
          .set({ alive_at: now, stopped_at: now })
          .where('id', '=', this.id)
          .execute();
        await unit
          .updateTable('leases')
          .set({ until: now })
          .where('holder', '=', this.id)
          .execute();
      });
    } catch (error) {
      logger.warn({ err: error }, 'the end of this replica could not be recorded');
    }
  }
}
