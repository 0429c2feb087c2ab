import { printFailure, watchOutput } from '@monitor/shared/command-output.ts';
import { withVersionCommand } from '@monitor/shared/named-commands.ts';
import { prepareCommand } from '@monitor/shared/prepare-command.ts';
import { makeFilesPrivate } from '@monitor/shared/private-files.ts';
import { AgentError } from './errors.ts';
import { exitCodes } from './exit-codes.ts';
import { guardProcess } from './guard-process.ts';
import { printableValue } from './printable.ts';
import { commands, newProgram } from './program.ts';

/** Errors of a module that was cut, replaced or lost; JSON that users wrote has other traces. */
function isOfModules(error: unknown): boolean {
  return error instanceof Error && /node:internal\/(modules|vm)|ModuleJob/.test(error.stack ?? '');
}

makeFilesPrivate();

const given = withVersionCommand(process.argv.slice(2));
// Before a command is loaded, which takes a while. Help is no command and needs no system calls.
if (Object.hasOwn(commands, given[0] ?? '')) guardProcess();
const run = await prepareCommand(newProgram(), commands, given, exitCodes.error);

watchOutput(exitCodes.error);

try {
  await run();
} catch (error) {
  const isKnown = error instanceof AgentError;
  // What keeps a module from being loaded is for the file that has loaded this one.
  if (!isKnown && isOfModules(error)) throw error;
  const message = error instanceof Error ? error.message : String(error);
  const said = `${isKnown ? '' : 'unexpected: '}${printableValue(message, { hasLines: true })}`;
  process.stderr.write(`${said}\n`);
  printFailure(given, said, exitCodes.error);
  process.exitCode = exitCodes.error;
}
