/** Rows in columns as wide as their widest cell; columns of numbers may end at the same place. */
export function table(
  rows: readonly (readonly string[])[],
  isNumber: (column: number) => boolean = () => false,
): string {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, index) => {
      widths[index] = Math.max(widths[index] ?? 0, cell.length);
    });
  }
  return rows
    .map((row) =>
      row
        .map((cell, index) => cell[isNumber(index) ? 'padStart' : 'padEnd'](widths[index] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
