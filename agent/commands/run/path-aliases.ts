/** Aliases of imports: `paths` and `baseUrl` of the nearest tsconfig.json, which the test runner reads too. */
import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { isFields } from '@monitor/shared/fields.ts';
import { AgentError } from '../../errors.ts';

/** From patterns with at most one star to whole paths, in which it stands for the same. */
export type Aliases = ReadonlyMap<string, readonly string[]>;

const strings = (value: unknown): string[] =>
  [value].flat().filter((one): one is string => typeof one === 'string');

/** JSON with comments and trailing commas. */
function readJsonWithComments(file: string): Record<string, unknown> {
  const text = readFileSync(file, 'utf8')
    .replace(/^\uFEFF/, '')
    .replaceAll(/("(?:\\.|[^"\\])*")|\/\/[^\n]*|\/\*[\s\S]*?\*\//g, '$1')
    .replaceAll(/("(?:\\.|[^"\\])*")|,(?=\s*[}\]])/g, '$1');
  try {
    const parsed: unknown = JSON.parse(text);
    return isFields(parsed) ? parsed : {};
  } catch (cause) {
    throw new AgentError('CONFIG_INVALID', `"${file}" cannot be read as JSON with comments`, {
      cause,
    });
  }
}

/** Later files of `extends` replace earlier ones, and the file itself all of them. */
export function readAliases(file: string, seen: readonly string[] = []): Aliases {
  if (seen.includes(file)) return new Map();
  const { extends: bases, compilerOptions } = readJsonWithComments(file);
  const { paths, baseUrl } = isFields(compilerOptions) ? compilerOptions : {};
  const folder = dirname(file);
  let aliases: Aliases = new Map();
  // Those of packages say how to compile, not where files are.
  for (const base of strings(bases).filter((one) => /^[./]/.test(one))) {
    const path = resolve(folder, base);
    const inherited = [path, `${path}.json`, join(path, 'tsconfig.json')].flatMap((one) => {
      try {
        return [readAliases(one, [...seen, file])];
      } catch (error) {
        if (error instanceof AgentError) throw error;
        return [];
      }
    });
    aliases = inherited[0] ?? aliases;
  }
  const root = resolve(folder, typeof baseUrl === 'string' ? baseUrl : '.');
  const own = isFields(paths) ? Object.entries(paths) : [];
  if (own.length > 0) {
    aliases = new Map(
      own.map(([pattern, targets]) => [pattern, strings(targets).map((one) => resolve(root, one))]),
    );
  }
  return typeof baseUrl === 'string' ? new Map([...aliases, ['*', [join(root, '*')]]]) : aliases;
}

/** What an import may mean, the longest pattern first. */
export function pathsOf(specifier: string, aliases: Aliases): { pattern: string; path: string }[] {
  const matching = [...aliases].flatMap(([pattern, targets]) => {
    const [before = '', after] = pattern.split('*');
    if (after === undefined && pattern !== specifier) return [];
    const isMatch =
      after === undefined ||
      (specifier.length >= before.length + after.length &&
        specifier.startsWith(before) &&
        specifier.endsWith(after));
    if (!isMatch) return [];
    const star = specifier.slice(before.length, specifier.length - (after?.length ?? 0));
    return targets.map((target) => ({ pattern, before, path: target.replace('*', () => star) }));
  });
  return matching
    .sort((left, right) => right.before.length - left.before.length)
    .map(({ pattern, path }) => ({ pattern, path }));
}
