/** A row of figures, for people and, where BENCH_ROWS names a file, for programs that compare builds. */
import { appendFileSync } from 'node:fs';

export interface ShownRow {
  label: string;
  /** By name, as text with a unit. */
  values: Record<string, string>;
}

export function show(label: string, values: Record<string, string>): void {
  const text = Object.entries(values).map(([name, value]) => `${name} ${value}`);
  console.log(`${label.padEnd(26)} ${text.join('   ')}`);
  const row: ShownRow = { label, values };
  const file = process.env['BENCH_ROWS'];
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(row)}\n`);
}
