import { writeFileSync } from 'node:fs';
import { createKeyFile } from '@monitor/shared/encryption/encryption.ts';
import type { Command } from 'commander';
import { readPassphrase } from '../encryption/passphrase.ts';
import { AgentError } from '../errors.ts';
import { processEnvironment } from '../guard-process.ts';
import { codeOf } from '../net/failure.ts';

const help = `
Makes a pair of keys for encrypted results. The file has the private key: keep
it, and a copy of it at another place. Nobody can read results without it, and
nobody can make it again. The public key, which is printed, goes to the private
location, or into RESULT_ENCRYPTION_KEYS of its agents.

Examples:
  monitor-agent encryption-key --output results.key
  monitor-agent encryption-key --output results.key --passphrase

The passphrase is typed, or comes from RESULT_KEY_PASSPHRASE, or from the file
in RESULT_KEY_PASSPHRASE_FILE.

Exit codes: 0 written, 2 it could not be written.
`;

interface Options {
  readonly output: string;
  readonly passphrase?: boolean;
}

/** `monitor-agent encryption-key`: a key pair for encrypted results. */
export function registerEncryptionKey(program: Command): void {
  program
    .command('encryption-key')
    .description('generate a key pair for encrypted results')
    .requiredOption('-o, --output <file>', 'file for the private key; it must not exist yet')
    .option('--passphrase', 'encrypt it with a passphrase, which is asked for')
    .addHelpText('after', help)
    .action(async ({ output, passphrase }: Options) => {
      const key = await createKeyFile(
        passphrase === true ? await readPassphrase(processEnvironment, { isNew: true }) : null,
      );
      try {
        writeFileSync(output, `${JSON.stringify(key, null, 2)}\n`, {
          mode: 0o600,
          flag: 'wx',
          flush: true,
        });
      } catch (error) {
        const hint =
          codeOf(error) === 'EEXIST'
            ? 'it exists; choose another name, since a key that is overwritten is lost'
            : `${String(error).replace(/^Error: /, '')}; name a file in a folder that this user may write to`;
        throw new AgentError('CONFIG_INVALID', `cannot write the key to ${output}: ${hint}`);
      }
      console.log(key.publicKey);
      process.stderr.write(`${output} has the private key ${key.id}; keep a copy of it.\n`);
    });
}
