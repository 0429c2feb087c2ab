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

/** Its message, the lines of the script that it came from, and where they stand. */
export function describeScriptError(
  { message, stack }: Pick<ScriptError, 'message' | 'stack'>,
  source: ScriptSource | null,
): string {
  const frames = (stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  const parts = [message];
  for (const frame of frames) {
    const place = /(?:\(|at )([^()\s]+):(\d+):(\d+)\)?$/.exec(frame);
    if (place === null || source === null) continue;
    const [, file = '', line = '', column = ''] = place;
    if (!isOf(source, file)) continue;
    parts.push(codeFrame(source.text, Number(line), Number(column)));
    break;
  }
  if (frames.length > 0) parts.push(frames.map((frame) => `    ${frame.trim()}`).join('\n'));
  return parts.join('\n\n');
}
