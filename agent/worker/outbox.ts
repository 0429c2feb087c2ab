/**
 * Undelivered data on disk. A record is durable when `put` resolves; records that arrive within a
 * moment share one commit, which also deletes what was delivered before it. Where the disk takes
 * nothing, records stay in memory, are sent from there, and are written when it does. The newest are
 * sent from memory, and read back after a restart or an outage only. The outbox also stores what a
 * restart needs: the id of this agent, the last finished slot and certificate of each check, and runs
 * between two attempts.
 *
 * Limited by bytes and age. When it is full, ATTEMPTs are dropped first; then results lose their
 * details, oldest first, and only their tombstones stay; tombstones are dropped last. Every loss is
 * counted and reported, and nothing here fails a run.
 */
import { randomUUID } from 'node:crypto';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Clock } from '@monitor/shared/clock.ts';
import type { Submission } from '@monitor/shared/contract/agent-protocol.ts';
import type { Logger } from 'pino';
import { Damages } from '../damage.ts';
import { FailureLog } from './failure-log.ts';
import { FinishedSlots, type Slot } from './finished-slots.ts';
import {
  batchOf,
  keptBytes,
  type NewRecord,
  NewestRecords,
  type StoredRecord,
} from './newest-records.ts';
import { isDamage, OutboxFile, problemIn } from './outbox-file.ts';
import { checksumOf, isWholePayload, runIdOfRecord, slotIn } from './outbox-salvage.ts';
import { tombstoneOf } from './tombstone.ts';
import { wireTextOf } from './wire-text.ts';

/** `is_attempt` of a record; the highest are dropped first. */
const kinds = { attempt: 1, result: 0, tombstone: -1 } as const;

const sizes = `coalesce(sum(iif(is_attempt >= 0, size_bytes, 0)), 0) as bytes,
  coalesce(sum(iif(is_attempt < 0, size_bytes, 0)), 0) as tombstoneBytes`;

/** Bytes that count for the limit. */
const roomOf = (bytes: number, tombstoneBytes: number): number =>
  bytes + Math.max(0, tombstoneBytes - tombstoneReserveBytes);

/** A run between two attempts, complete enough to continue after a restart. */
export interface PendingRetry {
  runId: string;
  dueAt: number;
  /** JSON of what the worker needs; opaque here. */
  payload: string;
}

/** Time of the last certificate of a check; `target` is opaque here. */
export interface SeenCertificate {
  checkId: string;
  target: string;
  measuredAt: number;
}

/** The content of one commit. */
export interface OutboxEntry {
  submission: Submission;
  /**
   * What is stored in the place of the submission. It must not throw. Results that are committed together
   * are encrypted together: one alone costs many times as much, since its code has left the caches.
   */
  encrypt?: () => Submission;
  /** Set when the submission ends the run of this slot. */
  finishedSlot?: Slot;
  /** The run goes on with another attempt. */
  pendingRetry?: PendingRetry;
  /** The run of this submission, which no longer waits. */
  endsRetryOf?: string;
  /** Set when the submission is about a certificate. */
  seenCertificate?: SeenCertificate;
}

export interface OutboxState {
  depth: number;
  bytes: number;
  oldestAt: number | null;
  droppedTotal: number;
  /** Those that the control plane refused, and when it refused one last. */
  setAsideTotal: number;
  setAsideAt: number | null;
}

interface Sums {
  depth: number;
  bytes: number;
  tombstoneBytes: number;
}

interface Waiting {
  entry: OutboxEntry;
  resolve: () => void;
}

/** What the disk has not taken. */
interface Unwritten {
  entry: OutboxEntry;
  record: NewRecord;
}

export interface OutboxOptions {
  directory: string;
  maxBytes: number;
  maxAgeMs: number;
  clock: Clock;
  logger: Logger;
  /** The previous agent was killed instead of stopped: the file is checked before it is used. */
  hasEndedUncleanly?: boolean;
  damages?: Damages;
}

/** A commit waits so long for what ends together. */
const commitWithinMs = 10;
/** Time between two commits, for all results that end meanwhile: each one is a sync of the disk. */
const commitEveryMs = 200;
/** What was delivered is deleted with the next commit, and after this time without one. */
const deleteWithinMs = 5_000;
const maxDelivered = 1_000;
const deadLettersKept = 1_000;
const inspectedWholeBytes = 4_000_000;
const inspectedRecords = 200;
const complainEveryMs = 60_000;
/** The disk is tried again with the next commit, and after this time without one. */
const writeAgainMs = 5_000;
/** Pages of dropped records are rarely filled by new ones. */
const roomFactor = 4;
/** Larger steps would block the runs of this agent. */
const maxStepBytes = 2_000_000;
/** Room for tombstones besides OUTBOX_MAX_BYTES: for some 8,000 runs. */
const tombstoneReserveBytes = 4_000_000;
/** A tombstone is small: it may wait this many times longer than a result. */
const tombstoneAgeFactor = 7;
const agedAtOnce = 1_000;

