/** Output of commands: tables for terminals, plain lines for pipes, JSON for programs. */
export { printJson } from '@monitor/shared/command-output.ts';
import { takesEscapes } from '@monitor/shared/command-output.ts';
import { table } from '@monitor/shared/text-table.ts';
import { processEnvironment } from '../../core/environment.ts';

/** True where a line of progress can be written over. */
export const isLively = (): boolean => takesEscapes(process.stderr, processEnvironment);

/**
 * Removes control characters: names come from anyone with a key, and a terminal executes escape
 * sequences.
 */
function harmless(text: string): string {
  return text.replace(/\p{Cc}/gu, '�');
}

/** A table with a header on a terminal; otherwise a line per row, tab-separated, without a header. */
export function printRows(columns: readonly string[], rows: readonly (readonly string[])[]): void {
  const safe = rows.map((row) => row.map(harmless));
  if (process.stdout.isTTY) console.log(table([columns, ...safe]));
  else for (const row of safe) console.log(row.join('\t'));
}

/** One line per fact: `name: value`. */
export function printFacts(facts: Readonly<Record<string, string | boolean | null>>): void {
  for (const [name, value] of Object.entries(facts)) {
    console.log(`${name}: ${harmless(String(value ?? 'none'))}`);
  }
}

/** Lines of text for people. */
export function printLines(lines: readonly string[]): void {
  for (const line of lines) console.log(harmless(line));
}

/** Writes to standard error, so that pipes carry only the answer. */
export function note(text: string): void {
  process.stderr.write(`${harmless(text)}\n`);
}

/** Formats an instant: UTC, to the minute. */
export function instant(milliseconds: number | null): string {
  if (milliseconds === null) return '-';
  return `${new Date(milliseconds).toISOString().slice(0, 16).replace('T', ' ')}Z`;
}

/** Shows progress in place on a terminal; otherwise nothing. */
export function progressLine(label: string): {
  show: (done: number, total: number) => void;
  end: () => void;
} {
  let shown = '';
  return {
    show(done, total) {
      const text = `${label} ${total === 0 ? 100 : Math.floor((done / total) * 100)} %`;
      if (!isLively() || text === shown) return;
      process.stderr.write(`\r${text}`);
      shown = text;
    },
    end() {
      if (shown !== '') process.stderr.write('\r\u001b[K');
    },
  };
}
