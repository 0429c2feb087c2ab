import { Command } from 'commander';

/** The program without its commands. */
export function newProgram(): Command {
  return (
    new Command('control-plane')
      .description('The public API, the schedule and the memory of the monitoring system')
      .helpOption('-h, --help', 'show this help')
      .option('-V, --version', 'the same as the command `version`')
      // Behind a command it is none of its options, and no order to print the version either.
      .enablePositionalOptions()
      .addHelpText(
        'after',
        '\nExit codes: 0 done, 1 refused or failed, 2 command or settings unusable.',
      )
      .showHelpAfterError('(add --help for the options and examples)')
      .exitOverride()
  );
}

/** How each command is loaded, by its name. */
export const commands: Readonly<Record<string, () => Promise<(program: Command) => void>>> = {
  serve: async () => (await import('./commands/serve.ts')).registerServe,
  migrate: async () => (await import('./commands/migrate.ts')).registerMigrate,
  backup: async () => (await import('./commands/backup.ts')).registerBackup,
  restore: async () => (await import('./commands/restore.ts')).registerRestore,
  keys: async () => (await import('./commands/keys.ts')).registerKeys,
  accounts: async () => (await import('./commands/accounts.ts')).registerAccounts,
  version: async () => (await import('./commands/version.ts')).registerVersion,
};