const sizeOf = (submission: Submission): number => wireTextOf(submission).length;

const isUuid = (text: string): boolean => /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text);

function kindOf(submission: Submission): number {
  if (submission.kind === 'missed') return kinds.tombstone;
  if (submission.kind === 'certificate') return kinds.result;
  if (submission.isPayloadDropped === true) return kinds.tombstone;
  return submission.resultType === 'ATTEMPT' ? kinds.attempt : kinds.result;
}

/** Null for a payload that needs no tombstone, and for an unreadable one. */
function tombstoneIn(payload: string): string | null {
  try {
    return tombstoneOf(JSON.parse(payload) as Submission);
  } catch {
    return null;
  }
}

function withoutPayload(entry: OutboxEntry): OutboxEntry {
  const tombstone = tombstoneOf(entry.submission);
  return tombstone === null ? entry : { ...entry, submission: JSON.parse(tombstone) as Submission };
}

function encrypted(entry: OutboxEntry): OutboxEntry {
  const { encrypt, ...rest } = entry;
  return encrypt === undefined ? entry : { ...rest, submission: encrypt() };
}

function recordOf({ submission }: OutboxEntry, seq: number, createdAt: number): NewRecord {
  const payload = wireTextOf(submission);
  const isTombstone = kindOf(submission) === kinds.tombstone;
  return { seq, payload, sizeBytes: payload.length, createdAt, isTombstone };
}

function isWhole(row: Record<string, unknown>): boolean {
  const checksum = row['checksum'] === null ? null : Number(row['checksum']);
  return checksum === null || isWholePayload(String(row['payload']), checksum);
}

function sumsIn(row: Record<string, unknown> | undefined): Sums {
  const of = (name: keyof Sums): number => Number(row?.[name] ?? 0);
  return { depth: of('depth'), bytes: of('bytes'), tombstoneBytes: of('tombstoneBytes') };
}

function toStored(row: Record<string, unknown>): StoredRecord {
  return {
    seq: Number(row['seq']),
    payload: String(row['payload']),
    sizeBytes: Number(row['size_bytes']),
    createdAt: Number(row['created_at']),
  };
}

export class Outbox implements AsyncDisposable {
  /** Stays the same over restarts with the same data directory. */
  readonly agentId: string;

  readonly #file: OutboxFile;
  readonly #damages: Damages;
  readonly #options: OutboxOptions;
  #insert!: StatementSync;
  #addRetry!: StatementSync;
  #endRetry!: StatementSync;
  #see!: StatementSync;
  #select!: StatementSync;
  #deleteMany!: StatementSync;
  #sumMany!: StatementSync;
  #reduce!: StatementSync;
  #attemptsOfRun!: StatementSync;
  #anyAttempt!: StatementSync;
  #attempts!: StatementSync;
  #results!: StatementSync;
  #tombstones!: StatementSync;
  #aged!: StatementSync;
  #slots!: FinishedSlots;
  readonly #listeners = new Set<() => void>();
  #waiting: Waiting[] = [];
  #cancelCommit: (() => void) | null = null;
  #committedAt = Number.NEGATIVE_INFINITY;
  #newest!: NewestRecords;
  /**
   * By the numbers of their records, which are the highest. What is delivered from memory is forgotten with
   * all that belongs to it: after a restart such a run may be made again, and is a duplicate.
   */
  readonly #unwritten = new Map<number, Unwritten>();
  #unwrittenSaidAt = Number.NEGATIVE_INFINITY;
  /** Of whole records. */
  #bytes = 0;
  #tombstoneBytes = 0;
  #depth = 0;
  #dropped = 0;
  #droppedUnsaved = 0;
  #complainedAt = Number.NEGATIVE_INFINITY;
  #forgottenUnsaid = 0;
  #forgottenSaidAt = Number.NEGATIVE_INFINITY;
  readonly #upkeep: FailureLog;
  #isClosed = false;
  #newestSeq = 0;
  /** No record up to here has a payload to drop; 0 when unknown. */
  #tombstonesUpTo = 0;
  /** Delivered records that are still on disk. They do not count, and are not given again. */
  readonly #delivered = new Set<number>();
  /** The newest records that the control plane has stored, in memory only. */
  readonly #handedIn = new NewestRecords(0);
  #handedInAgain = Number.NEGATIVE_INFINITY;
  #cancelDelete: (() => void) | null = null;

