/** `host:port`, `[v6]:port`; null for what is not that. */
export function hostAndPort(text: string): { host: string; port: number } | null {
  const match = /^(?:\[(?<v6>[^\]]+)\]|(?<host>[^:[\]]+)):(?<port>\d{1,5})$/.exec(text);
  const host = match?.groups?.['v6'] ?? match?.groups?.['host'];
  const port = Number(match?.groups?.['port']);
  return host !== undefined && port >= 1 && port <= 65_535 ? { host, port } : null;
}
