import { randomUUID } from 'node:crypto';
import { rename, rm, writeFile } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import type { Command } from 'commander';
import { filesOf, withoutSecrets, writeFolder } from '../../as-code/index.ts';
import { trying } from '../../errors/operator-error.ts';
import { AccountApi } from './account-api.ts';
import { note, printJson } from './output.ts';

interface ExportOptions {
  url?: string;
  name?: string;
  secrets?: string;
  json?: boolean;
}

const help = `
A file for each resource, named as people name it, with { secret: NAME } in the
place of credentials; so the folder can be kept in a repository. Exporting again
writes what has changed, and removes files of what is gone.

--secrets writes the values to a file that only you can read. Secret variables
have none there: nobody can read them back.

Examples:
  control-plane export monitoring
  control-plane export monitoring --secrets monitoring.env

The key is in CONTROL_PLANE_API_KEY; its role must be ADMIN or OWNER.
`;

/** A value as a file of variables has it, which knows three kinds of quotes. Null for one that it cannot hold. */
function quoted(value: string): string | null {
  // Within double quotes, `\n` is another line.
  const quote = ["'", '`', ...(value.includes('\\') ? [] : ['"'])].find(
    (each) => !value.includes(each),
  );
  return quote === undefined ? null : `${quote}${value}${quote}`;
}

/** Replaces the file: one that others may read would stay so, and a link would be followed. */
async function writePrivately(file: string, text: string): Promise<void> {
  const made = `${file}.${randomUUID()}`;
  try {
    await writeFile(made, text, { mode: 0o600, flag: 'wx' });
    await rename(made, file);
  } catch (error) {
    await rm(made, { force: true });
    throw error;
  }
}

async function writeSecrets(file: string, secrets: ReadonlyMap<string, string | null>) {
  const lines = [...secrets].map(([name, value]) => {
    if (value === null) return `# nobody can read it back\n# ${name}=`;
    const text = quoted(value);
    return text === null
      ? `# it holds every kind of quotes: set it in the environment\n# ${name}=`
      : `${name}=${text}`;
  });
  await trying(`write the secrets to ${file}`, () => writePrivately(file, `${lines.join('\n')}\n`));
}

async function exportAccount(folder: string, options: ExportOptions): Promise<void> {
  const api = new AccountApi(options.url);
  const name = options.name ?? basename(resolve(folder));
  const { project, resources } = await api.export(`export the account to ${folder}`, name, name);
  const { resources: shown, secrets } = withoutSecrets(resources);
  const { written, removed } = await writeFolder(folder, filesOf({ project, resources: shown }));
  if (options.secrets !== undefined) await writeSecrets(options.secrets, secrets);
  if (options.json === true) {
    printJson({ written, removed, secrets: [...secrets.keys()] });
    return;
  }
  console.log(`${written.length} files written, ${removed.length} removed in ${folder}`);
  if (secrets.size === 0 || options.secrets !== undefined) return;
  note(`${secrets.size} secrets are named and not written; --secrets <file> writes their values`);
}

/** `control-plane export`: the resources of an account as files. */
export function registerExport(program: Command): void {
  program
    .command('export')
    .description('write the resources of an account as files, for a repository')
    .argument('<folder>', 'where to; it is made if it is not there')
    .option('--name <project>', 'of the project; default: the name of the folder')
    .option('--secrets <file>', 'write the values of credentials there, as lines NAME=value')
    .option('--url <url>', 'of the control plane; default: as the settings say')
    .option('--json', 'print JSON')
    .addHelpText('after', help)
    .action(exportAccount);
}
