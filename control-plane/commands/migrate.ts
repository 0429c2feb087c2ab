import type { Command } from 'commander';
import { migrateToLatest } from '../db/migrate.ts';
import { readSettings, withDatabase } from './installation.ts';
import { printJson } from './output.ts';

/** `control-plane migrate`: brings the database to the newest schema, making it when there is none. */
export function registerMigrate(program: Command): void {
  program
    .command('migrate')
    .description('bring the database to the newest schema; `serve` does so too when it starts')
    .option('--json', 'print JSON')
    .action(async (options: { json?: boolean }) => {
      const { DATABASE_FILE, ENCRYPTION_KEY } = readSettings();
      const hasKeySetting = ENCRYPTION_KEY !== undefined;
      const applied = await withDatabase(DATABASE_FILE, { hasKeySetting }, (db) =>
        migrateToLatest(db),
      );
      if (options.json === true) printJson({ database: DATABASE_FILE, applied });
      else if (applied.length === 0) console.log(`${DATABASE_FILE} is up to date`);
      else for (const name of applied) console.log(`applied ${name}`);
    });
}
