import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Command } from 'commander';
import type { Kysely } from 'kysely';
import { systemClock } from '@monitor/shared/clock.ts';
import { dataCenterLocation } from '@monitor/shared/contract/primitives.ts';
import { processEnvironment, readConfig } from '../config.ts';
import { migrateToLatest } from '../db/migrate.ts';
import { openDatabase } from '../db/open.ts';
import type { Database } from '../db/tables.ts';
import { createApiKey, createLocationKey, findOrCreateAccount } from '../resources/keys/store.ts';

async function withDatabase<T>(work: (db: Kysely<Database>) => Promise<T>): Promise<T> {
  const { DATABASE_FILE } = readConfig(processEnvironment);
  mkdirSync(dirname(DATABASE_FILE), { recursive: true, mode: 0o700 });
  const db = openDatabase(DATABASE_FILE);
  try {
    await migrateToLatest(db);
    return await work(db);
  } finally {
    await db.destroy();
  }
}

function print(value: Record<string, string>, asJson: boolean): void {
  if (asJson) console.log(JSON.stringify(value));
  else for (const [name, text] of Object.entries(value)) console.log(`${name}: ${text}`);
}

/** `control-plane keys …`: makes keys in the database named by DATABASE_FILE. */
export function registerKeys(program: Command): void {
  const keys = program.command('keys').description('keys of the API and of locations');
  keys
    .command('create')
    .description('create an API key; it is shown this once')
    .requiredOption('--name <name>', 'what the key is for')
    .option('--json', 'print JSON')
    .action(async (options: { name: string; json?: boolean }) => {
      await withDatabase(async (db) => {
        const deps = { db, clock: systemClock, newId: randomUUID };
        const accountId = await findOrCreateAccount(deps);
        const { rawKey } = await createApiKey(deps, accountId, options.name);
        print({ accountId, rawKey }, options.json === true);
      });
    });
  keys
    .command('create-location')
    .description('create a key with which an agent serves a data-center location')
    .requiredOption('--location <location>', 'a data-center location, for example eu-central-1')
    .option('--json', 'print JSON')
    .action(async (options: { location: string; json?: boolean }) => {
      const location = dataCenterLocation.safeParse(options.location);
      if (!location.success) {
        throw new Error(
          `"${options.location}" is not a data-center location; private locations get keys through the API (POST /v1/private-locations/{id}/keys)`,
        );
      }
      await withDatabase(async (db) => {
        const deps = { db, clock: systemClock, newId: randomUUID };
        const accountId = await findOrCreateAccount(deps);
        const { rawKey } = await createLocationKey(deps, accountId, location.data, null);
        print({ accountId, location: location.data, rawKey }, options.json === true);
      });
    });
}
