/**
 * Holds deletions for a minute, in which they can be undone from anywhere, and carries them out by the
 * handlers of their routes. What must not wait takes effect at once: a check runs no more.
 */
import type { ExpressionBuilder } from 'kysely';
import type { deletionRoutes } from '@monitor/shared/contract/deletion.ts';
import { hideCheck, showCheck } from '../checks/index.ts';
import type { Services } from '../core/services.ts';
import type { AfterCommit } from '../db/after-commit.ts';
import { deleteOwnRows } from '../db/own-rows.ts';
import { fromFlag, fromJson, toFlag, toTimestamp } from '../db/columns.ts';
import type { Database, Db, RowOf } from '../db/tables.ts';
import { ApiError, notFound } from '../errors/api-error.ts';
import type { ApiPrincipal } from '../http/authenticate.ts';
import { readingContext } from '../http/call-context.ts';
import type { BoundRoute, Handlers } from '../http/handlers.ts';
import type { Deletion } from '../http/serve-route.ts';

const heldMs = 60_000;
const failedKeptMs = 600_000;
/** After a fault; and of a deletion that a crash has ended. */
const retryMs = 60_000;
const atOnce = 100;
const maxListed = 1_000;

/** A check takes effect at once; other entries are there until the minute is over. */
const hides = (operation: string): boolean => operation === 'deleteCheck';

const idIn = (input: { params?: unknown }): string => String((input.params as { id: unknown }).id);

type HeldRow = RowOf<'held_deletions'>;

const canBeUndone = (where: ExpressionBuilder<Database, 'held_deletions'>) =>
  where.or([
    where('held_deletions.is_begun', '=', 0),
    where('held_deletions.problem', 'is not', null),
  ]);

/** Ends the effect of a deletion that is not carried out. */
async function giveBack(services: Services, db: Db, row: HeldRow): Promise<AfterCommit[]> {
  if (!hides(row.operation)) return [];
  const id = idIn(fromJson(row.input_json));
  try {
    return await showCheck(services, db, row.account_id, id, fromFlag(row.was_active));
  } catch (error) {
    // It was deleted at once.
    if (error instanceof ApiError && error.statusCode === 404) return [];
    throw error;
  }
}

export class HeldDeletions {
  readonly #services: Services;
  readonly #handlers: ReadonlyMap<string, BoundRoute['handle']>;
  readonly #onChange: (accountId: string, what: string) => void;

  constructor(
    services: Services,
    routes: readonly BoundRoute[],
    onChange: (accountId: string, what: string) => void,
  ) {
    this.#services = services;
    this.#handlers = new Map(routes.map(({ route, handle }) => [route.operationId, handle]));
    this.#onChange = onChange;
  }

  async hold({ principal, operation, path, input, name }: Deletion): Promise<void> {
    const { commits, clock, newId } = this.#services;
    const { accountId } = principal;
    const steps = await commits.run(async (db) => {
      const hidden = hides(operation)
        ? await hideCheck(this.#services, db, accountId, idIn(input))
        : { wasActive: false, steps: [] };
      await db
        .insertInto('held_deletions')
        .values({
          ...{ id: newId(), account_id: accountId, path, name, operation },
          input_json: JSON.stringify(input),
          principal_json: JSON.stringify(principal),
          was_active: toFlag(hidden.wasActive),
          problem: null,
          due_at: clock.now() + heldMs,
        })
        // One that has failed is tried again; one that is being carried out stays so.
        .onConflict((conflict) =>
          conflict
            .columns(['account_id', 'path'])
            .doUpdateSet({ is_begun: 0, problem: null, due_at: clock.now() + heldMs })
            .where(canBeUndone),
        )
        .execute();
      return hidden.steps;
    });
    commits.after(steps);
    this.#onChange(accountId, 'deletions');
  }

  /** The entry was deleted at once. */
  async forget(accountId: string, path: string): Promise<void> {
    const { numDeletedRows } = await deleteOwnRows(this.#services.db, 'held_deletions', accountId)
      .where('path', '=', path)
      .executeTakeFirstOrThrow();
    if (numDeletedRows > 0n) this.#onChange(accountId, 'deletions');
  }

  /** Carries out what is due. What was carried out before a crash is not there any more. */
  async sweep(): Promise<void> {
    const { db, clock, logger } = this.#services;
    const due = await db
      .selectFrom('held_deletions')
      .select('id')
      .where('due_at', '<=', clock.now())
      .orderBy('due_at')
      .limit(atOnce)
      .execute();
    for (const { id } of due) {
      const row = await db
        .updateTable('held_deletions')
        .set({ is_begun: 1, due_at: clock.now() + retryMs })
        .where('id', '=', id)
        .where('due_at', '<=', clock.now())
        .returningAll()
        .executeTakeFirst();
      if (row === undefined) continue;
      try {
        await this.#end(row);
      } catch (error) {
        logger.error({ err: error, path: row.path }, 'a held deletion failed; it is tried again');
      }
    }
  }

  async #end(row: HeldRow): Promise<void> {
    const { db, clock, commits } = this.#services;
    const problem = row.problem === null ? await this.#carryOut(row) : null;
    if (problem !== null) {
      const failed = { problem, due_at: clock.now() + failedKeptMs };
      await db.updateTable('held_deletions').set(failed).where('id', '=', row.id).execute();
    } else {
      const steps = await commits.run(async (unit) => {
        await unit.deleteFrom('held_deletions').where('id', '=', row.id).execute();
        return row.problem === null ? [] : giveBack(this.#services, unit, row);
      });
      commits.after(steps);
    }
    for (const what of ['deletions', row.path.split('/')[1] ?? '']) {
      this.#onChange(row.account_id, what);
    }
  }

  /** Why it was refused; null when the entry is gone. */
  async #carryOut(row: HeldRow): Promise<string | null> {
    const context = readingContext(
      fromJson<ApiPrincipal>(row.principal_json),
      this.#services.clock.now(),
    );
    const handle = this.#handlers.get(row.operation);
    if (handle === undefined) return `this version does not know ${row.operation}`;
    try {
      await handle(fromJson(row.input_json) as never, context as never);
      return null;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return error.statusCode === 404 ? null : error.message;
    }
  }
}

/** False when there is none, or when it is being carried out. */
export async function undo(
  services: Services,
  accountId: string,
  [column, value]: ['id' | 'path', string],
): Promise<boolean> {
  const steps = await services.commits.run(async (unit) => {
    const row = await deleteOwnRows(unit, 'held_deletions', accountId)
      .where(column, '=', value)
      .where(canBeUndone)
      .returningAll()
      .executeTakeFirst();
    return row === undefined ? null : giveBack(services, unit, row);
  });
  services.commits.after(steps ?? []);
  return steps !== null;
}

export function deletionHandlers(services: Services): Handlers<typeof deletionRoutes> {
  const { db } = services;
  return {
    listDeletions: async (_input, { principal }) => {
      const rows = await db
        .selectFrom('held_deletions')
        .select(['id', 'path', 'name', 'due_at', 'problem'])
        .where('account_id', '=', principal.accountId)
        .orderBy('due_at', 'desc')
        .orderBy('id')
        .limit(maxListed)
        .execute();
      return rows.map(({ due_at: dueAt, ...row }) => ({ ...row, dueAt: toTimestamp(dueAt) }));
    },

    undoDeletion: async ({ params: { id } }, { principal: { accountId } }) => {
      if (!(await undo(services, accountId, ['id', id]))) throw notFound('deletion', id);
      return undefined;
    },
  };
}
