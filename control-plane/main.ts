import { inspect } from 'node:util';
import { Command, CommanderError } from 'commander';
import { registerAccounts } from './commands/accounts.ts';
import { registerBackup } from './commands/backup.ts';
import { registerKeys } from './commands/keys.ts';
import { registerMigrate } from './commands/migrate.ts';
import { registerRestore } from './commands/restore.ts';
import { registerServe } from './commands/serve.ts';
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
registerServe(program);
registerMigrate(program);
registerBackup(program);
registerRestore(program);
registerKeys(program);
registerAccounts(program);

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
