/** Code bundles: rows, and their objects below `bundles/` in the artifact store. */
import { randomBytes } from 'node:crypto';
import type { Readable } from 'node:stream';
import { checkTypes } from '@monitor/shared/contract/checks/index.ts';
import type { OwnedObjects } from '../../core/artifact-store.ts';
import type { Services } from '../../core/services.ts';
import { fromJson } from '../../db/columns.ts';
import { sql } from 'kysely';
import { ownRows, updateOwnRows } from '../../db/own-rows.ts';
import { jsonValue } from '../../db/expressions.ts';
import { lockKeys, lockRows } from '../../db/lock.ts';
import type { Db, RowOf } from '../../db/tables.ts';
import { ApiError } from '../../errors/api-error.ts';
import { imagePathOf, typesWithScreenshots } from '../baselines.ts';
import { IncomingBundle } from './receive-bundle.ts';

const typesWithBundle = Object.values(checkTypes).flatMap(({ type, definitionKeys }) =>
  definitionKeys.includes('codeBundlePath') ? [type] : [],
);

export type CodeBundleRow = RowOf<'code_bundles'>;

interface CodeBundleParts extends Pick<Services, 'clock' | 'commits' | 'db'> {
  objects: OwnedObjects;
  /** Of an account; 0 for no limit. */
  quotaBytes: number;
}

/** Key of a new object: every upload has one of its own, so that no upload meets a deletion. */
function newBundleKey(accountId: string): string {
  return `bundles/${accountId}/${randomBytes(12).toString('hex')}.tgz`;
}

/** Writes the row of a stored bundle; gives the row, and the key of an object that it named before. */
async function writeRow(
  db: Db,
  row: CodeBundleRow & { object_key: string },
): Promise<string | null> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('code_bundles')
    .values(row)
    .onConflict((conflict) => conflict.columns(['account_id', 'path']).doNothing())
    .executeTakeFirst();
  if (numInsertedOrUpdatedRows === 1n) return null;
  const known = db
    .selectFrom('code_bundles')
    .select('object_key')
    .where('account_id', '=', row.account_id)
    .where('path', '=', row.path);
  const before = await lockRows(known).executeTakeFirst();
  // It was pruned in between.
  if (before === undefined) return writeRow(db, row);
  await updateOwnRows(db, 'code_bundles', row.account_id)
    .set({ object_key: row.object_key, last_used_at: row.last_used_at })
    .where('path', '=', row.path)
    .execute();
  return before.object_key;
}

/** What an account keeps, without the one of a digest. */
async function keptBytes(db: Db, accountId: string, digest: string | null): Promise<number> {
  const { bytes } = await db
    .selectFrom('code_bundles')
    .select((select) => select.fn.sum<number | string | null>('size_bytes').as('bytes'))
    .where('account_id', '=', accountId)
    .where('digest', '!=', digest ?? '')
    .executeTakeFirstOrThrow();
  return Number(bytes ?? 0);
}

export class CodeBundleStore {
  readonly #parts: CodeBundleParts;

  /** What arrives at this moment, by account: many uploads at once pass no limit together. */
  readonly #arriving = new Map<string, number>();

  constructor(parts: CodeBundleParts) {
    this.#parts = parts;
  }

