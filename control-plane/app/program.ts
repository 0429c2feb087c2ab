import { Command } from 'commander';
import type { FirstWord } from '@monitor/shared/doors.ts';
import type { NamedCommand } from '@monitor/shared/named-commands.ts';
import type { commandDoors } from '../core/doors.ts';

/** The program without its commands. */
export function newProgram(): Command {
  return (
    new Command('control-plane')
      .description('The public API, the schedule and the memory of the monitoring system')
      .helpOption('-h, --help', 'show this help')
      .option('-V, --version', 'the same as the command `version`')
      // After a subcommand, `--version` is not an option of the program.
      .enablePositionalOptions()
      .addHelpText(
        'after',
        '\nExit codes: 0 done, 1 refused or failed, 2 command or settings unusable.',
      )
      .showHelpAfterError('(add --help for the options and examples)')
      .exitOverride()
  );
}

/** The commands by name. Their summaries are repeated here, so that `--help` does not load them. */
export const commands: Readonly<
  Record<FirstWord<keyof typeof commandDoors>, NamedCommand<Command>>
> = {
  serve: {
    takes: '',
    hasOptions: true,
    summary: 'serve the API until SIGTERM or SIGINT',
    load: async () => (await import('./commands/serve.ts')).registerServe,
  },
  migrate: {
    takes: '',
    hasOptions: true,
    summary: 'bring the database to the newest schema; `serve` does so too when it starts',
    load: async () => (await import('./commands/migrate.ts')).registerMigrate,
  },
  backup: {
    takes: '<file>',
    hasOptions: true,
    summary: 'copy the database to a file, while `serve` may be running',
    load: async () => (await import('./commands/backup.ts')).registerBackup,
  },
  restore: {
    takes: '<file>',
    hasOptions: true,
    summary: 'put a backup in the place of the database; `serve` must be stopped',
    load: async () => (await import('./commands/restore.ts')).registerRestore,
  },
  move: {
    takes: '',
    hasOptions: true,
    summary: 'copy a database in a file to a PostgreSQL; `serve` must be stopped',
    load: async () => (await import('./commands/move.ts')).registerMove,
  },
  verify: {
    takes: '[file]',
    hasOptions: true,
    summary: 'look for damage in the database, while `serve` may be running',
    load: async () => (await import('./commands/verify.ts')).registerVerify,
  },
  salvage: {
    takes: '<file>',
    hasOptions: true,
    summary: 'read what can be read of a damaged database into a new one',
    load: async () => (await import('./commands/salvage.ts')).registerSalvage,
  },
  keys: {
    takes: '',
    hasOptions: false,
    summary: 'keys of the API and of locations',
    load: async () => (await import('./commands/keys.ts')).registerKeys,
  },
  accounts: {
    takes: '',
    hasOptions: false,
    summary: 'the accounts of this installation',
    load: async () => (await import('./commands/accounts.ts')).registerAccounts,
  },
  people: {
    takes: '',
    hasOptions: false,
    summary: 'people who sign in to the console',
    load: async () => (await import('./commands/people.ts')).registerPeople,
  },
  export: {
    takes: '<folder>',
    hasOptions: true,
    summary: 'write the resources of an account as files, for a repository',
    load: async () => (await import('./commands/export.ts')).registerExport,
  },
  apply: {
    takes: '<folder>',
    hasOptions: true,
    summary: 'make the resources of an account what the files of a folder say',
    load: async () => (await import('./commands/apply.ts')).registerApply,
  },
  import: {
    takes: '<path>',
    hasOptions: true,
    summary: 'bring checks of another product: prints a plan, or applies it',
    load: async () => (await import('./commands/import.ts')).registerImport,
  },
  destroy: {
    takes: '<project>',
    hasOptions: true,
    summary: 'delete a project with all that it owns, such as an import',
    load: async () => (await import('./commands/import.ts')).registerDestroy,
  },
  completion: {
    takes: '',
    hasOptions: false,
    summary: 'print what makes bash, zsh or fish complete this command',
    load: async () => {
      const { registerCompletion } = await import('@monitor/shared/completion.ts');
      return (program) => {
        registerCompletion(program, (script) => process.stdout.write(script));
      };
    },
  },
  proof: {
    takes: '',
    hasOptions: true,
    summary: 'disturb a control plane and agents of its own, and count what goes wrong',
    load: async () => (await import('./commands/proof.ts')).registerProof,
  },
  version: {
    takes: '',
    hasOptions: true,
    summary: 'print the version of the control plane',
    load: async () => (await import('./commands/version.ts')).registerVersion,
  },
};
