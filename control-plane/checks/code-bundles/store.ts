/** Code bundles: rows, and their files at `<folder>/<account>/<digest>.tgz`. */
import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import type { Kysely, Selectable } from 'kysely';
import { checkTypes } from '@monitor/shared/contract/checks/index.ts';
import type { Clock } from '@monitor/shared/clock.ts';
import { fromJson } from '../../db/columns.ts';
import { jsonValue } from '../../db/expressions.ts';
import type { Database } from '../../db/tables.ts';
import type { CodeBundlesTable } from '../tables.ts';
import { receiveBundle } from './receive-bundle.ts';

const typesWithBundle = Object.values(checkTypes).flatMap(({ type, definitionKeys }) =>
  definitionKeys.includes('codeBundlePath') ? [type] : [],
);

export type CodeBundleRow = Selectable<CodeBundlesTable>;

export interface CodeBundleParts {
  db: Kysely<Database>;
  clock: Clock;
  /** Folder of the files, for example `<ARTIFACTS_DIR>/bundles`. */
  folder: string;
}

/** Rows and files change together, one change at a time, so that an upload never races with a deletion. */
export class CodeBundleStore {
  readonly #db: Kysely<Database>;
  readonly #clock: Clock;
  readonly #folder: string;
  #last: Promise<unknown> = Promise.resolve();

  constructor({ db, clock, folder }: CodeBundleParts) {
    this.#db = db;
    this.#clock = clock;
    this.#folder = folder;
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work, work);
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  #fileOf(accountId: string, digest: string): string {
    return join(this.#folder, accountId, `${digest}.tgz`);
  }

  /** Stores the bundle in `body`. Equal bundles share one file and one row. */
  async receive(
    accountId: string,
    body: Readable,
    announcedBytes: number | undefined,
    signal: AbortSignal,
  ): Promise<CodeBundleRow> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const incoming = join(this.#folder, `incoming-${randomUUID()}`);
    const { digest, sizeBytes } = await receiveBundle(incoming, body, announcedBytes, signal);
    return this.#inTurn(async () => {
      const file = this.#fileOf(accountId, digest);
      await mkdir(dirname(file), { recursive: true, mode: 0o700 });
      await rename(incoming, file);
      await using directory = await open(dirname(file));
      await directory.sync();
      const now = this.#clock.now();
      return this.#db
        .insertInto('code_bundles')
        .values({
          account_id: accountId,
          path: `bundles/${digest}.tgz`,
          digest,
          size_bytes: sizeBytes,
          created_at: now,
          last_used_at: now,
        })
        .onConflict((conflict) =>
          conflict.columns(['account_id', 'path']).doUpdateSet({ last_used_at: now }),
        )
        .returningAll()
        .executeTakeFirstOrThrow();
    });
  }

  /** Path of the bundle of a suite that runs in a location; undefined for any other check. */
  async pathForCheck(
    { accountId, location }: { accountId: string; location: string },
    checkId: string,
  ): Promise<string | undefined> {
    const row = await this.#db
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

  /** Opens a bundle for reading, which also counts as a use; undefined for an unknown bundle. */
  async open(
    accountId: string,
    path: string,
  ): Promise<{ stream: Readable; row: CodeBundleRow } | undefined> {
    const row = await this.#db
      .updateTable('code_bundles')
      .set({ last_used_at: this.#clock.now() })
      .where('account_id', '=', accountId)
      .where('path', '=', path)
      .returningAll()
      .executeTakeFirst();
    if (row === undefined) return undefined;
    // Opened before the answer begins: a missing file becomes an internal error instead of half an
    // answer.
    const handle = await open(this.#fileOf(accountId, row.digest));
    return { stream: createReadStream('', { fd: handle }), row };
  }

  /** Deletes bundles that no check names and that were not used since `unusedSince`; gives their number. */
  async prune(unusedSince: number): Promise<number> {
    return this.#inTurn(async () => {
      const gone = await this.#db
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
        .returning(['account_id', 'digest'])
        .execute();
      for (const { account_id: accountId, digest } of gone) {
        await rm(this.#fileOf(accountId, digest), { force: true });
      }
      return gone.length;
    });
  }
}
