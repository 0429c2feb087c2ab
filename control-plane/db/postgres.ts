/** The door to PostgreSQL, and the only file that names its driver. */
import { setTimeout as pause } from 'node:timers/promises';
import {
  Kysely,
  PostgresDialect,
  PostgresQueryCompiler,
  type QueryCompiler,
  type RawNode,
  sql,
} from 'kysely';
import pg from 'pg';
import { nodeOfPostgres } from './engine.ts';
import { isOutdatedPlan } from './failure.ts';
import { storableText } from './storable-text.ts';
import type { Database, Db } from './tables.ts';

/** Oldest version that works, as the server counts versions. */
const oldestVersion = 150_000;
const connectWithinMs = 5_000;
const answerWithinMs = 35_000;
/** Most texts of statements that keep a name. */
const mostNamed = 500;
/** A connection ends after this time, and with it the statements that it has prepared. */
const connectionSeconds = 1_800;

const { builtins } = pg.types;
const numeric: ReadonlySet<number> = new Set([builtins.INT8, builtins.NUMERIC]);

/** Integers and sums as numbers: instants and counts stay below 2^53. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    numeric.has(oid)
      ? Number
      : (pg.types.getTypeParser(oid, format as 'text') as (value: string) => unknown),
};

/** Gives statements that come again a name, under which a connection keeps them prepared. */
class StatementNames {
  readonly #names = new Map<string, string | null>();
  #count = 0;

  nameOf(text: string): string | undefined {
    const known = this.#names.get(text);
    this.#names.delete(text);
    const name = known === undefined ? null : (known ?? `s${(this.#count += 1)}`);
    this.#names.set(text, name);
    if (this.#names.size > mostNamed) {
      for (const oldest of this.#names.keys()) {
        this.#names.delete(oldest);
        break;
      }
    }
    return name ?? undefined;
  }

  /** Connections prepare the text anew. */
  rename(text: string): void {
    this.#names.set(text, null);
  }
}

function storable(value: unknown): unknown {
  return typeof value === 'string' ? storableText(value) : value;
}

class CompilerWithEngine extends PostgresQueryCompiler {
  protected override visitRaw(node: RawNode): void {
    const own = nodeOfPostgres(node);
    if (own === null) super.visitRaw(node);
    else this.visitNode(own);
  }
}

class DialectWithEngine extends PostgresDialect {
  override createQueryCompiler(): QueryCompiler {
    return new CompilerWithEngine();
  }
}

export interface PostgresSettings {
  /** `postgres://user:password@host:5432/database`. */
  url: string;
  /** Most connections at once. */
  connections: number;
  /** Whether statements keep a name; not behind every pooler in transaction mode. */
  isPrepared: boolean;
  /** Shown by the server beside each connection. */
  applicationName: string;
  /** Called for a connection that broke while nobody used it. */
  onLost?: (error: Error) => void;
}

/** In ms. */
const limits = {
  statement_timeout: 30_000,
  lock_timeout: 10_000,
  idle_in_transaction_session_timeout: 15_000,
};

/**
 * Limits of the session, where the connection is one of the server itself. A pooler in transaction
 * mode would lend a changed session to others; it names processes that are not those of the server.
 */
const limitSession = `select set_config(name, value, false)
  from unnest($1::text[], $2::text[]) as each (name, value) where pg_backend_pid() = $3`;

const limitTransaction = Object.entries(limits)
  .map(([name, value]) => `set local ${name} = ${value}`)
  .join('; ');

const beginning = /^(begin|start transaction)\b/;

/**
 * The URL for the driver, which reads `sslmode` as libpq does only on request, and knows no
 * name for the authorities of the system: these are its default.
 */
function withLibpqModes(text: string): string {
  const url = URL.parse(text);
  if (url?.searchParams.has('sslmode') !== true) return text;
  url.searchParams.set('uselibpqcompat', 'true');
  if (url.searchParams.get('sslrootcert') === 'system') url.searchParams.delete('sslrootcert');
  return url.href;
}

/** Lets the statements of a transaction take any time: migrations and counts of large tables. */
export const withoutTimeLimit = 'set local statement_timeout = 0';
const anyTimeMs = 2 ** 31 - 1;

