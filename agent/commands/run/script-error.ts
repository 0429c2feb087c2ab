/** An error of a script for people: as the test runner shows it, with the lines it came from. */
import type { ScriptError } from '@monitor/shared/contract/check-result.ts';

/** A script as it was given; its path is null where it has the name that every script gets. */
export interface ScriptSource {
  path: string | null;
  text: string;
}

const linesAround = 2;

/** The line with its neighbours, and a mark below the column. */
export function codeFrame(text: string, line: number, column: number): string {
  const lines = text.split('\n');
  const first = Math.max(1, line - linesAround);
  const last = Math.min(lines.length, line + linesAround);
  const width = String(last).length;
  const shown: string[] = [];
  for (let number = first; number <= last; number += 1) {
    const mark = number === line ? '>' : ' ';
    shown.push(`${mark} ${String(number).padStart(width)} | ${lines[number - 1] ?? ''}`.trimEnd());
    if (number === line) shown.push(`  ${' '.repeat(width)} | ${' '.repeat(column - 1)}^`);
  }
  return shown.join('\n');
}

function isOf({ path }: ScriptSource, file: string): boolean {
  return path === null ? /^script(\.spec)?\.[cm]?[jt]s$/.test(file) : file === path;
}

type Thrown = Pick<ScriptError, 'message' | 'stack'>;

function framesOf({ stack }: Thrown): string[] {
  return (stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
}

export interface ScriptPlace {
  source: ScriptSource;
  line: number;
  column: number;
}

/** The innermost place of an error in one of the given files; null where it stands in none of them. */
export function placeOf(error: Thrown, sources: readonly ScriptSource[]): ScriptPlace | null {
  for (const frame of framesOf(error)) {
    const [, file, line, column] = /(?:\(|at )([^()\s]+):(\d+):(\d+)\)?$/.exec(frame) ?? [];
    const source = sources.find((each) => file !== undefined && isOf(each, file));
    if (source !== undefined) return { source, line: Number(line), column: Number(column) };
  }
  return null;
}

/** Its message, the lines of the script that it came from, and where they stand. */
export function describeScriptError(error: Thrown, sources: readonly ScriptSource[]): string {
  const frames = framesOf(error);
  const place = placeOf(error, sources);
  const parts = [error.message];
  if (place !== null) parts.push(codeFrame(place.source.text, place.line, place.column));
  if (frames.length > 0) parts.push(frames.map((frame) => `    ${frame.trim()}`).join('\n'));
  return parts.join('\n\n');
}
