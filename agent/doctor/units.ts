/** Formats amounts for people. */
const mebibyte = 1_048_576;
const gibibyte = 1_073_741_824;

/** `12 KiB`, `512 MiB`, `1.5 GiB`. */
export function bytesText(bytes: number): string {
  if (bytes >= gibibyte) return `${Math.round((bytes / gibibyte) * 10) / 10} GiB`;
  if (bytes >= mebibyte) return `${Math.floor(bytes / mebibyte)} MiB`;
  return bytes >= 1_024 ? `${Math.floor(bytes / 1_024)} KiB` : `${bytes} bytes`;
}

/** `1 open file`, `2 open files`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** `3.5 hours`, `90 days`: long times, roughly. */
export function longTime(ms: number): string {
  const minutes = ms / 60_000;
  if (minutes < 2) return counted(Math.round(ms / 1_000), 'second');
  if (minutes < 120) return counted(Math.round(minutes), 'minute');
  if (minutes < 2_880) return counted(Math.round(minutes / 60), 'hour');
  return counted(Math.round(minutes / 1_440), 'day');
}

/** `a, b, c and 2 more`: the first few of many. */
export function severalOf(
  all: readonly string[],
  { most = 3, between = ', ' }: { most?: number; between?: string } = {},
): string {
  const more = all.length - most;
  return `${all.slice(0, most).join(between)}${more > 0 ? ` and ${more} more` : ''}`;
}
