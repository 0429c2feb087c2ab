/** The configuration of Gatus from one file or a folder of them. */
import { Lexer } from 'yaml';
import { SourceError, type SourceFile } from '../mover.ts';
import type { FilledVariables } from '../environment.ts';
import type { Plan } from '../plan.ts';
import { isFields } from '@monitor/shared/fields.ts';
import { textOf, type Fields } from '../source-object.ts';
import { configurationsIn, isYaml } from '../yaml-files.ts';

const topLevel = /^[ \t]*(endpoints|external-endpoints|suites):/m;
const ofOthers = /^[ \t]*kind:[ \t]*(Service|Pod)Monitor\b/m;

export function isGatus(file: SourceFile): boolean {
  return isYaml(file) && topLevel.test(file.text) && !ofOthers.test(file.text);
}

const scalarMark = '\u001f';
/** Marks that the lexer adds. */
const lexerMarks = [scalarMark, '\u0002', '\u0018'];

/** Where comments begin and end. */
function commentsIn(text: string): (readonly [from: number, to: number])[] {
  let at = 0;
  let before = '';
  return [...new Lexer().lex(text)].flatMap((lexeme) => {
    const isComment = lexeme.startsWith('#') && before !== scalarMark;
    const from = at;
    before = lexeme;
    if (!lexerMarks.includes(lexeme)) at += lexeme.length;
    return isComment ? [[from, at] as const] : [];
  });
}

/** `$X` and `${X}` become marks of values of the environment, before YAML is parsed; `$$` is a dollar sign. */
export function expandEnvironment(text: string, plan: Plan, filled: FilledVariables): string {
  const comments = commentsIn(text);
  return text.replace(
    /\$\$|\$\{(\w+)\}|\$([A-Za-z_]\w*)|\$\{(\w+[^\w{}][^{}]*)\}/g,
    (whole, braced?: string, bare?: string, odd?: string, offset = 0) => {
      const name = braced ?? bare ?? odd;
      if (name === undefined) return '$';
      if (comments.some(([from, to]) => offset >= from && offset < to)) return whole;
      const value = plan.options.environment[name];
      const wanted =
        odd === undefined
          ? `the environment variable ${name}, which the files name (\`${whole}\`)`
          : `\`${whole}\` as its value: it is filled in by another tool, so render it first`;
      return filled.fill(name, value, odd === undefined && value !== undefined ? null : wanted);
    },
  );
}

/** Maps are merged and lists appended; a value that is set twice is a mistake. */
function merge(into: Record<string, unknown>, from: Fields, path: string, place: string): void {
  for (const [name, value] of Object.entries(from)) {
    const known = into[name];
    if (known === undefined) into[name] = value;
    else if (Array.isArray(known) && Array.isArray(value)) into[name] = [...known, ...value];
    else if (isFields(known) && isFields(value)) {
      const merged = { ...known };
      merge(merged, value, path, `${place}${name}.`);
      into[name] = merged;
    } else throw new SourceError(`${path}: \`${place}${name}\` is set in another file too`);
  }
}

export function readConfiguration(
  files: readonly SourceFile[],
  plan: Plan,
  filled: FilledVariables,
): Fields {
  const merged: Record<string, unknown> = {};
  for (const file of files) {
    const whole = { ...file, text: expandEnvironment(file.text, plan, filled) };
    for (const { path, value } of configurationsIn(whole, (text) =>
      expandEnvironment(text, plan, filled),
    )) {
      if (!isFields(value)) throw new SourceError(`${path} is not a YAML map`);
      // Other objects in a file of Kubernetes.
      if (value['kind'] === undefined) merge(merged, value, path, '');
      else plan.say('NOT_CARRIED', `${path}: ${textOf(value['kind'])} is not read.`);
    }
  }
  return merged;
}
