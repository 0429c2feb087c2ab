/** A command in the overview of a program, with its loader. */
export interface NamedCommand<Program> {
  /** Its arguments, such as `<file>`; by default none. */
  readonly takes?: string;
  /** True by default. */
  readonly hasOptions?: boolean;
  readonly summary: string;
  /** `given` are the words of the command line; without them everything may be asked for. */
  readonly load: (given?: readonly string[]) => Promise<(program: Program) => unknown>;
}

/** The parts of a commander program that the overview needs. */
export interface Outlined {
  command(nameAndArguments: string): {
    description(text: string): { option(flags: string): unknown };
  };
}

/**
 * Registers only the named command: loading all commands takes longer than most of them run.
 * Without a name (help, or a misspelt command) only their summaries are registered.
 */
export async function registerNamed<Program extends Outlined>(
  program: Program,
  commands: Readonly<Record<string, NamedCommand<Program>>>,
  given: readonly string[],
): Promise<void> {
  const name = given.find((each) => each !== 'help' && each !== '--') ?? '';
  const named = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (named !== undefined) {
    (await named.load(given))(program);
    return;
  }
  for (const [each, { takes = '', hasOptions = true, summary }] of Object.entries(commands)) {
    const outline = program.command(`${each} ${takes}`.trim()).description(summary);
    if (hasOptions) outline.option('--any');
  }
}

/** Turns `--version` into the command `version`. */
export function withVersionCommand(given: readonly string[]): string[] {
  const [first, ...others] = given;
  return first === '--version' || first === '-V' ? ['version', ...others] : [...given];
}

/** An action that is loaded when it is called: help and completion need only its options. */
export function lazy<Given extends unknown[]>(
  load: () => Promise<(...given: Given) => Promise<void>>,
): (...given: Given) => Promise<void> {
  return async (...given) => (await load())(...given);
}
