import type { Completed } from './completion.ts';
import { registerNamed, type NamedCommand, type Outlined } from './named-commands.ts';

/** The parts of a commander program that running a command needs. */
interface Parsed {
  parseAsync(words: readonly string[], how: { from: 'user' }): Promise<unknown>;
}

/** Registers the command of these words, and gives what runs it. `complete` is what shells call for the next word. */
export async function prepareCommand<Program extends Outlined & Completed & Parsed>(
  program: Program,
  commands: Readonly<Record<string, NamedCommand<Program>>>,
  given: readonly string[],
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
    await program.parseAsync(given, { from: 'user' });
  };
}
