/** The lines of a script at which a run failed. */
import type { CheckResult } from '@monitor/shared/contract/check-result-routes.ts';
import { errorsOf, exchangeOf, scriptOf } from '../state.ts';

/** `path` is that of the field. */
export interface CodeMark {
  path: string;
  line: number;
  message: string;
}

/** The file of the script in the folder of its run. */
const scriptFile = /(?:^|[\s(/\\])script(?:\.spec)?\.[jt]s(?::(\d+))?/;

/** Agents write scripts of checks into a file of this name, others by their path. */
function lineIn(stack: string, file: string | null) {
  for (const line of stack.split('\n')) {
    const named = scriptFile.exec(line);
    if (named?.[1] !== undefined) return Number(named[1]);
    if (named !== null) {
      // A parser says: script.spec.ts: Unexpected token (3:10)
      const parsed = /\((\d+):\d+\)/.exec(line)?.[1];
      if (parsed !== undefined) return Number(parsed);
    }
    const at = file === null ? -1 : line.indexOf(`${file}:`);
    const number = at < 0 ? null : /^\d+/.exec(line.slice(at + String(file).length + 1));
    if (number !== null) return Number(number[0]);
  }
  return null;
}

/** A text without the colours of a terminal, in a few lines. */
function plain(text: string) {
  return text
    .replaceAll(/\u001b\[[\d;]*m/g, '')
    .split('\n')
    .slice(0, 6)
    .join('\n')
    .trim();
}

export function marksOf(result: CheckResult): CodeMark[] {
  const script = scriptOf(result);
  if (script !== null) {
    const file = script.tests[0]?.file ?? null;
    const marks = errorsOf(script).flatMap(({ message, stack }) => {
      const line = lineIn(stack ?? '', file) ?? lineIn(message, file);
      return line === null ? [] : [{ path: 'script', line, message: plain(message) }];
    });
    return [...new Map(marks.map((mark) => [`${mark.line} ${mark.message}`, mark])).values()];
  }
  const exchange = exchangeOf(result);
  const log = Object.values(exchange?.jobLog ?? {}).flat();
  const said = [exchange?.requestError ?? '', ...log.map(({ msg }) => msg)];
  const marks = said.flatMap((text) => {
    const found = /(?<!group )\b(setup|teardown) script failed at line (\d+): ([\s\S]*)$/.exec(
      text,
    );
    if (found === null) return [];
    const path = found[1] === 'setup' ? 'localSetupScript' : 'localTearDownScript';
    return [{ path, line: Number(found[2]), message: plain(found[3] ?? '') }];
  });
  return [...new Map(marks.map((mark) => [`${mark.path} ${mark.line}`, mark])).values()];
}
