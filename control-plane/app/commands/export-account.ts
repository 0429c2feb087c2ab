/** What `control-plane export` does. */
import { randomUUID } from 'node:crypto';
import { rename, rm, writeFile } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
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

export async function exportAccount(folder: string, options: ExportOptions): Promise<void> {
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
