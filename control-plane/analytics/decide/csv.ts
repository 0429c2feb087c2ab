/** Tables as RFC 4180 has them. */

export type CsvCell = string | number | boolean | null | undefined;

/**
 * A cell: quoted where needed. Programs that open such tables take text that begins like a formula for
 * one; an apostrophe before it tells them that it is not.
 */
function cellOf(cell: CsvCell): string {
  if (cell === null || cell === undefined) return '';
  if (typeof cell !== 'string') return String(cell);
  const text = /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Rows under a line that names the columns; what a row lacks is an empty cell. */
export function csvOf(
  columns: readonly string[],
  rows: readonly Readonly<Record<string, CsvCell>>[],
): string {
  const lines = rows.map((row) => columns.map((column) => cellOf(row[column])).join(','));
  return [columns.map(cellOf).join(','), ...lines].map((line) => `${line}\r\n`).join('');
}
