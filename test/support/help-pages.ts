import assert from 'node:assert/strict';

interface HelpfulCommand {
  readonly commands: readonly HelpfulCommand[];
  name(): string;
  configureOutput(output: {
    getOutHelpWidth: () => number;
    writeOut: (text: string) => void;
  }): unknown;
  outputHelp(): void;
}

/** What `--help` prints for a program and each of its commands, on a terminal of 80 columns. */
export function helpPages(program: HelpfulCommand): Map<string, string> {
  const pages = new Map<string, string>();
  const visit = (command: HelpfulCommand, path: string): void => {
    let printed = '';
    command.configureOutput({
      getOutHelpWidth: () => 80,
      writeOut: (text) => (printed += text),
    });
    command.outputHelp();
    pages.set(path, printed);
    for (const each of command.commands) visit(each, `${path} ${each.name()}`.trim());
  };
  visit(program, '');
  return pages;
}

/** Asserts that no line of a help page is longer than a terminal of 80 columns is wide. */
export function assertFitting(pages: ReadonlyMap<string, string>): void {
  for (const [name, page] of pages) {
    const long = page.split('\n').filter((line) => line.length > 80);
    assert.deepEqual(long, [], name);
  }
}
