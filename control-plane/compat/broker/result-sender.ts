/**
 * Sends results of test sessions to the clients that subscribed to them. What is to be sent is read from the
 * database, not queued: each subscription notes what it has been sent. So nothing is lost when a process or
 * a connection dies, a client that comes back gets everything again, one that reads slowly costs no
 * memory, and it does not matter which replica has the result.
 */
import type { Logger } from 'pino';
import type { CheckResult } from '@monitor/shared/contract/check-result-routes.ts';
import type { Services } from '../../core/services.ts';
import type { Bus } from '../../core/bus.ts';
import { eachOf } from '../../db/expressions.ts';
import { ownRows } from '../../db/own-rows.ts';
import type { Db } from '../../db/tables.ts';
import { findCheckResult, readableResult } from '../../results/index.ts';
import {
  resultsOfTestSession,
  settleTestSession,
  statesOfRuns,
  type TestResultRow,
  type TestRunState,
  type TestSessionRow,
} from '../../sessions/index.ts';
import { publishedResult } from '../decide/published-result.ts';
import { snapshotsOf } from '../test-sessions/snapshots.ts';
import { matchesFilter, topicOf, type MessageKind, type TopicFilter } from '../decide/topics.ts';
import type { MqttConnection } from './mqtt-connection.ts';

/** What no message of a run announces: its begin, attempts, the end of the time limit. */
const tickMs = 1_000;
/** A session that is about to begin is looked for this often, when something happens. */
const lookUpMs = 50;
/** Messages of one session in a row, before others have their turn. */
const messagesAtOnce = 50;
/** Unread bytes of all clients, beyond which nobody is sent more. */
const maxUnsentBytes = 67_108_864;

interface Subscription {
  connection: MqttConnection;
  filter: string;
  /** Ids of what it has been sent. */
  sent: Set<string>;
  /** The last position of what was printed, by run. */
  printed: Map<string, number>;
}

/** A suite that clients wait for. */
interface Watched {
  accountId: string;
  suiteId: string;
  session: TestSessionRow | null;
  subscriptions: Set<Subscription>;
  /** All of it has been sent to all of them. */
  isDone: boolean;
}

interface SenderParts {
  services: Services;
  bus: Bus;
  logger: Logger;
  /** Unread bytes of all clients. */
  unsentBytes: () => number;
}

const keyOf = (accountId: string, suiteId: string): string => `${accountId}/${suiteId}`;

export class ResultSender implements Disposable {
  readonly #parts: SenderParts;
  readonly #watched = new Map<string, Watched>();
  readonly #byRun = new Map<string, Watched>();
  readonly #dirty = new Set<Watched>();
  #isWorking = false;
  #isClosed = false;
  #cancelTick: (() => void) | null = null;
  #cancelLookUp: (() => void) | null = null;

  constructor(parts: SenderParts) {
    this.#parts = parts;
    parts.bus.on('r', (runIds) => {
      this.#wake(runIds);
    });
  }