/** Opens a pool of connections. Nothing is connected before the first query. */
export function openPostgres(settings: PostgresSettings): Db {
  const names = settings.isPrepared ? new StatementNames() : null;
  class Client extends pg.Client {
    /** Until the end of the transaction. */
    #hasTimeLimit = true;
    #isPooled = false;

    async limit(): Promise<void> {
      const { processID } = this as unknown as { processID: number };
      const { rowCount } = await super.query(limitSession, [
        Object.keys(limits),
        Object.values(limits).map(String),
        processID,
      ]);
      this.#isPooled = rowCount === 0;
    }

    // Kysely calls it with a text and its values, and the pool with nothing else.
    override query(...given: unknown[]): never {
      const [text, values] = given;
      if (text === withoutTimeLimit) this.#hasTimeLimit = false;
      if (text === 'commit' || text === 'rollback') this.#hasTimeLimit = true;
      if (!this.#hasTimeLimit && typeof text === 'string') {
        const query = { text, values: (values as unknown[] | undefined) ?? [] };
        return super.query({ ...query, query_timeout: anyTimeMs } as never) as never;
      }
      if (this.#isPooled && typeof text === 'string' && beginning.test(text)) {
        return super.query(`${text}; ${limitTransaction}`) as never;
      }
      if (typeof text !== 'string' || !Array.isArray(values) || values.length === 0) {
        return super.query(...(given as [string])) as never;
      }
      const run = () => {
        const name = names?.nameOf(text);
        return super.query({
          ...(name === undefined ? {} : { name }),
          ...{ text, values: values.map(storable) },
        });
      };
      const result = run().catch(async (error: unknown) => {
        if (!isOutdatedPlan(error)) throw error;
        names?.rename(text);
        // Within a transaction it fails again, which is repeated as a whole.
        return run().catch(() => {
          throw error;
        });
      });
      result.catch((error: unknown) => {
        // The connection still waits for that answer.
        if (error instanceof Error && error.message === 'Query read timeout') void this.end();
      });
      return result as never;
    }
  }
  const pool = new pg.Pool({
    Client,
    connectionString: withLibpqModes(settings.url),
    max: settings.connections,
    application_name: settings.applicationName,
    connectionTimeoutMillis: connectWithinMs,
    idleTimeoutMillis: 60_000,
    maxLifetimeSeconds: connectionSeconds,
    keepAlive: true,
    // A frozen server enforces no limit of its own.
    query_timeout: answerWithinMs,
    types,
    verify: (client, done) => {
      (client as unknown as Client).limit().then(() => {
        done();
      }, done);
    },
  });
  pool.on('error', (error) => settings.onLost?.(error));
  // A connection may be lost between two statements of a transaction: the next one says so.
  pool.on('connect', (client) => client.on('error', () => {}));
  return new Kysely<Database>({ dialect: new DialectWithEngine({ pool }) });
}

/**
 * Why a server cannot be used, as the rest of a sentence after its name; null when it can. Throws when it cannot be
 * reached.
 */
export async function refusalOfServer(db: Db): Promise<string | null> {
  const { rows } = await sql<{
    number: string;
    version: string;
    encoding: string;
    is_read_only: string;
  }>`
    select current_setting('server_version_num') as number,
      current_setting('server_version') as version,
      current_setting('server_encoding') as encoding,
      current_setting('transaction_read_only') as is_read_only
  `.execute(db);
  const [server] = rows;
  if (server === undefined) return 'says nothing about itself';
  if (Number(server.number) < oldestVersion) {
    return `is PostgreSQL ${server.version}: use version 15 or newer`;
  }
  if (server.encoding !== 'UTF8') {
    return `stores texts as ${server.encoding}: create the database with encoding UTF8`;
  }
  if (server.is_read_only === 'on') {
    return 'takes no writes, as a standby does: name the primary';
  }
  return null;
}

const channel = 'monitor';
const listenAgainMs = 1_000;

interface ListenerSettings {
  url: string;
  applicationName: string;
  /** Called when the server does not let it listen, once until it does again. */
  onRefused: (error: unknown) => void;
}

/**
 * Hears what replicas tell each other, on a connection of its own, which is made again when it is
 * lost. What is sent while it is away is lost.
 */
export class PostgresListener implements AsyncDisposable {
  readonly #db: Db;
  readonly #settings: ListenerSettings;
  readonly #closing = new AbortController();
  #client: pg.Client | null = null;
  #running: Promise<void> = Promise.resolve();

  constructor(db: Db, settings: ListenerSettings) {
    this.#db = db;
    this.#settings = settings;
  }

  listen(onMessage: (payload: string) => void): void {
    this.#running = this.#keepListening(onMessage);
  }

  async #keepListening(onMessage: (payload: string) => void): Promise<void> {
    const { signal } = this.#closing;
    let isRefused = false;
    while (!signal.aborted) {
      try {
        await this.#listenOnce(onMessage, () => {
          isRefused = false;
        });
      } catch (error) {
        if (!isRefused) this.#settings.onRefused(error);
        isRefused = true;
      }
      await pause(listenAgainMs, undefined, { signal }).catch(() => {});
    }
  }

  /** Resolves when it is closed; throws when the connection is lost. */
  async #listenOnce(onMessage: (payload: string) => void, onListening: () => void): Promise<void> {
    const { url, applicationName } = this.#settings;
    const client = new pg.Client({
      connectionString: withLibpqModes(url),
      application_name: applicationName,
      connectionTimeoutMillis: connectWithinMs,
      keepAlive: true,
    });
    const ended = Promise.withResolvers<void>();
    client.on('notification', ({ payload }) => {
      onMessage(payload ?? '');
    });
    client.on('error', ended.reject);
    client.on('end', ended.resolve);
    // An error before anybody waits for the end is thrown by what is running then.
    ended.promise.catch(() => {});
    try {
      await client.connect();
      // Closing ends a connection that is open: this one was not yet.
      if (this.#closing.signal.aborted) return;
      this.#client = client;
      await client.query(`listen ${channel}`);
      onListening();
      await ended.promise;
    } finally {
      this.#client = null;
      await client.end().catch(() => {});
    }
  }

  /** Sends a message to all replicas, this one included. */
  async notify(payload: string): Promise<void> {
    await sql`select pg_notify(${channel}, ${payload})`.execute(this.#db);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await this.#client?.end().catch(() => {});
    await this.#running;
  }
}
