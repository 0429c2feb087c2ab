import { inspect } from 'node:util';
import { CommanderError } from 'commander';
import { namedCommands, withVersionCommand } from '@monitor/shared/named-commands.ts';
import { makeFilesPrivate } from '@monitor/shared/private-files.ts';
import { processEnvironment } from './config.ts';
import { exitCodes } from './exit-codes.ts';
import { describeFailure, OperatorError } from './operator-error.ts';
import { commands, newProgram } from './program.ts';

makeFilesPrivate();

const program = newProgram();
const given = withVersionCommand(process.argv.slice(2));
for (const load of namedCommands(commands, given[0])) (await load())(program);

// Whoever reads our output may stop before its end, as `head` does.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

try {
  await program.parseAsync(given, { from: 'user' });
} catch (error) {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
  } else {
    process.stderr.write(`${describeFailure(error)}\n`);
    if (processEnvironment['LOG_LEVEL'] === 'debug') process.stderr.write(`${inspect(error)}\n`);
    process.exitCode = error instanceof OperatorError ? error.exitCode : exitCodes.failed;
  }
}
