import { sql } from 'kysely';
import { sleep, systemClock } from '@monitor/shared/clock.ts';
import type { Db } from '../db/tables.ts';
import { OperatorError } from '../errors/operator-error.ts';

const looks = 5;
const betweenLooksMs = 500;

/**
 * Refuses when a replica is connected to a PostgreSQL, or another command. Sessions are seen by the
 * name that they give themselves; `ownId` is in the name of the own ones. `what` begins the sentence.
 */
export async function refuseOtherSessions(db: Db, what: string, ownId: string): Promise<void> {
  const find = async () => {
    const { rows } = await sql<{ name: string; address: string | null }>`
      select application_name as name, host(client_addr) as address from pg_stat_activity
      where datname = current_database() and application_name like 'monitor/%'
        and application_name <> ${`monitor/${ownId}`}
      order by application_name limit 1`.execute(db);
    return rows[0];
  };
  let session = await find();
  // Sessions of a replica that was stopped just now end a moment later.
  for (let look = 1; session !== undefined && look < looks; look += 1) {
    await sleep(systemClock, betweenLooksMs);
    session = await find();
  }
  if (session === undefined) return;
  throw new OperatorError(
    `${what} is in use, by ${session.name}${session.address === null ? '' : ` at ${session.address}`}: stop every \`serve\` first, then run this again; nothing was changed`,
  );
}
