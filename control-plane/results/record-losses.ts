/**
 * Detects commits that are gone, because the log was cut off or an older backup was restored. Each
 * acknowledgement carries a signed mark with the position of the database. Agents keep the newest mark
 * and send it back, and a file beside an SQLite database has it too, so a control plane that starts
 * behind it knows its losses, and agents hand in again what they still have.
 */
import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { sql } from 'kysely';
import { Gathered } from '../core/gathered.ts';
import { byEngine, engineOf } from '../db/engine.ts';
import { readFact, writeFact } from '../db/installation.ts';
import type { Db } from '../db/tables.ts';
import { missingSince, type RecordLoss, type StoredMark } from '../scheduling/index.ts';
import type { ControlPlaneMetrics } from '../observability/metrics.ts';
import type { Services } from '../core/services.ts';

const shownMs = 86_400_000;
const macBytes = 16;
/** Counts the commits of `keep`: changes that store no result are lost too. */
const countFact = 'mark_count';

async function newestSeq(db: Db): Promise<number> {
  const { rows } = await byEngine({
    sqlite: sql<{ seq: number }>`select seq from sqlite_sequence where name = 'check_results'`,
    postgres: sql<{ seq: number }>`
      select coalesce(last_value, 0) as seq from pg_sequences
      where schemaname = current_schema() and sequencename = 'check_results_seq_seq'
    `,
  }).execute(db);
  return rows[0]?.seq ?? 0;
}

export interface RecordLossesParts extends Pick<Services, 'db' | 'secrets' | 'clock' | 'logger'> {
  metrics: Pick<ControlPlaneMetrics, 'lostResults'>;
  /** The file that has the newest mark; null without one. */
  markFile: string | null;
}

interface NoticedLoss extends RecordLoss {
  noticedAt: number;
}

export class RecordLosses {
  readonly #parts: RecordLossesParts;
  /** Acknowledgements of one commit share the read. */
  readonly #newestSeq: Gathered<null, number>;
  /** Id of this process. */
  readonly #run = randomUUID();
  readonly #key: Buffer;
  readonly #start: { seq: number; at: number };
  #rowId: number | null = null;
  #count = 0;
  /** The largest loss that this process has found. */
  #noticed = 0;
  #saved = Promise.resolve();
  #known: NoticedLoss | null;

