/** Host and database of a URL, without what is secret. */
export function nameOfServer(url: string): string {
  const { host, pathname, searchParams } = new URL(url);
  return `${host === '' ? (searchParams.get('host') ?? '') : host}${pathname}`;
}

/** How a message names a database: its file, or its server without what is secret. */
export function nameOfDatabase({
  DATABASE_FILE,
  DATABASE_URL,
}: {
  DATABASE_FILE: string;
  DATABASE_URL?: string | undefined;
}): string {
  return DATABASE_URL === undefined ? DATABASE_FILE : nameOfServer(DATABASE_URL);
}
