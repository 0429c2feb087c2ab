import { resolve } from 'node:path';
import type { Command } from 'commander';
import { exitCodes } from '../../errors/exit-codes.ts';
import { damageAdvice, verifyDatabase } from '../../integrity/index.ts';
import { readSettings } from './installation.ts';
import { note, printJson } from './output.ts';

interface Options {
  quick?: boolean;
  json?: boolean;
}

const help = `
Looks at the structure of the file, at its log, at every payload of a result and
at every column with JSON. Changes nothing; \`serve\` may be running.

Exit codes: 0 nothing found, 1 damaged (it says where), 2 settings unusable.
`;

function verify(name: string | undefined, { quick = false, json = false }: Options): void {
  const file = name === undefined ? readSettings().DATABASE_FILE : resolve(name);
  if (!json) note(`looking at ${file}`);
  const found = verifyDatabase(file, { quick });
  if (json) printJson(found);
  else if (found.ok) console.log(`${file}: nothing found`);
  else {
    for (const problem of found.problems) console.log(problem);
    note(damageAdvice);
  }
  process.exitCode = found.ok ? exitCodes.ok : exitCodes.failed;
}

/** `control-plane verify`: checks the integrity of a database. */
export function registerVerify(program: Command): void {
  program
    .command('verify')
    .description('look for damage in the database, while `serve` may be running')
    .argument('[file]', 'another file than DATABASE_FILE, such as a backup')
    .option('--quick', 'look at the structure of the file alone')
    .option('--json', 'print JSON')
    .addHelpText('after', help)
    .action(verify);
}
