/**
 * Deployments and deletions of projects as clients follow them. A process does one after the other,
 * and its end is written in the transaction of what it changes: a process that is killed leaves all of
 * it or nothing, and a row that another one, or the next start, ends as abandoned.
 */
import { sleep } from '@monitor/shared/clock.ts';
import type {
  DeploymentWire,
  ProjectChange,
} from '@monitor/shared/contract/compatibility/projects.ts';
import type { Services } from '../core/services.ts';
import { fromJson, toTimestamp, toTimestampOrNull } from '../db/columns.ts';
import { ownRows, updateOwnRows } from '../db/own-rows.ts';
import type { Db, RowOf } from '../db/tables.ts';
import { ApiError, notFound } from '../errors/api-error.ts';
import type { CallContext } from '../http/call-context.ts';
import { aliveReplicas } from '../replicas/index.ts';
import type { DeployOptions } from './deploy-project.ts';

type DeploymentRow = RowOf<'deployments'>;
type Status = DeploymentWire['status'];
type Run = (options: DeployOptions) => Promise<ProjectChange>;

/** Bodies of waiting deployments are kept in memory only. */
const maxWaiting = { account: 5, process: 20, bytes: 67_108_864 };
/** How often a deployment of another replica is looked at. */
const lookEveryMs = 500;
const keptMs = 30 * 86_400_000;

/** Cancelled, or abandoned by this replica in the eyes of another. */
class Superseded extends Error {}

interface Work {
  row: DeploymentRow;
  /** Of its body. */
  bytes: number;
  run: Run;
  controller: AbortController;
  progress: number;
  /** Called with each step. */
  watchers: Set<() => void>;
}

interface Submission extends Pick<CallContext, 'afterNote'> {
  accountId: string;
  logicalId: string;
  /** Of the body. */
  bytes: number;
}

export function deploymentToWire(row: DeploymentRow, progress = 0): DeploymentWire {
  return {
    id: row.id,
    logicalId: row.logical_id,
    status: row.status as Status,
    dryRun: false,
    progress: row.status === 'SUCCEEDED' ? 100 : progress,
    error: row.error_json === null ? null : fromJson(row.error_json),
    result: row.result_json === null ? null : fromJson(row.result_json),
    createdAt: toTimestamp(row.created_at),
    startedAt: toTimestampOrNull(row.started_at),
    endedAt: toTimestampOrNull(row.ended_at),
    cancelRequestedAt: toTimestampOrNull(row.cancel_requested_at),
  };
}

function inTheWay(logicalId: string, deploymentId: string): ApiError {
  const problem = `a deployment of the project "${logicalId}" is in progress; wait for it, or cancel it`;
  return new ApiError('CONFLICT', problem, {}, { deploymentId });
}