  /** Throws where an account would keep more than it may. */
  #refuseBeyond(bytes: number): void {
    const { quotaBytes } = this.#parts;
    if (quotaBytes === 0 || bytes <= quotaBytes) return;
    throw new ApiError(
      'PAYLOAD_TOO_LARGE',
      `the code bundles and files of this account would be over its quota of ${quotaBytes} bytes (BUNDLE_MIB); delete checks that need old ones: what nothing names goes within a day`,
      { source: 'payload', limitBytes: quotaBytes, quota: 'BUNDLE_MIB' },
    );
  }

  /**
   * Counts chunks from their arrival until `done`. What is kept already is counted once the digest is
   * known: a bundle that is sent again adds nothing.
   */
  #counted(accountId: string, announcedBytes = 0) {
    let own = 0;
    const add = (bytes: number): number => {
      own += bytes;
      const all = (this.#arriving.get(accountId) ?? 0) + bytes;
      if (all === 0) this.#arriving.delete(accountId);
      else this.#arriving.set(accountId, all);
      return all;
    };
    const chunks = async function* (
      this: CodeBundleStore,
      body: AsyncIterable<Buffer>,
    ): AsyncGenerator<Buffer, void> {
      this.#refuseBeyond(add(0) + announcedBytes);
      for await (const chunk of body) {
        this.#refuseBeyond(add(chunk.length));
        yield chunk;
      }
    }.bind(this);
    return { chunks, done: () => add(-own) };
  }

  /**
   * Stores the bundle in `body`, or another `file` of a project. Equal ones share one row, which names
   * the newest object.
   */
  async receive(
    accountId: string,
    body: Readable,
    announcedBytes: number | undefined,
    signal: AbortSignal,
    kind: 'bundle' | 'file' = 'bundle',
  ): Promise<CodeBundleRow> {
    const { clock, objects } = this.#parts;
    const key = newBundleKey(accountId);
    const arrival = this.#counted(accountId, announcedBytes);
    try {
      const bundle = new IncomingBundle(body, announcedBytes, signal, kind === 'bundle');
      return await objects.store(
        key,
        body,
        arrival.chunks(bundle.chunks()),
        async (db, sizeBytes) => {
          await lockKeys(db, [`code bundles of ${accountId}`]);
          this.#refuseBeyond((await keptBytes(db, accountId, bundle.digest)) + sizeBytes);
          const now = clock.now();
          const row = {
            account_id: accountId,
            path: kind === 'bundle' ? `bundles/${bundle.digest}.tgz` : `files/${bundle.digest}`,
            digest: bundle.digest,
            size_bytes: sizeBytes,
            created_at: now,
            last_used_at: now,
            object_key: key,
          };
          return { value: row, superseded: await writeRow(db, row) };
        },
      );
    } catch (error) {
      // The rest of the body is read and dropped, so that the caller can read the answer.
      if (!body.destroyed) body.resume();
      throw error;
    } finally {
      arrival.done();
    }
  }

  /** Path of the bundle of a suite that runs in a location; undefined for any other check. */
  async pathForCheck(
    { accountId, location }: { accountId: string; location: string },
    checkId: string,
  ): Promise<string | undefined> {
    const row = await this.#parts.db
      .selectFrom('checks')
      .innerJoin('check_locations', 'check_locations.check_id', 'checks.id')
      .select('checks.body_json')
      .where('checks.account_id', '=', accountId)
      .where('check_locations.account_id', '=', accountId)
      .where('check_locations.location', '=', location)
      .where('checks.id', '=', checkId)
      .where('checks.type', 'in', typesWithBundle)
      .executeTakeFirst();
    if (row === undefined) return undefined;
    return fromJson<{ codeBundlePath: string }>(row.body_json).codeBundlePath;
  }

  /** Path of an image that a check of a location compares with: approved there, or deployed. */
  async pathOfImage(
    { accountId, location }: { accountId: string; location: string },
    checkId: string,
    digest: string,
  ): Promise<string | undefined> {
    const path = imagePathOf(digest);
    const row = await this.#parts.db
      .selectFrom('checks')
      .innerJoin('check_locations', 'check_locations.check_id', 'checks.id')
      .leftJoin('baselines', (join) =>
        join
          .onRef('baselines.check_id', '=', 'checks.id')
          .on('baselines.location', '=', location)
          .on('baselines.image_path', '=', path),
      )
      .select(['checks.body_json', 'baselines.id as baseline'])
      .where('checks.account_id', '=', accountId)
      .where('check_locations.account_id', '=', accountId)
      .where('check_locations.location', '=', location)
      .where('checks.id', '=', checkId)
      .where('checks.type', 'in', typesWithScreenshots)
      .executeTakeFirst();
    if (row === undefined) return undefined;
    const { snapshots } = fromJson<{ snapshots?: { key: string }[] | null }>(row.body_json);
    const isNamed = row.baseline !== null || snapshots?.some(({ key }) => key === path) === true;
    return isNamed ? path : undefined;
  }

  /** Undefined for an unknown bundle. */
  find(accountId: string, path: string): Promise<CodeBundleRow | undefined> {
    return ownRows(this.#parts.db, 'code_bundles', accountId)
      .where('path', '=', path)
      .executeTakeFirst();
  }

  /** Opens a bundle for reading, which also counts as a use; undefined for an unknown bundle. */
  async open(
    accountId: string,
    path: string,
  ): Promise<{ stream: Readable; row: CodeBundleRow } | undefined> {
    const { clock, db, objects } = this.#parts;
    const row = await updateOwnRows(db, 'code_bundles', accountId)
      .set({ last_used_at: clock.now() })
      .where('path', '=', path)
      .returningAll()
      .executeTakeFirst();
    if (row === undefined) return undefined;
    // Opened before the answer begins: a missing file becomes an internal error instead of half an
    // answer.
    const stream = row.object_key === null ? null : await objects.open(row.object_key);
    if (stream === null) throw new Error(`the code bundle ${path} is not in the store`);
    return { stream, row };
  }

  /** Deletes what no check or report names and that were not used since `unusedSince`; gives their number. */
  async prune(unusedSince: number): Promise<number> {
    const { commits, objects } = this.#parts;
    return commits.run(async (db) => {
      const gone = await db
        .deleteFrom('code_bundles')
        .where('last_used_at', '<', unusedSince)
        .where((where) =>
          where.not(
            where.exists(
              where
                .selectFrom('checks')
                .select('checks.id')
                .whereRef('checks.account_id', '=', 'code_bundles.account_id')
                .where('checks.type', 'in', typesWithBundle)
                .whereRef(
                  jsonValue<string>('checks.body_json', '$.codeBundlePath'),
                  '=',
                  'code_bundles.path',
                ),
            ),
          ),
        )
        .where((where) =>
          where.or([
            where('code_bundles.path', 'not like', 'files/%'),
            where.and([
              where.not(
                where.exists(
                  where
                    .selectFrom('test_results')
                    .select('test_results.id')
                    .whereRef('test_results.account_id', '=', 'code_bundles.account_id')
                    .whereRef(
                      jsonValue<string>('test_results.report_json', '$.key'),
                      '=',
                      'code_bundles.path',
                    ),
                ),
              ),
              where.not(
                where.exists(
                  where
                    .selectFrom('baselines')
                    .select('baselines.id')
                    .whereRef('baselines.account_id', '=', 'code_bundles.account_id')
                    .whereRef('baselines.image_path', '=', 'code_bundles.path'),
                ),
              ),
              where.not(
                where.exists(
                  where
                    .selectFrom('checks')
                    .select('checks.id')
                    .whereRef('checks.account_id', '=', 'code_bundles.account_id')
                    .where('checks.type', 'in', typesWithScreenshots)
                    .where(
                      'checks.body_json',
                      'like',
                      sql<string>`'%"' || code_bundles.path || '"%'`,
                    ),
                ),
              ),
            ]),
          ]),
        )
        .returning('object_key')
        .execute();
      await objects.discard(
        db,
        gone.flatMap(({ object_key: key }) => key ?? []),
      );
      return gone.length;
    });
  }
}
