import { existsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Command } from 'commander';
import { holderInWords, isServed, type Salvaged, salvageDatabase } from '../../integrity/index.ts';
import { OperatorError, trying } from '../../errors/operator-error.ts';
import { FileInTheMaking, stopOnSignal } from './file-in-the-making.ts';
import { readFileSettings } from './installation.ts';
import { note, printJson } from './output.ts';

interface Options {
  from?: string;
  json?: boolean;
}

const help = `
Stop \`serve\` first. The damaged database is only read. Then put the new one in
its place:

  control-plane salvage /tmp/salvaged.db
  control-plane restore --yes /tmp/salvaged.db

Secrets in it need the key file of the damaged database, which stays in place.
`;

function refuseUnusable(from: string, to: string): void {
  if (!existsSync(from) && !existsSync(`${from}-wal`)) {
    throw new OperatorError(`there is no database at ${from}: correct the path, or --from`);
  }
  if (existsSync(to)) throw new OperatorError(`${to} exists: choose another name`);
  if (!existsSync(dirname(to)) || !statSync(dirname(to)).isDirectory()) {
    throw new OperatorError(`cannot salvage to ${to}: make the folder ${dirname(to)} first`);
  }
  if (isServed(from)) {
    throw new OperatorError(
      `the database ${from} is served, by ${holderInWords(from)}: stop that first; nothing was changed`,
    );
  }
}

function printSalvaged({ tables, orphans }: Salvaged): void {
  for (const { table, rows, lost, damagedPages, conflicts } of tables) {
    const facts = [
      `${rows} rows`,
      ...(lost === 0 ? [] : [`${lost} lost`]),
      ...(damagedPages === 0 ? [] : [`${damagedPages} pages that cannot be read`]),
      ...(conflicts === 0 ? [] : [`${conflicts} found twice`]),
    ];
    if (rows > 0 || facts.length > 1) console.log(`${table}: ${facts.join(', ')}`);
  }
  for (const { table, rows } of orphans) {
    console.log(`${table}: ${rows} rows belong to something that is lost`);
  }
}

async function salvage(name: string, { from: given, json = false }: Options): Promise<void> {
  const from =
    given === undefined
      ? readFileSettings('salvage', () => 'name a file with --from').DATABASE_FILE
      : resolve(given);
  const to = resolve(name);
  refuseUnusable(from, to);
  using stop = stopOnSignal();
  const salvaged = await trying(`salvage ${from} to ${to}`, async () => {
    using copy = new FileInTheMaking(to);
    note(`reading ${from}`);
    const done = await salvageDatabase(from, copy.path, (rows) => {
      stop.throwIfStopped();
      if (process.stderr.isTTY) note(`${rows} rows`);
    });
    await stop.throwIfStoppedMeanwhile();
    copy.finish();
    return done;
  });
  if (json) {
    printJson({ database: from, salvaged: to, ...salvaged });
    return;
  }
  printSalvaged(salvaged);
  note(`salvaged to ${to}; put it in place with "control-plane restore --yes ${to}"`);
}

/** `control-plane salvage`: copies the readable rows of a damaged database into a new one. */
export function registerSalvage(program: Command): void {
  program
    .command('salvage')
    .description('recover what is readable from a damaged database into a new one')
    .argument('<file>', 'where to')
    .option('--from <database>', 'another database than DATABASE_FILE')
    .option('--json', 'print JSON')
    .addHelpText('after', help)
    .action(salvage);
}
