/** CSV as in RFC 4180. */

export type CsvCell = string | number | boolean | null | undefined;

/**
 * Quotes a cell where needed. Spreadsheet programs take text that begins like a formula for a
 * formula; an apostrophe in front prevents that.
 */
function cellOf(cell: CsvCell): string {
  if (cell === null || cell === undefined) return '';
  if (typeof cell !== 'string') return String(cell);
  const text = /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** A header line and the rows; a missing value is an empty cell. */
export function csvOf(
  columns: readonly string[],
  rows: readonly Readonly<Record<string, CsvCell>>[],
): string {
  const lines = rows.map((row) => columns.map((column) => cellOf(row[column])).join(','));
  return [columns.map(cellOf).join(','), ...lines].map((line) => `${line}\r\n`).join('');
}
