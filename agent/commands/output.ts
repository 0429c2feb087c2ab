/** How commands print: colours and tables for people, JSON for programs. */
import { createColors } from 'picocolors';

/** Colours where a person looks at a terminal that wants them. */
export function colorsFor(stream: NodeJS.WriteStream, noColor: string | undefined) {
  return createColors(stream.isTTY && (noColor === undefined || noColor === ''));
}

export type Colors = ReturnType<typeof colorsFor>;

/** Rows in columns as wide as their widest cell. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, index) => {
      widths[index] = Math.max(widths[index] ?? 0, cell.length);
    });
  }
  return rows
    .map((row) =>
      row
        .map((cell, index) => cell.padEnd(widths[index] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