  constructor(options: OutboxOptions) {
    this.#options = options;
    const { directory, maxBytes, hasEndedUncleanly = false, clock, logger } = options;
    this.#upkeep = new FailureLog(clock);
    const now = () => clock.now();
    const damages = options.damages ?? new Damages(now, logger);
    this.#damages = damages;
    this.#file = new OutboxFile({ directory, maxBytes, hasEndedUncleanly, damages, now });
    this.#heal(() => {
      this.#prepare();
    });
    const known = this.#fact('agentId');
    this.agentId =
      known !== undefined && isUuid(known) ? known : this.#setFact('agentId', randomUUID());
  }

  get #db(): DatabaseSync {
    return this.#file.db;
  }

  /** Runs the work; if the file is damaged, it is replaced and the work runs again. */
  #heal<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.#replace(String(error instanceof Error ? error.message : error));
      return work();
    }
  }

  #replace(found: string): void {
    this.#file.replace(found);
    this.#prepare();
  }

  /** Prepares the statements for the present file. */
  #prepare(): void {
    this.#insert = this.#db.prepare(
      'insert into records (seq, id, is_attempt, created_at, size_bytes, payload, checksum) values (?, ?, ?, ?, ?, ?, ?)',
    );
    this.#slots = new FinishedSlots(this.#db);
    this.#addRetry = this.#db.prepare(
      'insert or replace into pending_retries (run_id, due_at, payload) values (?, ?, ?)',
    );
    this.#endRetry = this.#db.prepare('delete from pending_retries where run_id = ?');
    this.#see = this.#db.prepare(
      'insert or replace into seen_certificates (check_id, target, measured_at) values (?, ?, ?)',
    );
    this.#select = this.#db.prepare(
      `select seq, payload, size_bytes, created_at, checksum from records
       where seq > ? and seq <= ? order by seq limit ?`,
    );
    this.#sumMany = this.#db.prepare(
      `select ${sizes}, count(*) as depth from records
       where seq in (select value from json_each(?))`,
    );
    this.#deleteMany = this.#db.prepare(
      'delete from records where seq in (select value from json_each(?))',
    );
    this.#reduce = this.#db.prepare(
      'update records set payload = ?, size_bytes = ?, is_attempt = ?, checksum = ? where seq = ?',
    );
    this.#anyAttempt = this.#db.prepare('select 1 from records where is_attempt = 1 limit 1');
    this.#attempts = this.#db.prepare(
      'select seq, payload from records where is_attempt = 1 order by seq',
    );
    this.#results = this.#db.prepare(
      'select seq, payload from records where is_attempt = 0 and seq > ? order by seq',
    );
    this.#tombstones = this.#db.prepare(
      'select seq, size_bytes from records where is_attempt = -1 order by seq',
    );
    this.#aged = this.#db.prepare(
      `select seq, payload from records where is_attempt >= 0 and created_at < ?
       order by seq limit ${agedAtOnce}`,
    );
    this.#attemptsOfRun = this.#db.prepare(
      `select seq, payload, size_bytes, created_at, checksum from records
       where is_attempt = 1 and ${runIdOfRecord} = ? and seq < ? order by seq`,
    );
    this.#dropped = Math.max(this.#dropped, Number(this.#fact('droppedTotal') ?? 0) || 0);
    const all = sumsIn(this.#db.prepare(`select count(*) as depth, ${sizes} from records`).get());
    const delivered = sumsIn(this.#sumMany.get(JSON.stringify([...this.#delivered])));
    this.#depth = all.depth - delivered.depth;
    this.#bytes = all.bytes - delivered.bytes;
    this.#tombstoneBytes = all.tombstoneBytes - delivered.tombstoneBytes;
    this.#count([...this.#unwritten.values()].map(({ record }) => record));
    const newest = this.#db.prepare("select seq from sqlite_sequence where name = 'records'").get();
    this.#newestSeq = Math.max(this.#newestSeq, Number(newest?.['seq'] ?? 0));
    this.#readFromDisk();
  }

  /** What is on disk is not what is in memory, but for what is only there. */
  #readFromDisk(): void {
    const [first = this.#newestSeq + 1] = this.#unwritten.keys();
    this.#newest = new NewestRecords(first - 1);
    this.#newest.add([...this.#unwritten.values()].map(({ record }) => record));
  }

  /**
   * Searches for damage: the structure of the file while it is small, then some records. Gives the
   * number to continue after.
   */
  inspect(after: number): number {
    if (this.#bytes <= inspectedWholeBytes) {
      const found = problemIn(this.#db);
      if (found !== null) this.#replace(found);
    }
    const looked = this.#takeStored(
      ...([after, this.#newestSeq, inspectedRecords, inspectedWholeBytes] as const),
    );
    return looked.at(-1)?.seq ?? 0;
  }

  #fact(name: string): string | undefined {
    const row = this.#db.prepare('select value from facts where name = ?').get(name);
    return row === undefined ? undefined : String(row['value']);
  }

  #setFact(name: string, value: string): string {
    this.#db.prepare('insert or replace into facts (name, value) values (?, ?)').run(name, value);
    return value;
  }

  /** Calls back after every commit that added records; gives a function that ends it. */
  onAdded(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Stores an entry; resolves when it is durable, kept in memory for want of a disk, or counted as dropped. */
  put(entry: OutboxEntry): Promise<void> {
    const { clock } = this.#options;
    return new Promise((resolve) => {
      this.#waiting.push({ entry, resolve });
      const dueMs = this.#committedAt + commitEveryMs - clock.monotonic();
      this.#cancelCommit ??= clock.after(Math.max(commitWithinMs, dueMs), () => {
        this.commit();
      });
    });
  }

  /** Commits waiting entries at once. */
  commit(): void {
    this.#cancelCommit?.();
    this.#cancelCommit = null;
    if (this.#waiting.length + this.#unwritten.size === 0 || this.#isClosed) return;
    const waiting = this.#waiting;
    const batch = waiting.map(({ entry }) => encrypted(entry));
    this.#waiting = [];
    this.#committedAt = this.#options.clock.monotonic();
    try {
      this.#heal(() => {
        this.#write(batch, [...this.#delivered]);
      });
    } catch (error) {
      if (!this.#writeInRoomMade(batch)) this.#keepInMemory(batch, error);
    }
    this.#keepWithinBounds();
    this.#foldSlots();
    if (this.#delivered.size > 0) this.#deleteSoon();
    for (const { resolve } of waiting) resolve();
    for (const listener of this.#listeners) listener();
  }

  /**
   * On a full disk: checkpoints the log, which may be all the space it takes; then drops as many details
   * as the batch needs and reuses those pages; then drops the details of the batch. Each step may fail
   * on a full disk. No verdict goes for another: there is room in memory.
   */
  #writeInRoomMade(batch: readonly OutboxEntry[]): boolean {
    const bytes = batch.reduce((sum, { submission }) => sum + sizeOf(submission), 0);
    const steps = [
      () => {
        this.#db.exec('pragma wal_checkpoint(truncate)');
        this.#write(batch);
      },
      () => {
        this.#dropDetails(Math.max(0, this.#room - roomFactor * bytes));
        this.#write(batch);
      },
      () => {
        this.#write(batch.map(withoutPayload));
        this.#countDropped(batch.length, 'the disk is full');
      },
    ];
    for (const step of steps) {
      try {
        step();
        return true;
      } catch {
        // The next step follows, or none: the caller keeps the batch in memory.
      }
    }
    return false;
  }

  /** The details go where there is no room for them, and then the verdicts. */
  #keepInMemory(batch: readonly OutboxEntry[], error: unknown): void {
    const { clock, logger } = this.#options;
    let bytes = 0;
    for (const { record } of this.#unwritten.values()) bytes += record.sizeBytes;
    const added: NewRecord[] = [];
    let cut = 0;
    for (const whole of batch) {
      const fits = bytes + sizeOf(whole.submission) <= keptBytes;
      const entry = fits ? whole : withoutPayload(whole);
      if (!fits) cut += 1;
      const record = recordOf(entry, this.#newestSeq + 1, clock.now());
      if (bytes + record.sizeBytes > keptBytes) continue;
      bytes += record.sizeBytes;
      this.#newestSeq = record.seq;
      this.#unwritten.set(record.seq, { entry, record });
      added.push(record);
    }
    this.#countAdded(added);
    this.#countDropped(cut, error);
    const now = clock.monotonic();
    if (this.#unwritten.size > 0)
      this.#cancelCommit ??= clock.after(writeAgainMs, () => {
        this.commit();
      });
    if (now - this.#unwrittenSaidAt < complainEveryMs) return;
    this.#unwrittenSaidAt = now;
    logger.error(
      { err: error, waiting: this.#unwritten.size },
      'results cannot be written to AGENT_DATA_DIR: they are sent from memory, and lost if the agent ends before',
    );
  }

  #countAdded(added: readonly NewRecord[]): void {
    this.#newest.add(added);
    this.#newestSeq = added.at(-1)?.seq ?? this.#newestSeq;
    this.#count(added);
    this.#file.mark(this.#newestSeq, this.#depth);
  }

  #count(records: readonly NewRecord[]): void {
    for (const { sizeBytes, isTombstone } of records) {
      if (isTombstone) this.#tombstoneBytes += sizeBytes;
      else this.#bytes += sizeBytes;
    }
    this.#depth += records.length;
  }

  #write(batch: readonly OutboxEntry[], delivered: readonly number[] = []): void {
    const now = this.#options.clock.now();
    const added = batch.map((entry, index) => ({
      ...{ entry, record: recordOf(entry, this.#newestSeq + 1 + index, now) },
    }));
    const finished: Slot[] = [];
    this.#db.exec('begin immediate');
    try {
      for (const { entry, record } of [...this.#unwritten.values(), ...added]) {
        const { submission, finishedSlot, pendingRetry, endsRetryOf, seenCertificate } = entry;
        const { seq, createdAt, sizeBytes, payload } = record;
        this.#insert.run(
          ...([seq, submission.id, kindOf(submission), createdAt, sizeBytes] as const),
          ...([payload, checksumOf(payload)] as const),
        );
        if (finishedSlot) finished.push(finishedSlot);
        if (endsRetryOf !== undefined) this.#endRetry.run(endsRetryOf);
        if (pendingRetry) {
          this.#addRetry.run(pendingRetry.runId, pendingRetry.dueAt, pendingRetry.payload);
        }
        if (seenCertificate) {
          const { checkId, target, measuredAt } = seenCertificate;
          this.#see.run(checkId, target, measuredAt);
        }
      }
      this.#slots.add(finished);
      if (delivered.length > 0) this.#deleteMany.run(JSON.stringify(delivered));
      this.#db.exec('commit');
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('rollback');
      throw error;
    }
    this.#upkeep.ended();
    for (const seq of delivered) this.#delivered.delete(seq);
    this.#unwritten.clear();
    this.#slots.added(finished);
    this.#countAdded(added.map(({ record }) => record));
  }

  /** Upkeep is tried again every few seconds: a full disk would fill the log as well. */
  #warn(error: unknown, message: string): void {
    const said = this.#upkeep.failed(error instanceof Error ? error.message : String(error));
    if (said !== null) this.#options.logger.warn({ err: error, ...said }, message);
  }

  #foldSlots(from?: number): void {
    try {
      this.#heal(() => {
        this.#slots.fold(from);
      });
    } catch (error) {
      this.#warn(error, 'finished slots are folded later');
    }
  }

  get #room(): number {
    return roomOf(this.#bytes, this.#tombstoneBytes);
  }

  #keepWithinBounds(): void {
    const { maxBytes } = this.#options;
    if (this.#room <= maxBytes) return;
    try {
      this.#heal(() => {
        const target = Math.max(maxBytes * 0.95, maxBytes - maxStepBytes);
        this.#dropDetails(target);
        this.#dropVerdicts(target);
      });
    } catch (error) {
      this.#warn(error, 'the outbox is full and the disk as well: it stays too large');
    }
  }

  /** Drops ATTEMPTs, then payloads of results, until at most `target` bytes are left. */
  #dropDetails(target: number): void {
    this.#readFromDisk();
    const attempts = this.#reduceUntil(target, this.#attempts.iterate());
    const results = this.#reduceUntil(target, this.#results.iterate(this.#tombstonesUpTo));
    this.#tombstonesUpTo = results.at(-1) ?? this.#tombstonesUpTo;
    this.#countDropped(attempts.length + results.length, 'the outbox is full');
  }

  #dropVerdicts(target: number): void {
    if (this.#room <= target) return;
    let bytes = this.#tombstoneBytes;
    const gone: number[] = [];
    for (const row of this.#tombstones.iterate()) {
      if (roomOf(this.#bytes, bytes) <= target) break;
      if (this.#delivered.has(Number(row['seq']))) continue;
      bytes -= Number(row['size_bytes']);
      gone.push(Number(row['seq']));
    }
    this.#drop(gone);
    this.#countForgotten(gone.length);
  }

  #countForgotten(count: number): void {
    this.#forgottenUnsaid += count;
    const now = this.#options.clock.monotonic();
    if (this.#forgottenUnsaid === 0 || now - this.#forgottenSaidAt < complainEveryMs) return;
    this.#forgottenSaidAt = now;
    this.#options.logger.error(
      { forgotten: this.#forgottenUnsaid },
      'the outbox is full of verdicts: the oldest are lost as well, their slots will count as not run',
    );
    this.#forgottenUnsaid = 0;
  }

  /**
   * Replaces records with tombstones, or deletes those without one, until at most `target` bytes
   * are left. Gives the numbers of the changed records.
   */
  #reduceUntil(target: number, records: Iterable<Record<string, unknown>>): number[] {
    const gone: number[] = [];
    const reduced: { seq: number; text: string; before: number }[] = [];
    let bytes = this.#bytes;
    let tombstoneBytes = this.#tombstoneBytes;
    for (const row of records) {
      if (roomOf(bytes, tombstoneBytes) <= target) break;
      const seq = Number(row['seq']);
      if (this.#delivered.has(seq)) continue;
      const payload = String(row['payload']);
      const tombstone = tombstoneIn(payload);
      bytes -= payload.length;
      tombstoneBytes += tombstone?.length ?? 0;
      if (tombstone === null) gone.push(seq);
      else reduced.push({ seq, text: tombstone, before: payload.length });
    }
    if (reduced.length > 0) {
      this.#db.exec('begin immediate');
      try {
        for (const { seq, text } of reduced) {
          this.#reduce.run(text, text.length, kinds.tombstone, checksumOf(text), seq);
        }
        this.#db.exec('commit');
      } catch (error) {
        if (this.#db.isTransaction) this.#db.exec('rollback');
        throw error;
      }
      for (const { text, before } of reduced) {
        this.#bytes -= before;
        this.#tombstoneBytes += text.length;
      }
    }
    this.#drop(gone);
    return [...gone, ...reduced.map(({ seq }) => seq)].sort((left, right) => left - right);
  }

  #countDropped(count: number, reason: unknown): void {
    if (count === 0) return;
    this.#dropped += count;
    this.#droppedUnsaved += count;
    const now = this.#options.clock.monotonic();
    if (now - this.#complainedAt < complainEveryMs) return;
    this.#complainedAt = now;
    this.#options.logger.error(
      { dropped: this.#droppedUnsaved, droppedTotal: this.#dropped, reason: String(reason) },
      'results dropped',
    );
    this.#droppedUnsaved = 0;
    try {
      this.#setFact('droppedTotal', String(this.#dropped));
    } catch {
      // Nothing can be written now; the count in memory is reported with the next check-in.
    }
  }

  /** Deletes records that were not delivered, and all that were. */
  #drop(seqs: readonly number[]): void {
    if (seqs.length === 0 && this.#delivered.size === 0) return;
    const list = JSON.stringify([...this.#delivered, ...seqs]);
    const sums = sumsIn(this.#sumMany.get(JSON.stringify(seqs)));
    this.#deleteMany.run(list);
    this.#discount(sums);
    this.#delivered.clear();
    this.#file.mark(this.#newestSeq, this.#depth);
  }

  #discount({ bytes, tombstoneBytes, depth }: Sums): void {
    this.#bytes -= bytes;
    this.#tombstoneBytes -= tombstoneBytes;
    this.#depth -= depth;
  }

  /** These records are done with: they are neither given again nor dropped, and deleted later. */
  #settle(seqs: readonly number[]): void {
    const unknown: number[] = [];
    const hadUnwritten = this.#unwritten.size > 0;
    for (const seq of seqs) {
      if (this.#delivered.has(seq)) continue;
      const record = this.#newest.remove(seq);
      if (record === undefined) {
        unknown.push(seq);
        continue;
      }
      if (!this.#unwritten.delete(seq)) this.#delivered.add(seq);
      const { sizeBytes, isTombstone } = record;
      const [bytes, tombstoneBytes] = isTombstone ? [0, sizeBytes] : [sizeBytes, 0];
      this.#discount({ bytes, tombstoneBytes, depth: 1 });
    }
    if (unknown.length > 0) this.#settleStored(unknown);
    // Nothing on disk says that what was only here is done with.
    if (hadUnwritten) this.#file.mark(this.#newestSeq, this.#depth);
    if (this.#delivered.size >= maxDelivered) this.#deleteDelivered();
    else this.#deleteSoon();
  }

  #settleStored(seqs: readonly number[]): void {
    try {
      this.#discount(this.#heal(() => sumsIn(this.#sumMany.get(JSON.stringify(seqs)))));
    } catch (error) {
      this.#warn(error, 'what is done with is counted until the next start');
    }
    for (const seq of seqs) this.#delivered.add(seq);
  }

  #deleteSoon(): void {
    if (this.#delivered.size === 0 || this.#isClosed) return;
    this.#cancelDelete ??= this.#options.clock.after(deleteWithinMs, () => {
      this.#deleteDelivered();
    });
  }

  #deleteDelivered(): void {
    this.#cancelDelete?.();
    this.#cancelDelete = null;
    try {
      this.#heal(() => {
        this.#drop([]);
      });
    } catch (error) {
      this.#warn(error, 'what is done with stays in the outbox for now');
    }
  }

  /** Records with `after < seq <= upTo`, oldest first: at most `limit`, about `maxBytes`. */
  take(after: number, upTo: number, limit: number, maxBytes: number): StoredRecord[] {
    return this.#newest.hasAllAfter(after, this.#depth)
      ? this.#newest.take(after, upTo, limit, maxBytes)
      : this.#takeStored(after, upTo, limit, maxBytes);
  }

  #takeStored(after: number, upTo: number, limit: number, maxBytes: number): StoredRecord[] {
    const damaged: StoredRecord[] = [];
    const taken = this.#heal(() => this.#read(after, upTo, limit, maxBytes, damaged));
    if (damaged.length === 0) return taken;
    this.#damages.note({
      file: 'outbox',
      found: 'records whose content is not what was written',
      aside: null,
      salvaged: this.#depth - damaged.length,
      lost: damaged.length,
      lostSlots: damaged.flatMap(({ payload }) => slotIn(payload) ?? []),
    });
    this.#settle(damaged.map(({ seq }) => seq));
    // There may be undamaged records after the deleted ones.
    return taken.length > 0 ? taken : this.#takeStored(after, upTo, limit, maxBytes);
  }

  #read(
    after: number,
    upTo: number,
    limit: number,
    maxBytes: number,
    damaged: StoredRecord[],
  ): StoredRecord[] {
    damaged.length = 0;
    const rows = this.#select.iterate(after, upTo, limit + this.#delivered.size);
    return batchOf(this.#all(this.#whole(rows, damaged), after, upTo), limit, maxBytes);
  }

  *#all(
    stored: Iterable<StoredRecord>,
    after: number,
    upTo: number,
  ): Generator<StoredRecord, void> {
    yield* stored;
    for (const { record } of this.#unwritten.values())
      if (record.seq > after && record.seq <= upTo) yield record;
  }

  *#whole(
    rows: Iterable<Record<string, unknown>>,
    damaged: StoredRecord[],
  ): Generator<StoredRecord, void> {
    for (const row of rows) {
      if (this.#delivered.has(Number(row['seq']))) continue;
      if (isWhole(row)) yield toStored(row);
      else damaged.push(toStored(row));
    }
  }

  /** True while it holds ATTEMPTs, which must be sent with the FINAL of their run. */
  hasAttempts(): boolean {
    return (
      [...this.#unwritten.values()].some(
        ({ entry }) => kindOf(entry.submission) === kinds.attempt,
      ) || this.#heal(() => this.#anyAttempt.get()) !== undefined
    );
  }

  /** The ATTEMPTs of a run that are older than a record, in order. */
  attemptsBefore(runId: string, seq: number): StoredRecord[] {
    const stored = this.#heal(() => this.#attemptsOfRun.all(runId, seq))
      .filter(isWhole)
      .map(toStored)
      .filter((record) => !this.#delivered.has(record.seq));
    const inMemory = [...this.#unwritten.values()].filter(
      ({ entry: { submission }, record }) =>
        kindOf(submission) === kinds.attempt &&
        submission.kind === 'result' &&
        submission.runId === runId &&
        record.seq < seq,
    );
    return [...stored, ...inMemory.map(({ record }) => record)];
  }

  /** The control plane has stored these records. */
  acknowledge(seqs: readonly number[]): void {
    this.#handedIn.add(seqs.flatMap((seq) => this.#newest.find(seq) ?? []));
    this.#settle(seqs);
  }

  /** The control plane has lost what it had stored until an instant. Once for each loss. */
  handInAgain(lostUntil: number): void {
    if (lostUntil <= this.#handedInAgain) return;
    this.#handedInAgain = lostUntil;
    for (const { payload } of this.#handedIn.take(0, this.#newestSeq, Infinity, Infinity)) {
      void this.put({ submission: JSON.parse(payload) as Submission });
    }
  }

  /** The control plane will never accept this record: it is set aside, so that others are sent. */
  refuse(seq: number, reason: string): void {
    try {
      if (this.#unwritten.has(seq)) throw new Error(`it was not written, and refused: ${reason}`);
      this.#heal(() => {
        this.#keepApart(seq, reason);
      });
    } catch (error) {
      this.#countDropped(1, error);
    }
    this.#settle([seq]);
  }

  #keepApart(seq: number, reason: string): void {
    this.#db
      .prepare(
        'insert into dead_letters (reason, refused_at, payload) select ?, ?, payload from records where seq = ?',
      )
      .run(reason, this.#options.clock.now(), seq);
    this.#db
      .prepare('delete from dead_letters where seq <= (select max(seq) from dead_letters) - ?')
      .run(deadLettersKept);
  }

  deadLetters(): { reason: string; payload: string }[] {
    return this.#db
      .prepare('select reason, payload from dead_letters order by seq')
      .all()
      .map((row) => ({ reason: String(row['reason']), payload: String(row['payload']) }));
  }

  /** Drops details that are too old to matter, and verdicts much later. */
  dropAged(): void {
    const { clock, maxAgeMs } = this.#options;
    try {
      const oldest = clock.now() - maxAgeMs;
      const aged = this.#heal(() =>
        this.#reduceUntil(Number.NEGATIVE_INFINITY, this.#aged.iterate(oldest)),
      );
      this.#countDropped(aged.length, 'older than OUTBOX_MAX_AGE_HOURS');
      const gone = this.#db
        .prepare(
          'delete from records where is_attempt = -1 and created_at < ? returning size_bytes',
        )
        .all(clock.now() - tombstoneAgeFactor * maxAgeMs);
      this.#depth -= gone.length;
      this.#tombstoneBytes -= gone.reduce((sum, row) => sum + Number(row['size_bytes']), 0);
      if (aged.length + gone.length > 0) this.#readFromDisk();
      this.#file.mark(this.#newestSeq, this.#depth);
    } catch (error) {
      this.#warn(error, 'aged results stay in the outbox for now');
    }
  }

  /** The last finished slot of every check, in ms. */
  finishedSlots(): Map<string, number> {
    return this.#heal(() => this.#slots.all());
  }

  /** When the certificate of each check was last seen. */
  seenCertificates(): SeenCertificate[] {
    return this.#heal(() =>
      this.#db.prepare('select check_id, target, measured_at from seen_certificates').all(),
    ).map((row) => ({
      checkId: String(row['check_id']),
      target: String(row['target']),
      measuredAt: Number(row['measured_at']),
    }));
  }

  /** The highest number ever given to a record; 0 before the first. */
  newestSeq(): number {
    return this.#newestSeq;
  }

  pendingRetries(): PendingRetry[] {
    return this.#heal(() =>
      this.#db.prepare('select run_id, due_at, payload from pending_retries').all(),
    ).map((row) => ({
      runId: String(row['run_id']),
      dueAt: Number(row['due_at']),
      payload: String(row['payload']),
    }));
  }

  dropRetry(runId: string): void {
    try {
      this.#heal(() => this.#endRetry.run(runId));
    } catch (error) {
      // The next start finds the record, and the control plane stores an ended run only once.
      this.#warn(error, 'a retry that is given up stays in the outbox');
    }
  }

  state(): OutboxState {
    return {
      depth: this.#depth,
      bytes: this.#bytes + this.#tombstoneBytes,
      oldestAt: this.#depth === 0 ? null : this.#heal(() => this.#oldestAt()),
      droppedTotal: this.#dropped,
      ...this.#heal(() => this.#setAside()),
    };
  }

  #setAside(): Pick<OutboxState, 'setAsideTotal' | 'setAsideAt'> {
    const row = this.#db
      .prepare('select max(seq) as n, max(refused_at) as at from dead_letters')
      .get();
    const at = row?.['at'] ?? null;
    return { setAsideTotal: Number(row?.['n'] ?? 0), setAsideAt: at === null ? null : Number(at) };
  }

  #oldestAt(): number | null {
    for (const row of this.#db
      .prepare('select seq, created_at from records order by seq')
      .iterate()) {
      if (!this.#delivered.has(Number(row['seq']))) return Number(row['created_at']);
    }
    for (const { record } of this.#unwritten.values()) return record.createdAt;
    return null;
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.commit();
    this.#isClosed = true;
    this.#cancelCommit?.();
    this.#deleteDelivered();
    this.#foldSlots(1);
    try {
      this.#setFact('droppedTotal', String(this.#dropped));
    } catch {
      // The disk may be full; the count must not fail the shutdown.
    }
    this.#file.close();
    return Promise.resolve();
  }
}
