/** What the tests of both tables of doors look for. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { NamedCommand } from '@monitor/shared/named-commands.ts';
import type { newProgram } from '../../agent/program.ts';

type Command = ReturnType<typeof newProgram>;

const repository = join(import.meta.dirname, '..', '..');

/** Sources of a program and of what both share, by their path from the program's folder. */
export function sourcesOf(program: 'agent' | 'control-plane'): Map<string, string> {
  const exclude = ['**/node_modules/**', 'control-plane/console/**', '**/doors.ts'];
  const paths = globSync([`${program}/**/*.ts`, 'shared/**/*.ts'], { cwd: repository, exclude });
  return new Map(
    paths.map((path) => [
      path.startsWith(`${program}/`) ? path.slice(program.length + 1) : `../${path}`,
      readFileSync(join(repository, path), 'utf8'),
    ]),
  );
}

/** Patterns of what opens a door. */
export const openings = {
  listens: /(?<!listener\?)\.listen\(/,
  makesServer: /import \{[^}]*\bcreateServer\b[^}]*\} from 'node:(?:http|https|http2|net|tls)'/,
  takesSignals: /'SIG(?:TERM|INT|HUP|QUIT|USR1|USR2|PIPE|WINCH)'/,
  startsPrograms: /\b(?:spawn|fork|execFile|exec)\(/,
  reads: /\breadFile(?:Sync)?\(|\breadAtMost\(|\bcreateReadStream\(|\breadSync\(|process\.stdin\b/,
} as const;

export function filesWith(
  sources: ReadonlyMap<string, string>,
  pattern: RegExp,
  under = '',
): string[] {
  return [...sources]
    .filter(([path, text]) => path.startsWith(under) && pattern.test(text))
    .map(([path]) => path)
    .sort();
}

/** Each signal is taken where the table says, and nowhere else. */
export function assertSignals(
  sources: ReadonlyMap<string, string>,
  table: Readonly<Record<string, readonly string[]>>,
): void {
  const handlers = filesWith(sources, /process\s*\.(?:on|once)\(/);
  for (const path of handlers) {
    const named = [...(sources.get(path) ?? '').matchAll(/'(SIG[A-Z0-9]+)'/g)].map(
      ([, name]) => name,
    );
    assert.deepEqual([...new Set(named)].sort(), [...(table[path] ?? [])].sort(), path);
  }
  for (const path of Object.keys(table)) assert.ok(handlers.includes(path), path);
}

/** Names of all commands, those of groups after the name of the group. */
export async function commandNames(
  program: Command,
  commands: Readonly<Record<string, NamedCommand<Command>>>,
): Promise<string[]> {
  for (const { load } of Object.values(commands)) (await load())(program);
  const leaves = (of: Command, before: readonly string[]): string[] =>
    of.commands.length === 0
      ? [before.join(' ')]
      : [
          // A group that takes an argument is a command as well.
          ...(of.registeredArguments.length > 0 ? [before.join(' ')] : []),
          ...of.commands.flatMap((each) => leaves(each, [...before, each.name()])),
        ];
  return leaves(program, []).sort();
}
