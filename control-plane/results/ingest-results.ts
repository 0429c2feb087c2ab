/**
 * Receives results: in batches, possibly twice, late, or from two agents at once. Batches that
 * arrive together share one durable commit; each is answered after it. Its items are decided in memory
 * (`ingest-plan.ts`) on facts that were read under the locks of their checks, and then written
 * (`store-plan.ts`), so that a commit takes about as many statements for one item as for a thousand.
 */
import type {
  CertificateSubmission,
  ItemOutcome,
} from '@monitor/shared/contract/agent-protocol.ts';
import { lockChecks } from '../checks/index.ts';
import { runAll, type AfterCommit } from '../db/after-commit.ts';
import { raiseNews } from '../core/location-versions.ts';
import type { Services } from '../core/services.ts';
import { engineOf, type Engine } from '../db/engine.ts';
import { databaseFailure } from '../db/failure.ts';
import type { Db } from '../db/tables.ts';
import { inTransaction, UnknownOutcome } from '../db/unit.ts';
import { RetryLocations } from '../scheduling/index.ts';
import { IngestFacts, type RunItem } from './ingest-facts.ts';
import { IngestPlan } from './ingest-plan.ts';
import { readSubmission, refusal, type ReadItem } from './read-submission.ts';
import { publishResults, type CertificateConsumer } from './result-consumer.ts';
import { storePlan, StoredMeanwhile, storeRuns, type StoredPlan } from './store-plan.ts';
import type { Inserting } from './result-rows.ts';

/** Limit of items per commit. */
const maxAtOnce = { sqlite: 5_000, postgres: 2_000 };
/** Commits at once: the others wait on PostgreSQL for its disk and for the way there. */
const commitsAtOnce = { sqlite: 1, postgres: 4 };
/**
 * Items that are worth a commit beside those in progress. Fewer wait for one of these to end, or for
 * so long: the next commit takes all of them, at the cost of one.
 */
const enoughForAnother = 500;
const maxGatherMs = 50;
/** How often a commit is repeated that met what another one has stored meanwhile. */
const attempts = 3;

interface Batch {
  accountId: string;
  location: string;
  agentId: string;
  items: readonly unknown[];
}

interface QueuedBatch extends Batch {
  arrivedAt: number;
  resolve: (outcomes: ItemOutcome[]) => void;
  reject: (error: unknown) => void;
}

interface ParsedBatch {
  batch: Batch;
  items: readonly ReadItem[];
}

export interface IntakeOptions {
  /** Retention of results. */
  keptMs: number;
  takeCertificate: CertificateConsumer;
}

interface Committed {
  outcomes: ItemOutcome[][];
  stored: StoredPlan;
  steps: AfterCommit[];
}

type TakenItem = Exclude<ReadItem, { refused: unknown }>;

function runItemsOf(parsed: readonly ParsedBatch[]): RunItem[] {
  return parsed.flatMap(({ batch: { accountId, location, agentId }, items }) =>
    items.flatMap(({ data }) =>
      data === undefined || data.kind === 'certificate'
        ? []
        : [{ accountId, location, agentId, data }],
    ),
  );
}

/** One commit of several batches. */
class IngestUnit {
  readonly #db: Db;
  readonly #services: Services;
  readonly #parsed: readonly ParsedBatch[];
  readonly #options: IntakeOptions;
  readonly #inserting: Inserting;

  constructor(
    db: Db,
    services: Services,
    parsed: readonly ParsedBatch[],
    options: IntakeOptions,
    inserting: Inserting,
  ) {
    this.#db = db;
    this.#services = services;
    this.#parsed = parsed;
    this.#options = options;
    this.#inserting = inserting;
  }

