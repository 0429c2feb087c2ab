import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { surroundings } from '../../proof/program.ts';

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
    command.configureOutput({ getOutHelpWidth: () => 80, writeOut: (text) => (printed += text) });
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

/** Addresses of all modules that a program has loaded when it ends. */
export async function modulesLoadedBy(program: string, ...args: string[]): Promise<string[]> {
  const hooks = `
    import { registerHooks } from 'node:module';
    const urls = [];
    registerHooks({ load: (url, context, next) => (urls.push(url), next(url, context)) });
    process.once('exit', () => console.error('\\nloaded ' + JSON.stringify(urls)));`;
  const { stderr } = await promisify(execFile)(
    process.execPath,
    ['--import', `data:text/javascript,${encodeURIComponent(hooks)}`, program, ...args],
    { env: surroundings() },
  );
  return JSON.parse(/^loaded (.*)$/m.exec(stderr)?.[1] ?? '') as string[];
}
