import type { Command } from 'commander';
import { migrateToLatest } from '../../db/migrate.ts';
import { nameOfDatabase, openFittingKey } from '../../integrity/index.ts';
import { readSettings, withDatabase } from './installation.ts';
import { printJson } from './output.ts';

/** `control-plane migrate`: migrates the database to the newest schema, or creates it. */
export function registerMigrate(program: Command): void {
  program
    .command('migrate')
    .description('migrate the database to the newest schema; `serve` does this at startup')
    .option('--json', 'print JSON')
    .action(async (options: { json?: boolean }) => {
      const settings = readSettings();
      const database = nameOfDatabase(settings);
      const applied = await withDatabase(settings, async (db) => {
        const names = await migrateToLatest(db);
        await openFittingKey(db, settings, false);
        return names;
      });
      if (options.json === true) printJson({ database, applied });
      else if (applied.length === 0) console.log(`${database} is up to date`);
      else for (const name of applied) console.log(`applied ${name}`);
    });
}
