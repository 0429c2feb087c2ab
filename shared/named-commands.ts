/**
 * Of the commands of a program, the one that is named, to be loaded alone: loading all of them takes longer
 * than most of them take for their work. All of them when none is named, for help and for what is misspelt.
 */
export function namedCommands<T>(
  commands: Readonly<Record<string, T>>,
  name: string | undefined,
): T[] {
  const named = Object.entries(commands).filter(([each]) => each === name);
  return named.length > 0 ? named.map(([, command]) => command) : Object.values(commands);
}

/** The arguments with `--version` as the command of that name: people type either. */
export function withVersionCommand(given: readonly string[]): string[] {
  const [first, ...others] = given;
  return first === '--version' || first === '-V' ? ['version', ...others] : [...given];
}
