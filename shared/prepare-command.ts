import { printFailure } from './command-output.ts';
import type { Completed } from './completion.ts';
import { registerNamed, type NamedCommand, type Outlined } from './named-commands.ts';

/** The parts of a commander program that running a command needs. */
interface Parsed {
  parseAsync(words: readonly string[], how: { from: 'user' }): Promise<unknown>;
}

/** Commander ends help and a refused command line with an error that has its exit code. */
interface End extends Error {
  exitCode: number;
}

const isEnd = (error: unknown): error is End =>
  error instanceof Error && 'code' in error && String(error.code).startsWith('commander.');

/**
 * Registers the command of these words, and gives what runs it. A command line that is refused ends the process with
 * `refused`. `complete` is what shells call for the next word.
 */
export async function prepareCommand<Program extends Outlined & Completed & Parsed>(
  program: Program,
  commands: Readonly<Record<string, NamedCommand<Program>>>,
  given: readonly string[],
  refused: number,
): Promise<() => Promise<void>> {
  if (given[0] === 'complete') {
    return async () => {
      const { complete } = await import('./completion.ts');
      const lines = await complete(program, commands, given.slice(2));
      process.stdout.write(lines.map((line) => `${line}\n`).join(''));
    };
  }
  await registerNamed(program, commands, given);
  return async () => {
    try {
      await program.parseAsync(given, { from: 'user' });
    } catch (error) {
      if (!isEnd(error)) throw error;
      process.exitCode = error.exitCode === 0 ? 0 : refused;
      if (error.exitCode !== 0) printFailure(given, error.message, refused);
    }
  };
}
