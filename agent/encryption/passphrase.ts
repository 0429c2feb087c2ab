/** The passphrase of a key file: from the environment, or typed at a terminal that does not show it. */
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { AgentError } from '../errors.ts';

const variable = 'RESULT_KEY_PASSPHRASE';

function given(environment: Readonly<Record<string, string | undefined>>): string | null {
  const file = environment[`${variable}_FILE`];
  if (file === undefined || file === '') return environment[variable] || null;
  try {
    return readFileSync(file, 'utf8').replace(/\r?\n$/, '');
  } catch (error) {
    throw new AgentError(
      'CONFIG_INVALID',
      `the passphrase cannot be read from the file in ${variable}_FILE: ${String(error)}`,
    );
  }
}

function typed(question: string): Promise<string> {
  process.stderr.write(question);
  const hidden = new Writable({
    write(_chunk, _encoding, done) {
      done();
    },
  });
  const lines = createInterface({ input: process.stdin, output: hidden, terminal: true });
  return new Promise((resolve, reject) => {
    lines.once('line', (line) => {
      process.stderr.write('\n');
      resolve(line);
      lines.close();
    });
    lines.once('close', () => reject(new AgentError('CONFIG_INVALID', 'no passphrase was typed')));
  });
}

/** Throws where nothing is set and nobody can type. */
export async function readPassphrase(
  environment: Readonly<Record<string, string | undefined>>,
  { isNew = false } = {},
): Promise<string> {
  const known = given(environment);
  if (known !== null) return known;
  if (!process.stdin.isTTY) {
    throw new AgentError(
      'CONFIG_INVALID',
      `the key needs a passphrase: set ${variable} or ${variable}_FILE, or run this on a terminal`,
    );
  }
  const passphrase = await typed('Passphrase of the key: ');
  if (isNew && (await typed('The same again: ')) !== passphrase) {
    throw new AgentError('CONFIG_INVALID', 'the two passphrases differ; nothing was written');
  }
  return passphrase;
}
