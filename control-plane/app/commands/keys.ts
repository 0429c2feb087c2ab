import { lazy } from '@monitor/shared/named-commands.ts';
import { roles } from '@monitor/shared/contract/route.ts';
import { Option, type Command } from 'commander';

/** `control-plane keys …`: keys in the configured database. */
export function registerKeys(program: Command): void {
  const keys = program.command('keys').description('manage API and location keys');
  keys
    .command('create')
    .description('create an API key; it is shown only once')
    .requiredOption('--name <name>', 'what the key is for')
    .option('--account <id>', 'whose it is; needed when there are several accounts')
    .addOption(new Option('--role <role>', 'what it may do').choices(roles).default('OWNER'))
    .option('--expires <when>', 'an ISO date, which is UTC without an offset, or days: 90d')
    .option('--json', 'print JSON')
    .action(lazy(async () => (await import('./manage-keys.ts')).create));
  keys
    .command('list')
    .description('list API keys, oldest first, including revoked ones')
    .option('--account <id>', 'only those of this account')
    .option('--json', 'print JSON')
    .action(lazy(async () => (await import('./manage-keys.ts')).list));
  keys
    .command('revoke')
    .description('revoke an API key permanently')
    .argument('<id>', 'of the key; see `keys list`')
    .option('--json', 'print JSON')
    .action(lazy(async () => (await import('./manage-keys.ts')).revoke));
  keys
    .command('rotate-encryption')
    .description('encrypt all credentials in the database with a new key; stop `serve` first')
    .option('--json', 'print JSON')
    .action(lazy(async () => (await import('./rotate-encryption.ts')).rotateEncryption));
  keys
    .command('create-location')
    .description('create an agent key for a data-center location')
    .requiredOption('--location <location>', 'a data-center location, for example eu-central-1')
    .option('--account <id>', 'whose it is; needed when there are several accounts')
    .option('--json', 'print JSON')
    .action(lazy(async () => (await import('./manage-keys.ts')).createLocation));
}
