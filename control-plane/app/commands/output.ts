/** How commands print: tables for people, plain lines for pipes, JSON for programs. */
import { table } from '@monitor/shared/text-table.ts';

/** Names are chosen by anyone with a key; a terminal must not take them for orders. */
function harmless(text: string): string {
  return text.replace(/\p{Cc}/gu, '�');
}

/** A table with its header on a terminal; elsewhere a line a row, cells apart by tabs, no header. */
export function printRows(columns: readonly string[], rows: readonly (readonly string[])[]): void {
  const safe = rows.map((row) => row.map(harmless));
  if (process.stdout.isTTY) console.log(table([columns, ...safe]));
  else for (const row of safe) console.log(row.join('\t'));
}

/** A line a fact, `name: value`. */
export function printFacts(facts: Readonly<Record<string, string | boolean | null>>): void {
  for (const [name, value] of Object.entries(facts)) {
    console.log(`${name}: ${harmless(String(value ?? 'none'))}`);
  }
}

export function printJson(value: unknown): void {
  console.log(JSON.stringify(value));
}

/** For people beside the output: standard error, so that pipes carry only the answer. */
export function note(text: string): void {
  process.stderr.write(`${harmless(text)}\n`);
}

/** An instant for people: UTC, to the minute. */
export function instant(milliseconds: number | null): string {
  if (milliseconds === null) return '-';
  return `${new Date(milliseconds).toISOString().slice(0, 16).replace('T', ' ')}Z`;
}

/** Shows how far a long work is: in place on a terminal, and not at all elsewhere. */
export function progressLine(label: string): {
  show: (done: number, total: number) => void;
  end: () => void;
} {
  let shown = '';
  return {
    show(done, total) {
      const text = `${label} ${total === 0 ? 100 : Math.floor((done / total) * 100)} %`;
      if (!process.stderr.isTTY || text === shown) return;
      process.stderr.write(`\r${text}`);
      shown = text;
    },
    end() {
      if (shown !== '') process.stderr.write('\r\u001b[K');
    },
  };
}