  async run(): Promise<Committed> {
    const { keptMs } = this.#options;
    const checks = this.#parsed.flatMap(({ items }) =>
      items.flatMap(({ data }) => data?.checkId ?? []),
    );
    await lockChecks(this.#db, [...new Set(checks)]);
    // Others may have stored newer results while it waited: they are not from a clock that was set back.
    const now = this.#services.clock.now();
    const items = runItemsOf(this.#parsed);
    const { stepsBack } = this.#services.reception;
    const facts = await IngestFacts.read(this.#db, items, { now, keptMs, stepsBack });
    const attempted = items.flatMap(({ data }) => (data.kind === 'result' ? [data] : []));
    const retries = await RetryLocations.read(this.#services, this.#db, attempted);
    for (;;) {
      const plan = new IngestPlan(facts, { now, keptMs, retries, stepsBack });
      const outcomes = this.#decide(plan);
      const inTheWay = await storeRuns(this.#db, plan, now, this.#inserting);
      if (inTheWay.length === 0) return this.#store(plan, outcomes, now);
      if (!(await facts.addRunsInTheWay(this.#db, inTheWay))) {
        throw new Error('a run is in the way that is of no slot');
      }
    }
  }

  /** The outcomes of all items; certificates have theirs later. */
  #decide(plan: IngestPlan): (ItemOutcome | null)[][] {
    return this.#parsed.map(({ batch, items }) => {
      const { accountId, location, agentId } = batch;
      const keyedSha256Hex = this.#services.ids.keyedSha256HexOf(accountId, location);
      return items.map((item) => {
        if (item.data === undefined) return item.refused;
        const { data, payload } = item;
        if (data.kind === 'certificate') return null;
        return plan.take({ accountId, location, agentId, data }, keyedSha256Hex, payload);
      });
    });
  }

  async #store(
    plan: IngestPlan,
    decided: readonly (readonly (ItemOutcome | null)[])[],
    now: number,
  ): Promise<Committed> {
    const stored = await storePlan(this.#services, this.#db, plan, now, this.#inserting);
    const steps: AfterCommit[] = [];
    const outcomes: ItemOutcome[][] = [];
    for (const [index, { batch, items }] of this.#parsed.entries()) {
      const ofBatch: ItemOutcome[] = [];
      for (const [place, item] of items.entries()) {
        const known = decided[index]?.[place] ?? null;
        ofBatch.push(known ?? (await this.#takeCertificate(batch, item, steps)));
      }
      outcomes.push(ofBatch);
    }
    steps.push(...(await publishResults(this.#services, this.#db, stored)));
    await raiseNews(this.#db, stored.locationsWithNews);
    return { outcomes, stored, steps };
  }

  async #takeCertificate(batch: Batch, item: ReadItem, steps: AfterCommit[]): Promise<ItemOutcome> {
    const certificate = (item as TakenItem).data as CertificateSubmission;
    const { takeCertificate } = this.#options;
    const taken = await takeCertificate(this.#services, this.#db, batch, certificate);
    steps.push(taken.afterCommit);
    return taken.outcome;
  }
}

/** True for a failure that every other item would have too: the disk, a lock, a damaged file. */
function isOfDatabase(error: unknown): boolean {
  const failure = databaseFailure(error);
  if (failure !== null) return failure !== 'unique';
  if (!(error instanceof Error) || !('code' in error)) return false;
  return /^(SQLITE_(?!CONSTRAINT|MISMATCH|TOOBIG|RANGE)|E[A-Z]+$)/.test(String(error.code));
}

/** Collects batches and commits them together. */
export class ResultIntake {
  readonly #services: Services;
  readonly #options: IntakeOptions;
  readonly #engine: Engine;
  #queue: QueuedBatch[] = [];
  /** Commits in progress. */
  #working = 0;
  #cancelGathering: (() => void) | null = null;

  constructor(services: Services, options: IntakeOptions) {
    this.#services = services;
    this.#options = options;
    this.#engine = engineOf(services.db);
  }

  /** Stores a batch durably and gives the outcome of each item, in order. */
  ingest(batch: Batch): Promise<ItemOutcome[]> {
    return new Promise((resolve, reject) => {
      const arrivedAt = this.#services.clock.monotonic();
      this.#queue.push({ ...batch, arrivedAt, resolve, reject });
      if (this.#working === 0) void this.#work();
      else this.#workBeside();
    });
  }

  #workBeside(): void {
    if (this.#working >= commitsAtOnce[this.#engine]) return;
    if (this.#waitingItems() >= enoughForAnother) void this.#work();
    else {
      this.#cancelGathering ??= this.#services.clock.after(maxGatherMs, () => {
        this.#cancelGathering = null;
        if (this.#queue.length > 0 && this.#working < commitsAtOnce[this.#engine])
          void this.#work();
      });
    }
  }

  /** The batches of the next commit: at least one, and as many others as fit. */
  #nextBatches(): QueuedBatch[] {
    let items = 0;
    const most = maxAtOnce[this.#engine];
    const tooMuch = this.#queue.findIndex((batch) => (items += batch.items.length) > most);
    return this.#queue.splice(0, tooMuch === -1 ? this.#queue.length : Math.max(1, tooMuch));
  }

  async #work(): Promise<void> {
    this.#working += 1;
    if (this.#engine === 'sqlite') await this.#gather();
    while (this.#queue.length > 0) {
      const batches = this.#nextBatches();
      try {
        const outcomes = await this.#commit(batches);
        batches.forEach((batch, index) => {
          this.#settle(batch, outcomes[index]);
        });
      } catch (error) {
        // One of them fails: committed separately, the others still succeed.
        for (const batch of batches) {
          const stored = isOfDatabase(error) ? Promise.reject(error) : this.#commitAlone(batch);
          await stored.then(
            (outcomes) => {
              this.#settle(batch, outcomes);
            },
            (reason: unknown) => {
              batch.reject(reason);
            },
          );
        }
      }
    }
    this.#working -= 1;
    if (this.#queue.length === 0) this.#stopGathering();
  }

  /**
   * SQLite holds the event loop until a commit is on disk. Before that the requests are read that have
   * come, as long as each turn of the loop brings others.
   */
  async #gather(): Promise<void> {
    for (let seen = 0; seen < this.#queue.length && this.#waitingItems() < enoughForAnother;) {
      seen = this.#queue.length;
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
  }

  #waitingItems(): number {
    return this.#queue.reduce((sum, { items }) => sum + items.length, 0);
  }

  #stopGathering(): void {
    this.#cancelGathering?.();
    this.#cancelGathering = null;
  }

  /** Commits as much of a batch as possible; an item that fails by itself is refused. */
  async #commitAlone(batch: Batch): Promise<ItemOutcome[]> {
    const { items } = batch;
    try {
      const [outcomes = []] = await this.#commit([batch]);
      return outcomes;
    } catch (error) {
      if (isOfDatabase(error)) throw error;
      if (items.length === 1) {
        const [item] = items;
        const { id } = refusal(item, '');
        this.#services.logger.error({ err: error, id }, 'a submission cannot be stored, refused');
        return [refusal(item, 'item: cannot be stored')];
      }
    }
    const half = Math.ceil(items.length / 2);
    const first = await this.#commitAlone({ ...batch, items: items.slice(0, half) });
    return [...first, ...(await this.#commitAlone({ ...batch, items: items.slice(half) }))];
  }

  #settle(batch: QueuedBatch, outcomes: ItemOutcome[] = []): void {
    const { metrics, clock } = this.#services;
    metrics.ingestDuration.observe((clock.monotonic() - batch.arrivedAt) / 1000);
    batch.resolve(outcomes);
  }

  /** Counts a committed batch. */
  #count(items: readonly ReadItem[], outcomes: readonly ItemOutcome[]): void {
    const { metrics, clock } = this.#services;
    for (const [index, { data }] of items.entries()) {
      const outcome = outcomes[index]?.outcome ?? 'refused';
      metrics.ingested.inc({ kind: data?.kind ?? 'unreadable', outcome });
      if (outcome !== 'accepted' || data === undefined) continue;
      if (data.kind === 'missed') metrics.missedSlots.inc({ reason: data.reason });
      if (data.kind === 'result') {
        metrics.resultLag.observe(Math.max(0, clock.now() - data.stoppedAt) / 1000);
      }
    }
  }

  async #commit(batches: readonly Batch[]): Promise<ItemOutcome[][]> {
    const parsed = batches.map((batch) => ({
      batch,
      items: batch.items.map(readSubmission),
    }));
    const { reception } = this.#services;
    await reception.recorded();
    // With a clock that is years ahead, everything is too old.
    const keptMs = reception.isClockTrusted() ? this.#options.keptMs : Number.MAX_SAFE_INTEGER;
    const options = { ...this.#options, keptMs };
    let inserting: Inserting = this.#engine === 'postgres' ? 'plainly' : 'carefully';
    const { outcomes, stored, steps } = await this.#repeated(() =>
      inTransaction(this.#services.db, (db) => {
        const unit = new IngestUnit(db, this.#services, parsed, options, inserting);
        inserting = 'carefully';
        return unit.run();
      }),
    );
    this.#services.metrics.ingestBatch.observe(
      parsed.reduce((sum, { items }) => sum + items.length, 0),
    );
    for (const [index, { items }] of parsed.entries()) this.#count(items, outcomes[index] ?? []);
    runAll(steps);
    for (const { checkId } of stored.verdicts) this.#services.statuses.drop(checkId);
    for (const { accountId, location } of stored.locationsWithNews) {
      this.#services.hub.notify(accountId, location);
    }
    this.#services.runs.ended(stored.endedRuns);
    return outcomes;
  }

  /**
   * Runs a commit again that met what another one stored meanwhile, or whose outcome nobody knows:
   * what it has stored is a duplicate then.
   */
  async #repeated(commit: () => Promise<Committed>): Promise<Committed> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await commit();
      } catch (error) {
        const isRepeatable = error instanceof StoredMeanwhile || error instanceof UnknownOutcome;
        if (!isRepeatable || attempt === attempts) throw error;
      }
    }
  }
}