export class Deployments implements AsyncDisposable {
  readonly #services: Services;
  readonly #works = new Map<string, Work>();
  #last: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(services: Services) {
    this.#services = services;
  }

  /** Begins a deployment or deletion. Throws 409 while another one of the project is in progress. */
  async submit(
    { accountId, logicalId, bytes, afterNote }: Submission,
    run: Run,
  ): Promise<DeploymentWire> {
    this.#refuseMany(accountId, bytes);
    const { clock, newId, replicas } = this.#services;
    const row: DeploymentRow = {
      ...{ id: newId(), account_id: accountId, logical_id: logicalId, replica_id: replicas.id },
      ...{ status: 'PENDING', error_json: null, result_json: null },
      ...{ created_at: clock.now(), started_at: null, ended_at: null, cancel_requested_at: null },
    };
    const own = [...this.#works.values()].find(
      (each) => each.row.account_id === accountId && each.row.logical_id === logicalId,
    );
    if (own !== undefined) throw inTheWay(logicalId, own.row.id);
    const work: Work = {
      ...{ row, bytes, run, controller: new AbortController(), progress: 0 },
      watchers: new Set<() => void>(),
    };
    // Before its row, so that nobody takes the row for abandoned.
    this.#works.set(row.id, work);
    try {
      await this.#insert(row);
    } catch (error) {
      this.#works.delete(row.id);
      throw error;
    }
    afterNote(() => {
      this.#last = this.#last.then(() => this.#carryOut(work));
    });
    return deploymentToWire(row);
  }

  async #insert(row: DeploymentRow): Promise<void> {
    const { account_id: accountId, logical_id: logicalId } = row;
    const other = await this.#services.commits.run(async (db) => {
      await this.#abandonGone(db);
      const { numInsertedOrUpdatedRows: inserted } = await db
        .insertInto('deployments')
        .values(row)
        .onConflict((conflict) =>
          conflict.columns(['account_id', 'logical_id']).where('ended_at', 'is', null).doNothing(),
        )
        .executeTakeFirstOrThrow();
      return inserted === 1n ? undefined : this.#inProgress(db, accountId, logicalId);
    });
    if (other !== undefined) throw inTheWay(logicalId, other.id);
  }

  #refuseMany(accountId: string, bytes: number): void {
    const all = [...this.#works.values()];
    const own = all.filter(({ row }) => row.account_id === accountId);
    const waiting = all.reduce((sum, each) => sum + each.bytes, bytes);
    const isRoom =
      own.length < maxWaiting.account &&
      all.length < maxWaiting.process &&
      (all.length === 0 || waiting <= maxWaiting.bytes);
    if (isRoom && !this.#isClosed) return;
    throw new ApiError(
      'TOO_MANY_REQUESTS',
      `${all.length} deployments wait already, ${own.length} of this account; try again when they are done`,
      { retryAfterSeconds: 5 },
    );
  }

  async #inProgress(db: Db, accountId: string, logicalId: string) {
    return db
      .selectFrom('deployments')
      .select('id')
      .where('account_id', '=', accountId)
      .where('logical_id', '=', logicalId)
      .where('ended_at', 'is', null)
      .executeTakeFirst();
  }

  /** Never fails: what goes wrong is written down. */
  async #carryOut(work: Work): Promise<void> {
    const { id } = work.row;
    const { logger, writes } = this.#services;
    try {
      await this.#begin(work);
      await work.run({
        signal: work.controller.signal,
        onProgress: (percent) => {
          work.progress = percent;
          for (const wake of work.watchers) wake();
        },
        finish: (db, change) => this.#end(db, id, 'SUCCEEDED', { change }),
      });
    } catch (error) {
      const isCancelled = error instanceof Superseded;
      const isKnown = isCancelled || error instanceof ApiError || writes.noteFailure(error);
      if (!isKnown) logger.error({ err: error, deploymentId: id }, 'a deployment failed');
      await this.#fail(id, isCancelled ? null : error);
    } finally {
      this.#works.delete(id);
      for (const wake of work.watchers) wake();
    }
  }

  async #begin({ row, controller }: Work): Promise<void> {
    controller.signal.throwIfAborted();
    const begun = { status: 'RUNNING', started_at: this.#services.clock.now() };
    Object.assign(row, begun);
    const { numUpdatedRows } = await this.#services.db
      .updateTable('deployments')
      .set(begun)
      .where('id', '=', row.id)
      .where('ended_at', 'is', null)
      .where('cancel_requested_at', 'is', null)
      .executeTakeFirstOrThrow();
    if (numUpdatedRows === 0n) throw new Superseded();
  }

  /** Ends a deployment, unless somebody else has ended or cancelled it. */
  async #end(
    db: Db,
    id: string,
    status: Status,
    { change, error }: { change?: ProjectChange; error?: { code: string; message: string } },
  ): Promise<void> {
    let rows = db
      .updateTable('deployments')
      .set({
        status,
        ended_at: this.#services.clock.now(),
        error_json: error === undefined ? null : JSON.stringify(error),
        result_json: change === undefined ? null : JSON.stringify(change),
      })
      .where('id', '=', id)
      .where('ended_at', 'is', null);
    if (status === 'SUCCEEDED') rows = rows.where('cancel_requested_at', 'is', null);
    const { numUpdatedRows } = await rows.executeTakeFirstOrThrow();
    if (numUpdatedRows === 0n && status === 'SUCCEEDED') throw new Superseded();
  }

  /** Writes why it failed; null for a cancellation. A database that is away leaves it to the next start. */
  async #fail(id: string, cause: unknown): Promise<void> {
    const { commits, logger } = this.#services;
    const error =
      cause instanceof ApiError
        ? { code: cause.code, message: cause.message }
        : { code: 'INTERNAL', message: 'an internal error; nothing was changed. Deploy again' };
    await commits
      .run((db) =>
        cause === null
          ? this.#end(db, id, 'CANCELLED', {})
          : this.#end(db, id, 'FAILED', { error }),
      )
      .catch((failure: unknown) => {
        logger.warn({ err: failure, deploymentId: id }, 'the end of a deployment was not written');
      });
  }

  /** Throws 404. */
  async read(accountId: string, logicalId: string, id: string): Promise<DeploymentWire> {
    const work = this.#works.get(id);
    // The transaction of a deployment holds the database on SQLite.
    if (work?.row.account_id === accountId && work.row.logical_id === logicalId) {
      return deploymentToWire(work.row, work.progress);
    }
    const row = await ownRows(this.#services.db, 'deployments', accountId)
      .where('logical_id', '=', logicalId)
      .where('id', '=', id)
      .executeTakeFirstOrThrow(() => notFound('deployment', id));
    return deploymentToWire(row);
  }

  /** Asks for the end of a deployment. One that has ended stays as it is. */
  async cancel(accountId: string, logicalId: string, id: string): Promise<DeploymentWire> {
    const { clock, db } = this.#services;
    await this.read(accountId, logicalId, id);
    const now = clock.now();
    const work = this.#works.get(id);
    if (work !== undefined) {
      work.row.cancel_requested_at ??= now;
      // Before the row: on SQLite its change waits for the end of the transaction.
      work.controller.abort(new Superseded());
    }
    await updateOwnRows(db, 'deployments', accountId)
      .set({ cancel_requested_at: now })
      .where('id', '=', id)
      .where('ended_at', 'is', null)
      .where('cancel_requested_at', 'is', null)
      .execute();
    return this.read(accountId, logicalId, id);
  }

  /** The progress of a deployment whenever it has changed, until it has ended or the client is gone. */
  async *watch(
    accountId: string,
    logicalId: string,
    id: string,
    signal: AbortSignal,
  ): AsyncGenerator<DeploymentWire, void> {
    let last: DeploymentWire | null = null;
    while (!signal.aborted) {
      const now = await this.read(accountId, logicalId, id);
      if (last === null || now.progress !== last.progress || now.endedAt !== null) yield now;
      if (now.endedAt !== null) return;
      last = now;
      await this.#news(id, signal);
    }
  }

  /** Until the deployment makes progress, or has another state in the database perhaps. */
  async #news(id: string, signal: AbortSignal): Promise<void> {
    const work = this.#works.get(id);
    const { clock } = this.#services;
    if (work === undefined) {
      await sleep(clock, lookEveryMs, signal);
      return;
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    work.watchers.add(resolve);
    signal.addEventListener(
      'abort',
      () => {
        resolve();
      },
      { once: true },
    );
    await promise;
    work.watchers.delete(resolve);
  }

  /** What waits is cancelled, and what runs is undone: the process ends. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    const reason = 'the control plane stops; nothing was changed. Deploy again';
    for (const { controller } of this.#works.values()) {
      controller.abort(new ApiError('UNAVAILABLE', reason));
    }
    await this.#last;
  }

  /** Ends deployments that nobody carries out any more: nothing of them was stored. */
  abandon(): Promise<void> {
    return this.#services.commits.run((db) => this.#abandonGone(db));
  }

  async #abandonGone(db: Db): Promise<void> {
    const { clock, replicas } = this.#services;
    const now = clock.now();
    const own = [...this.#works.keys()];
    const open = db
      .updateTable('deployments')
      .set({
        status: 'FAILED',
        ended_at: now,
        error_json: JSON.stringify({
          code: 'ABANDONED',
          message: 'the process that deployed ended; nothing was changed. Deploy again',
        }),
      })
      .where('ended_at', 'is', null)
      .where('id', 'not in', ['', ...own]);
    const others = aliveReplicas(db, now).where('id', '!=', replicas.id);
    await (replicas.isAlone ? open : open.where('replica_id', 'not in', others)).execute();
  }
}

/** Forgets deployments that ended long ago. */
export async function pruneDeployments({ db, clock }: Services): Promise<void> {
  await db
    .deleteFrom('deployments')
    .where('ended_at', '<', clock.now() - keptMs)
    .execute();
}