  subscribe(connection: MqttConnection, accountId: string, { filter, suiteId }: TopicFilter): void {
    const key = keyOf(accountId, suiteId);
    const watched: Watched = this.#watched.get(key) ?? {
      ...{ accountId, suiteId, session: null, subscriptions: new Set(), isDone: false },
    };
    // To subscribe again is to ask for everything again.
    this.#remove(watched, connection, filter);
    const subscription = { connection, filter, sent: new Set<string>(), printed: new Map() };
    watched.subscriptions.add(subscription);
    watched.isDone = false;
    this.#watched.set(key, watched);
    if (watched.session === null) this.#lookUpSoon();
    else this.#note(watched);
    this.#tickSoon();
  }

  unsubscribe(connection: MqttConnection, filter?: string): void {
    for (const watched of this.#watched.values()) this.#remove(watched, connection, filter);
  }

  #remove(watched: Watched, connection: MqttConnection, filter: string | undefined): void {
    for (const one of watched.subscriptions) {
      const isMeant = one.connection === connection && (filter ?? one.filter) === one.filter;
      if (isMeant) watched.subscriptions.delete(one);
    }
    if (watched.subscriptions.size > 0) return;
    this.#watched.delete(keyOf(watched.accountId, watched.suiteId));
    for (const [runId, one] of this.#byRun) if (one === watched) this.#byRun.delete(runId);
  }

  /** Something is new of these runs, or of sessions. */
  #wake(runIds: string): void {
    if (this.#watched.size === 0) return;
    const all = [...this.#watched.values()];
    if (runIds === '*') for (const watched of all) this.#note(watched);
    const known = this.#byRun.get(runIds);
    if (known !== undefined) this.#note(known);
    else if (all.some(({ session }) => session === null)) this.#lookUpSoon();
    for (const watched of all) if (watched.session?.id === runIds) this.#note(watched);
  }

  #note(watched: Watched): void {
    if (watched.isDone || this.#isClosed) return;
    this.#dirty.add(watched);
    void this.#work();
  }

  #tickSoon(): void {
    if (this.#watched.size === 0 || this.#isClosed) return;
    this.#cancelTick ??= this.#parts.services.clock.after(tickMs, () => {
      this.#cancelTick = null;
      for (const watched of this.#watched.values()) {
        if (watched.session !== null) this.#note(watched);
      }
      this.#lookUpSoon();
      this.#tickSoon();
    });
  }

  #lookUpSoon(): void {
    if (this.#isClosed) return;
    this.#cancelLookUp ??= this.#parts.services.clock.after(lookUpMs, () => {
      this.#cancelLookUp = null;
      void this.#lookUp().catch((error: unknown) => {
        this.#parts.logger.debug({ err: error }, 'test sessions could not be read, trying again');
      });
    });
  }

  /** Finds sessions that began after their clients had subscribed. */
  async #lookUp(): Promise<void> {
    const missing = [...this.#watched.values()].filter(({ session }) => session === null);
    if (missing.length === 0) return;
    const sessions = await this.#parts.services.db
      .selectFrom('test_sessions')
      .selectAll()
      .where('suite_id', 'in', eachOf(missing.map(({ suiteId }) => suiteId)))
      .execute();
    for (const session of sessions) {
      const watched = this.#watched.get(keyOf(session.account_id, session.suite_id ?? ''));
      if (watched === undefined || watched.session !== null) continue;
      watched.session = session;
      this.#note(watched);
    }
  }

  async #work(): Promise<void> {
    if (this.#isWorking) return;
    this.#isWorking = true;
    for (const watched of this.#dirty) {
      if (this.#isClosed) break;
      this.#dirty.delete(watched);
      try {
        await this.#refresh(watched);
      } catch (error) {
        this.#parts.logger.warn({ err: error }, 'results could not be sent, trying again');
      }
    }
    this.#isWorking = false;
  }

  /** Sends what is new of a session. */
  async #refresh(watched: Watched): Promise<void> {
    const { services } = this.#parts;
    const { db, clock } = services;
    const session = await this.#current(watched);
    if (session === null || clock.now() < session.publish_from) return;
    services.runs.ended(await settleTestSession(services, session));
    const rows = await resultsOfTestSession(db, session.id);
    // The last client may have left meanwhile: nothing would forget the runs again.
    if (watched.subscriptions.size === 0) return;
    for (const row of rows) this.#byRun.set(row.run_id, watched);
    const subscriptions = [...watched.subscriptions];
    const isSent = (row: TestResultRow) =>
      row.outcome !== null && subscriptions.every(({ sent }) => sent.has(row.id));
    const left = rows.filter((row) => !isSent(row));
    const stateOf = await statesOfRuns(db, session, left);
    let budget = messagesAtOnce;
    for (const row of left) {
      for (const subscription of subscriptions) {
        if (!watched.subscriptions.has(subscription)) continue;
        if (budget <= 0) {
          this.#dirty.add(watched);
          return;
        }
        budget -= await this.#sendRow(subscription, session, row, stateOf(row));
      }
    }
    watched.isDone =
      rows.length > 0 &&
      [...watched.subscriptions].every(({ sent }) => rows.every((row) => sent.has(row.id)));
  }

  /** The session as it is stored; null when it is gone. */
  async #current(watched: Watched): Promise<TestSessionRow | null> {
    const row = await ownRows(this.#parts.services.db, 'test_sessions', watched.accountId)
      .where('id', '=', watched.session?.id ?? '')
      .executeTakeFirst();
    watched.session = row ?? null;
    return watched.session;
  }

  /** Sends what is new of a run to one client; gives the number of messages. */
  async #sendRow(
    subscription: Subscription,
    session: TestSessionRow,
    row: TestResultRow,
    state: TestRunState,
  ): Promise<number> {
    const { connection, filter, sent } = subscription;
    if (sent.has(row.id)) return 0;
    let count = 0;
    const isFree = (): boolean =>
      connection.takesMore && this.#parts.unsentBytes() <= maxUnsentBytes;
    if (!isFree()) return 0;
    /** False when the client has to read first. */
    const send = (id: string, kind: MessageKind, message: unknown): boolean => {
      if (sent.has(id)) return true;
      if (!isFree()) return false;
      const topic = topicOf({
        ...{ accountId: session.account_id, suiteId: session.suite_id ?? '', kind },
        ...{ runId: row.run_id, checkRunId: row.check_run_id },
      });
      if (matchesFilter(topic, filter)) {
        connection.publish(topic, JSON.stringify(message));
        count += 1;
      }
      sent.add(id);
      return true;
    };
    const sendResult = async (id: string, resultType: 'ATTEMPT' | 'FINAL'): Promise<boolean> => {
      const isOfRow = resultType === 'FINAL' ? row.id : id;
      if (sent.has(isOfRow)) return true;
      if (!isFree()) return false;
      const { services } = this.#parts;
      const json = await findCheckResult(services, session.account_id, row.trial_id ?? '', id);
      if (json === undefined) return send(row.id, 'error', 'the result was deleted');
      const result = JSON.parse(readableResult(json)) as CheckResult;
      const snapshots = await snapshotsOf(services, session.account_id, result);
      // The client fetches them at once.
      if (snapshots === null) return false;
      return send(isOfRow, 'result', {
        ...{ resultType, testResultId: row.id, sequenceId: row.run_id },
        result: publishedResult(result, snapshots),
      });
    };

    if (state.isBegun || row.outcome !== null) {
      if (!send(`${row.id} begun`, 'run-start', {})) return count;
    }
    for (const line of await this.#printedOf(subscription, session, row)) {
      if (!send(`${row.run_id} ${line.position}`, 'stream-logs', { logs: line.logs })) return count;
      subscription.printed.set(row.run_id, line.position);
      sent.delete(`${row.run_id} ${line.position}`);
    }
    for (const attempt of state.attempts) {
      if (!(await sendResult(attempt.id, 'ATTEMPT'))) return count;
    }
    if (row.outcome === null) return count;
    if (row.result_id !== null) await sendResult(row.result_id, 'FINAL');
    else send(row.id, 'error', row.error ?? 'the run has no result');
    return count;
  }

  /** What the script of a run has printed since. */
  async #printedOf(
    { printed }: Subscription,
    session: TestSessionRow,
    row: TestResultRow,
  ): Promise<{ position: number; logs: unknown }[]> {
    if (session.streams_logs === 0) return [];
    return printedSince(this.#parts.services.db, row.run_id, printed.get(row.run_id) ?? -1);
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelTick?.();
    this.#cancelLookUp?.();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/** Pieces of what a run printed that are sent in a row. */
const piecesAtOnce = 20;

async function printedSince(
  db: Db,
  runId: string,
  position: number,
): Promise<{ position: number; logs: unknown }[]> {
  const rows = await db
    .selectFrom('test_logs')
    .select(['position', 'lines_json'])
    .where('run_id', '=', runId)
    .where('position', '>', position)
    .orderBy('position')
    .limit(piecesAtOnce)
    .execute();
  return rows.map((row) => ({
    position: row.position,
    logs: JSON.parse(row.lines_json) as unknown,
  }));
}
