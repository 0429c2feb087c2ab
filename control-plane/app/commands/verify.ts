import { resolve } from 'node:path';
import type { Command } from 'commander';
import { exitCodes } from '../../errors/exit-codes.ts';
import {
  damageAdvice,
  nameOfDatabase,
  serverDamageAdvice,
  verifyDatabase,
  verifyServer,
} from '../../integrity/index.ts';
import { readSettings, withDatabase } from './installation.ts';
import { note, printJson } from './output.ts';

interface Options {
  quick?: boolean;
  json?: boolean;
}

const help = `
Looks at the structure of the file, at its log, at every payload of a result and
at every column with JSON. Changes nothing; \`serve\` may be running. In a
PostgreSQL it looks at payloads and JSON; pg_amcheck looks at the rest.

Exit codes: 0 nothing found, 1 damaged (it says where), 2 settings unusable.
`;

async function verify(
  name: string | undefined,
  { quick = false, json = false }: Options,
): Promise<void> {
  const settings = name === undefined ? readSettings() : { DATABASE_FILE: resolve(name) };
  const database = nameOfDatabase(settings);
  if (!json) note(`looking at ${database}`);
  const isServer = 'DATABASE_URL' in settings && settings.DATABASE_URL !== undefined;
  const found = isServer
    ? await withDatabase(settings, (db) => verifyServer(db, database, { quick }))
    : verifyDatabase(database, { quick });
  if (json) printJson(found);
  else if (found.ok) console.log(`${database}: nothing found`);
  else {
    for (const problem of found.problems) console.log(problem);
    note(isServer ? serverDamageAdvice : damageAdvice);
  }
  process.exitCode = found.ok ? exitCodes.ok : exitCodes.failed;
}

/** `control-plane verify`: checks the integrity of a database. */
export function registerVerify(program: Command): void {
  program
    .command('verify')
    .description('check the database for corruption, while `serve` may be running')
    .argument('[file]', 'another file than DATABASE_FILE, such as a backup')
    .option('--quick', 'look at the structure of the file alone')
    .option('--json', 'print JSON')
    .addHelpText('after', help)
    .action(verify);
}