  private constructor(
    parts: RecordLossesParts,
    start: { seq: number; at: number },
    known: NoticedLoss | null,
  ) {
    this.#parts = parts;
    this.#newestSeq = new Gathered(async (calls) => {
      const seq = await newestSeq(parts.db);
      return calls.map(() => seq);
    }, Infinity);
    this.#start = start;
    this.#key = parts.secrets.deriveKey('acknowledgements');
    this.#known = known;
    parts.metrics.lostResults.set(known?.results ?? 0);
  }

  /** Call it before anything is stored: it records the initial position of the database. */
  static async open(parts: RecordLossesParts): Promise<RecordLosses> {
    const { db, clock } = parts;
    const newest = await db
      .selectFrom('check_results')
      .select('created_at')
      .orderBy('seq', 'desc')
      .limit(1)
      .executeTakeFirst();
    const seq = await newestSeq(db);
    const last = await db
      .selectFrom('record_losses')
      .selectAll()
      .where('noticed_at', '>', clock.now() - shownMs)
      .orderBy('id', 'desc')
      .limit(1)
      .executeTakeFirst();
    const { since = 0, until = 0, results = 0, noticed_at: noticedAt = 0 } = last ?? {};
    const losses = new RecordLosses(
      parts,
      { seq, at: newest?.created_at ?? 0 },
      last === undefined ? null : { noticedAt, since, until, results },
    );
    await losses.#compareFile();
    await losses.keep();
    return losses;
  }

  /** Compares the file with the database, before anything is stored. */
  async #compareFile(): Promise<void> {
    const { db, markFile } = this.#parts;
    let file = '';
    try {
      if (markFile !== null) file = readFileSync(markFile, 'utf8');
    } catch {
      // A new installation has none.
    }
    const [count, text = ''] = file.trim().split(' ');
    const mark = this.#read(text);
    this.#count = Number((await readFact(db, countFact)) ?? 0);
    const { seq, at } = this.#start;
    if (mark === null || (mark.seq <= seq && Number(count) <= this.#count)) return;
    const since = Math.max(at, Number((await readFact(db, 'alive_at')) ?? 0));
    const results = Math.max(0, mark.seq - seq);
    await this.#note({ since, until: Math.max(mark.at, since), results });
  }

  /** Operation of a timer: what is lost before the next one is not noticed without a result. */
  async keep(): Promise<void> {
    if (this.#parts.markFile === null) return;
    await writeFact(this.#parts.db, countFact, String(this.#count + 1));
    this.#count += 1;
    await this.mark();
  }

  /** The mark for an acknowledgement; opaque to agents. */
  async mark(): Promise<string> {
    const { clock, markFile } = this.#parts;
    const facts = `${this.#run}.${await this.#newestSeq.run(null)}.${clock.now()}`;
    const mark = `${facts}.${this.#macOf(facts)}`;
    try {
      if (markFile !== null) writeFileSync(markFile, `${this.#count} ${mark}\n`, { mode: 0o600 });
    } catch {
      // The disk is full, which is reported; agents have the mark too.
    }
    return mark;
  }

  #macOf(facts: string): string {
    const mac = createHmac('sha256', this.#key).update(facts).digest();
    return mac.subarray(0, macBytes).toString('base64url');
  }

  /** Null for a forged mark, or one of another installation. */
  #read(text: string): StoredMark | null {
    const [run = '', seq = '', at = '', mac = '', ...rest] = text.split('.');
    const expected = Buffer.from(this.#macOf(`${run}.${seq}.${at}`));
    const given = Buffer.from(mac);
    if (rest.length > 0 || given.length !== expected.length) return null;
    return timingSafeEqual(given, expected) ? { run, seq: Number(seq), at: Number(at) } : null;
  }

  /** Compares the mark of an agent with the initial position of this process; a loss is recorded. */
  async compare(text: string | undefined): Promise<void> {
    // Most marks are from this process.
    if (text === undefined || text.startsWith(this.#run)) return;
    const mark = this.#read(text);
    const { db } = this.#parts;
    // Other replicas have stored more since this process began.
    const start =
      engineOf(db) === 'sqlite' ? this.#start : { ...this.#start, seq: await newestSeq(db) };
    const missing = mark === null ? null : missingSince(mark, this.#run, start);
    if (missing === null) return;
    if (this.#noticed < missing.results) await this.#note(missing);
  }

  async #note(missing: RecordLoss): Promise<void> {
    this.#noticed = missing.results;
    const { clock, logger, metrics } = this.#parts;
    metrics.lostResults.set(missing.results);
    const noticedAt = clock.now();
    this.#known = { noticedAt, ...missing };
    logger.error(missing, this.problem ?? '');
    this.#saved = this.#saved
      .then(() => this.#save(noticedAt, missing))
      .catch((error: unknown) => {
        logger.error({ err: error }, 'the loss of results is not on record');
      });
    await this.#saved;
  }

  /** One row per process; marks of further agents may extend it. */
  async #save(noticedAt: number, missing: RecordLoss): Promise<void> {
    const { db } = this.#parts;
    const values = { noticed_at: noticedAt, ...missing };
    if (this.#rowId === null) {
      const { id } = await db
        .insertInto('record_losses')
        .values(values)
        .returning('id')
        .executeTakeFirstOrThrow();
      this.#rowId = id;
    } else {
      await db.updateTable('record_losses').set(values).where('id', '=', this.#rowId).execute();
    }
  }

  /** The loss, for a day; null without one. */
  get present(): RecordLoss | null {
    const noticedAt = this.#known?.noticedAt ?? Number.NEGATIVE_INFINITY;
    return this.#parts.clock.now() - noticedAt > shownMs ? null : this.#known;
  }

  get problem(): string | null {
    if (this.present === null) return null;
    const { since, until, results } = this.present;
    const from = since === 0 ? 'the beginning' : new Date(since).toISOString();
    const what = results === 0 ? 'changes' : `up to ${results} results`;
    return `${what} that were stored between ${from} and ${new Date(until).toISOString()} are missing from the database: its log was cut off, or an older copy was restored`;
  }
}
