import { lazy } from '@monitor/shared/named-commands.ts';
import { roles } from '@monitor/shared/contract/route.ts';
import { Option, type Command } from 'commander';

/** `control-plane people …`: a way in for an operator who is locked out of the console. */
export function registerPeople(program: Command): void {
  const people = program.command('people').description('manage people who sign in to the console');
  people
    .command('list')
    .description('list people by account')
    .option('--json', 'print JSON')
    .action(lazy(async () => (await import('./manage-people.ts')).list));
  people
    .command('first')
    .description('print the sign-in link for the first person; works once, for an hour')
    .option('--json', 'print JSON')
    .action(lazy(async () => (await import('./manage-people.ts')).first));
  people
    .command('invite')
    .description('print an invitation link for an account; works once, for 7 days')
    .argument('<email>', 'of the person')
    .option('--account <id>', 'which account; needed when there are several')
    .addOption(new Option('--role <role>', 'what they may do').choices(roles).default('OWNER'))
    .option('--json', 'print JSON')
    .action(lazy(async () => (await import('./manage-people.ts')).inviteByOperator));
  people
    .command('reset')
    .description('print a password reset link; works once, for an hour')
    .argument('<email>', 'of the person')
    .option('--no-second-factor', 'remove the app and all passkeys, for a phone that is lost')
    .option('--json', 'print JSON')
    .action(lazy(async () => (await import('./manage-people.ts')).reset));
}
