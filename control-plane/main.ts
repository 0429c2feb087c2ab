import { inspect } from 'node:util';
import { CommanderError } from 'commander';
import { registerNamed, withVersionCommand } from '@monitor/shared/named-commands.ts';
import { makeFilesPrivate, refuseDebugger } from '@monitor/shared/private-files.ts';
import { processEnvironment } from './core/environment.ts';
import { exitCodes } from './errors/exit-codes.ts';
import { describeFailure, OperatorError } from './errors/operator-error.ts';
import { commands, newProgram } from './app/program.ts';

makeFilesPrivate();
refuseDebugger();

const program = newProgram();
const given = withVersionCommand(process.argv.slice(2));
const isCompletion = given[0] === 'complete';
if (!isCompletion) await registerNamed(program, commands, given);

// What reads this output may stop before its end, as `head` does.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});

try {
  if (isCompletion) {
    const { complete } = await import('@monitor/shared/completion.ts');
    const lines = await complete(program, commands, given.slice(2));
    process.stdout.write(lines.map((line) => `${line}\n`).join(''));
  } else await program.parseAsync(given, { from: 'user' });
} catch (error) {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
  } else {
    process.stderr.write(`${describeFailure(error)}\n`);
    if (processEnvironment['LOG_LEVEL'] === 'debug') process.stderr.write(`${inspect(error)}\n`);
    process.exitCode = error instanceof OperatorError ? error.exitCode : exitCodes.failed;
  }
}
