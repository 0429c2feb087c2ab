import { Command } from 'commander';
import type { FirstWord } from '@monitor/shared/doors.ts';
import { completionCommand } from '@monitor/shared/completion-command.ts';
import type { NamedCommand } from '@monitor/shared/named-commands.ts';
import type { commandDoors } from '../core/doors.ts';

/** The program without its commands. */
export function newProgram(): Command {
  return (
    new Command('control-plane')
      .description('The monitoring server')
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
    summary: 'serve the API until SIGTERM or SIGINT',
    async load(given = ['--help']) {
      const { registerServe } = await import('./commands/serve.ts');
      // They take longer to load than all else that comes before the new start.
      const isHelp = given.some((word) => ['help', '-h', '--help'].includes(word));
      const settings = isHelp ? (await import('../core/config.ts')).describeSettings() : [];
      return (program) => {
        registerServe(program, settings);
      };
    },
  },
  migrate: {
    summary: 'migrate the database to the newest schema; `serve` does this at startup',
    load: async () => (await import('./commands/migrate.ts')).registerMigrate,
  },
  backup: {
    takes: '<file>',
    summary: 'copy the database to a file, while `serve` may be running',
    load: async () => (await import('./commands/backup.ts')).registerBackup,
  },
  restore: {
    takes: '<file>',
    summary: 'restore the database from a backup; stop `serve` first',
    load: async () => (await import('./commands/restore.ts')).registerRestore,
  },
  move: {
    summary: 'copy an SQLite database to PostgreSQL; stop `serve` first',
    load: async () => (await import('./commands/move.ts')).registerMove,
  },
  verify: {
    takes: '[file]',
    summary: 'check the database for corruption, while `serve` may be running',
    load: async () => (await import('./commands/verify.ts')).registerVerify,
  },
  salvage: {
    takes: '<file>',
    summary: 'recover what is readable from a damaged database into a new one',
    load: async () => (await import('./commands/salvage.ts')).registerSalvage,
  },
  keys: {
    hasOptions: false,
    summary: 'manage API and location keys',
    load: async () => (await import('./commands/keys.ts')).registerKeys,
  },
  accounts: {
    hasOptions: false,
    summary: 'manage the accounts of this installation',
    load: async () => (await import('./commands/accounts.ts')).registerAccounts,
  },
  people: {
    hasOptions: false,
    summary: 'manage people who sign in to the console',
    load: async () => (await import('./commands/people.ts')).registerPeople,
  },
  export: {
    takes: '<folder>',
    summary: 'export the resources of an account as files',
    load: async () => (await import('./commands/export.ts')).registerExport,
  },
  apply: {
    takes: '<folder>',
    summary: 'apply a folder of files to the resources of an account',
    load: async () => (await import('./commands/apply.ts')).registerApply,
  },
  sign: {
    takes: '<command...>',
    summary: 'run an existing client of the API, and sign the checks that it deploys',
    load: async () => (await import('./commands/sign.ts')).registerSign,
  },
  import: {
    takes: '<path>',
    summary: 'import checks from another product: prints a plan, or applies it',
    load: async () => (await import('./commands/import.ts')).registerImport,
  },
  shadow: {
    hasOptions: false,
    summary: 'compare verdicts with those of the side that you move from',
    load: async () => (await import('./commands/shadow.ts')).registerShadow,
  },
  destroy: {
    takes: '<project>',
    summary: 'delete a project and all its resources, such as an import',
    load: async () => (await import('./commands/import.ts')).registerDestroy,
  },
  mcp: {
    summary: 'serve the API as tools of the Model Context Protocol on standard input and output',
    load: async () => (await import('./commands/mcp.ts')).registerMcp,
  },
  completion: completionCommand,
  proof: {
    summary: 'run the fault-injection proof',
    load: async () => (await import('./commands/proof.ts')).registerProof,
  },
  version: {
    summary: 'print the version of the control plane',
    load: async () => (await import('./commands/version.ts')).registerVersion,
  },
};
