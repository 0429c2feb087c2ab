/** Where the verdicts of another installation differ. */
import { sql, type Kysely } from 'kysely';
import { ddl } from '../ddl.ts';
import type { Engine } from '../engine.ts';

const ofAccount = 'account_id text not null references accounts (id) CASCADE';
const ofCheck = 'check_id text not null references checks (id) CASCADE';

const statements = [
  `create table shadows (id COUNTED, account_id text not null unique references accounts (id) CASCADE,
  base_url text not null, other_account_id text, key_encrypted text not null,
  project_logical_id text not null, created_at INT not null, next_at INT not null, problem text) STRICT`,
  `create table shadow_checks (id COUNTED, ${ofAccount},
  check_id text not null unique references checks (id) CASCADE, read_until INT not null,
  compared INT not null, undecided INT not null, problem text) STRICT`,
  `create table shadow_differences (id COUNTED, ${ofAccount}, ${ofCheck}, side text not null,
  first_at INT not null, last_at INT not null, results INT not null, fits_between_runs FLAG not null,
  evidence_json text not null, created_at INT not null) STRICT`,
  `create index shadow_differences_by_check on shadow_differences (check_id, last_at)`,
  `create index shadow_differences_by_account on shadow_differences (account_id, last_at)`,
  `create index shadow_checks_by_account on shadow_checks (account_id)`,
];

/** It compares nothing meanwhile. */
export const oldestBuild = '0061-owed-incidents';

export async function up(db: Kysely<unknown>, engine: Engine): Promise<void> {
  for (const statement of statements) await sql.raw(ddl(statement, engine)).execute(db);
}
