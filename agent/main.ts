import { CommanderError } from 'commander';
import { namedCommands, withVersionCommand } from '@monitor/shared/named-commands.ts';
import { makeFilesPrivate } from '@monitor/shared/private-files.ts';
import { AgentError } from './errors.ts';
import { exitCodes } from './exit-codes.ts';
import { printableValue } from './printable.ts';
import { commands, newProgram } from './program.ts';

makeFilesPrivate();

const program = newProgram();
const given = withVersionCommand(process.argv.slice(2));
for (const load of namedCommands(commands, given[0])) (await load())(program);

try {
  await program.parseAsync(given, { from: 'user' });
} catch (error) {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode === 0 ? exitCodes.ok : exitCodes.error;
  } else {
    const isKnown = error instanceof AgentError;
    const message = error instanceof Error ? error.message : String(error);
    process.stderr.write(
      `${isKnown ? '' : 'unexpected: '}${printableValue(message, { hasLines: true })}\n`,
    );
    process.exitCode = exitCodes.error;
  }
}
