import { inspect } from 'node:util';
import { Command, CommanderError } from 'commander';
import { namedCommands } from '@monitor/shared/named-commands.ts';
import { processEnvironment } from './config.ts';
import { exitCodes } from './exit-codes.ts';
import { describeFailure, OperatorError } from './operator-error.ts';

const program = new Command('control-plane')
  .description('The public API, the schedule and the memory of the monitoring system')
  .helpOption('-h, --help', 'show this help')
  .addHelpText(
    'after',
    '\nExit codes: 0 done, 1 refused or failed, 2 command or settings unusable.',
  )
  .showHelpAfterError('(add --help for the options and examples)')
  .exitOverride();

const commands: Readonly<Record<string, () => Promise<(program: Command) => void>>> = {
  serve: async () => (await import('./commands/serve.ts')).registerServe,
  migrate: async () => (await import('./commands/migrate.ts')).registerMigrate,
  backup: async () => (await import('./commands/backup.ts')).registerBackup,
  restore: async () => (await import('./commands/restore.ts')).registerRestore,
  keys: async () => (await import('./commands/keys.ts')).registerKeys,
  accounts: async () => (await import('./commands/accounts.ts')).registerAccounts,
};
for (const load of namedCommands(commands, process.argv[2])) (await load())(program);

// Whoever reads our output may stop before its end, as `head` does.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
  } else {
    process.stderr.write(`${describeFailure(error)}\n`);
    if (processEnvironment['LOG_LEVEL'] === 'debug') process.stderr.write(`${inspect(error)}\n`);
    process.exitCode = error instanceof OperatorError ? error.exitCode : exitCodes.failed;
  }
}
