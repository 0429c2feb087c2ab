/** How a program shows a command in its overview, and how it loads it. */
export interface NamedCommand<Program> {
  /** Its arguments, as `<file>`; empty without any. */
  readonly takes: string;
  readonly hasOptions: boolean;
  readonly summary: string;
  readonly load: () => Promise<(program: Program) => unknown>;
}

/** What an outline needs of a program of commander. */
interface Outlined {
  command(nameAndArguments: string): {
    description(text: string): { option(flags: string): unknown };
  };
}

/**
 * Registers the command that is named, alone: loading all of them takes longer than most of them take for
 * their work. Where none is named, for help and for what is misspelt, an outline of each is enough.
 */
export async function registerNamed<Program extends Outlined>(
  program: Program,
  commands: Readonly<Record<string, NamedCommand<Program>>>,
  given: readonly string[],
): Promise<void> {
  const name = given.find((each) => each !== 'help' && each !== '--') ?? '';
  const named = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (named !== undefined) {
    (await named.load())(program);
    return;
  }
  for (const [each, { takes, hasOptions, summary }] of Object.entries(commands)) {
    const outline = program.command(`${each} ${takes}`.trim()).description(summary);
    if (hasOptions) outline.option('--any');
  }
}

/** The arguments with `--version` as the command of that name: people type either. */
export function withVersionCommand(given: readonly string[]): string[] {
  const [first, ...others] = given;
  return first === '--version' || first === '-V' ? ['version', ...others] : [...given];
}
