/** Two units of work of which one is stopped after a statement, while the other goes as far as it can. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  sql,
  type Kysely,
  type KyselyPlugin,
  type PluginTransformQueryArgs,
  type PluginTransformResultArgs,
  type QueryId,
  type RootOperationNode,
} from 'kysely';
import { engineOf } from '../../control-plane/db/engine.ts';
import type { Database } from '../../control-plane/db/tables.ts';

type Db = Kysely<Database>;

/** Stops the unit that runs statements through it after the one with this number, from 1, of some kind. */
export class StopAfter implements KyselyPlugin {
  readonly #number: number;
  readonly #isCounted: (node: RootOperationNode) => boolean;
  readonly #others = new WeakSet<QueryId>();
  readonly #reached = Promise.withResolvers<void>();
  readonly #released = Promise.withResolvers<void>();
  #count = 0;

  constructor(number: number, isCounted: (node: RootOperationNode) => boolean = () => true) {
    this.#number = number;
    this.#isCounted = isCounted;
  }

  get hasStopped(): boolean {
    return this.#count >= this.#number;
  }

  get reached(): Promise<void> {
    return this.#reached.promise;
  }

  release(): void {
    this.#released.resolve();
  }

  transformQuery({ node, queryId }: PluginTransformQueryArgs) {
    if (!this.#isCounted(node)) this.#others.add(queryId);
    return node;
  }

  async transformResult({ result, queryId }: PluginTransformResultArgs) {
    if (this.#others.has(queryId)) return result;
    this.#count += 1;
    if (this.#count === this.#number) {
      this.#reached.resolve();
      await this.#released.promise;
    }
    return result;
  }
}

/** What a killed unit of work ends with. */
export class Killed extends Error {}

/** Kills the unit that runs statements through it after the one with this number, from 1. */
export class KillAfter implements KyselyPlugin {
  readonly #number: number;
  #count = 0;

  constructor(number: number) {
    this.#number = number;
  }

  transformQuery({ node }: PluginTransformQueryArgs) {
    return node;
  }

  transformResult({ result }: PluginTransformResultArgs) {
    this.#count += 1;
    return this.#count === this.#number ? Promise.reject(new Killed()) : Promise.resolve(result);
  }
}

/** Does work until it ends, killed one statement later each time. Gives the number of kills. */
export async function despiteKills(db: Db, work: (db: Db) => Promise<unknown>): Promise<number> {
  for (let kills = 0; ; kills += 1) {
    try {
      await work(db.withPlugin(new KillAfter(kills + 1)));
      return kills;
    } catch (error) {
      if (!(error instanceof Killed)) throw error;
    }
  }
}

/** Counts the statements that run through it; begin and commit are not among them. */
export class StatementCount implements KyselyPlugin {
  count = 0;

  transformQuery({ node }: PluginTransformQueryArgs) {
    return node;
  }

  transformResult({ result }: PluginTransformResultArgs) {
    this.count += 1;
    return Promise.resolve(result);
  }
}

/** True when some transaction of the database waits for the lock of another one. */
async function isAnyoneWaiting(db: Db): Promise<boolean> {
  // A transaction goes on seeing the sessions of its first look: one that connects later would never wait.
  await sql`select pg_stat_clear_snapshot()`.execute(db);
  const { rows } = await sql`
    select 1 from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'
  `.execute(db);
  return rows.length > 0;
}

/**
 * Until the work has ended or waits for another one. On SQLite it waits for the only connection. True
 * when it has ended.
 */
export async function untilEndedOrWaiting(db: Db, work: Promise<unknown>): Promise<boolean> {
  let hasEnded = false;
  const ended = (): void => {
    hasEnded = true;
  };
  void work.then(ended, ended);
  if (engineOf(db) === 'sqlite') {
    for (let turn = 0; turn < 5; turn += 1) await nextTurn();
    return hasEnded;
  }
  while (!hasEnded && !(await isAnyoneWaiting(db))) await nextTurn();
  return hasEnded;
}

/**
 * Runs the first work up to a statement, then the second until it has ended or waits for the first, and
 * then both to their ends. `wasStopped` is false when the first has fewer statements.
 */
async function interleave<First, Second>(
  db: Db,
  statement: number,
  first: (db: Db) => Promise<First>,
  second: () => Promise<Second>,
): Promise<{ first: First; second: Second; wasStopped: boolean }> {
  const stop = new StopAfter(statement);
  const running = first(db.withPlugin(stop));
  await Promise.race([stop.reached, running]);
  const other = second();
  await untilEndedOrWaiting(db, other);
  const wasStopped = stop.hasStopped;
  stop.release();
  const [one, two] = await Promise.all([running, other]);
  return { first: one, second: two, wasStopped };
}

/**
 * Does this for every statement of the first work. `prepare` makes what one round needs; `check` looks
 * at what came of it. Gives the number of rounds.
 */
export async function everyInterleaving<Round, First, Second>(
  db: Db,
  prepare: () => Promise<Round>,
  work: {
    first: (db: Db, round: Round) => Promise<First>;
    second: (round: Round) => Promise<Second>;
    check: (round: Round, outcomes: { first: First; second: Second }, at: string) => Promise<void>;
  },
): Promise<number> {
  for (let statement = 1; ; statement += 1) {
    const round = await prepare();
    const { wasStopped, ...outcomes } = await interleave(
      db,
      statement,
      (stopped) => work.first(stopped, round),
      () => work.second(round),
    );
    await work.check(round, outcomes, `stopped after statement ${statement}`);
    if (!wasStopped) return statement - 1;
  }
}
