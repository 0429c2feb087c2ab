import { inspect } from 'node:util';
import { beginOutput, printFailure } from '@monitor/shared/command-output.ts';
import { withVersionCommand } from '@monitor/shared/named-commands.ts';
import { prepareCommand } from '@monitor/shared/prepare-command.ts';
import { processEnvironment } from '../core/environment.ts';
import { exitCodes } from '../errors/exit-codes.ts';
import { describeFailure, OperatorError } from '../errors/operator-error.ts';
import { commands, newProgram } from './program.ts';

/** Runs the command of these words to its end. What it ends with is the exit code of the process. */
export async function runCommand(words: readonly string[]): Promise<void> {
  const given = withVersionCommand(words);
  beginOutput();
  const run = await prepareCommand(newProgram(), commands, given, exitCodes.usage);
  try {
    await run();
  } catch (error) {
    process.stderr.write(`${describeFailure(error)}\n`);
    if (processEnvironment['LOG_LEVEL'] === 'debug') process.stderr.write(`${inspect(error)}\n`);
    const exitCode = error instanceof OperatorError ? error.exitCode : exitCodes.failed;
    printFailure(given, describeFailure(error), exitCode);
    process.exitCode = exitCode;
  }
}
