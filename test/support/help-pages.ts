import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import test from 'node:test';
import { promisify } from 'node:util';
import { type NamedCommand, type Outlined, registerNamed } from '@monitor/shared/named-commands.ts';
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

/** Addresses of all modules that a program has loaded when it ends. */
async function modulesLoadedBy(program: string, ...args: string[]): Promise<string[]> {
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

/** Tests the help of a program, which `starter` starts, and gives it by command. */
export async function testHelpOf<Program extends HelpfulCommand & Outlined>(
  starter: string,
  commands: Readonly<Record<string, NamedCommand<Program>>>,
  newProgram: () => Program,
): Promise<Map<string, string>> {
  const program = newProgram();
  for (const { load } of Object.values(commands)) (await load())(program);
  const pages = helpPages(program);

  test('no line of a help page is longer than 80 columns', () => {
    assert.ok(pages.size > Object.keys(commands).length);
    for (const [name, page] of pages)
      for (const line of page.split('\n')) assert.ok(line.length <= 80, `${name}: ${line}`);
  });

  test('the overview says of each command what the command says of itself', async () => {
    const outline = newProgram();
    await registerNamed(outline, commands, ['--help']);
    assert.equal(helpPages(outline).get(''), pages.get(''));
  });

  test('the overview loads nothing that a command needs', async () => {
    const loaded = await modulesLoadedBy(starter, '--help');
    const packages = loaded.flatMap(
      (url) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? [],
    );
    assert.deepEqual([...new Set(packages)], ['commander']);
    assert.ok(!loaded.some((url) => url.includes('/commands/')));
  });
  return pages;
}
