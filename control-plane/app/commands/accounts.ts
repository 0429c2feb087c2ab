import { lazy } from '@monitor/shared/named-commands.ts';
import { runtimeId } from '@monitor/shared/contract/primitives.ts';
import { Option, type Command } from 'commander';
import { plans } from '../../accounts/decide/entitlements.ts';

/** `control-plane accounts …`: manages accounts, which the API cannot create or change. */
export function registerAccounts(program: Command): void {
  const accounts = program
    .command('accounts')
    .description('manage the accounts of this installation');
  accounts
    .command('list')
    .description('list the accounts, oldest first')
    .option('--json', 'print JSON')
    .action(lazy(async () => (await import('./manage-accounts.ts')).list));
  accounts
    .command('create')
    .description('create an account')
    .requiredOption('--name <name>', 'what it is called')
    .option('--json', 'print JSON')
    .action(lazy(async () => (await import('./manage-accounts.ts')).create));
  accounts
    .command('set')
    .description('change an account')
    .argument('<id>', 'of the account; see `accounts list`')
    .option('--name <name>', 'what it is called')
    .addOption(new Option('--badges <state>', 'answer for badges').choices(['on', 'off']))
    .addOption(
      new Option(
        '--secret-detection <state>',
        'remove from results what looks like a secret',
      ).choices(['on', 'off']),
    )
    .addOption(new Option('--runtime <id>', 'for checks that name none').choices(runtimeId.options))
    .addOption(new Option('--plan <plan>', 'what it is entitled to').choices(plans))
    .option(
      '--alert-settings <json>',
      'of checks that use those of the account, such as {"reminders":{"amount":2}}; or default',
    )
    .option('--json', 'print JSON')
    .action(lazy(async () => (await import('./manage-accounts.ts')).set));
}
