/** A name server as people write it. */
import { isIP } from 'node:net';

const standardPort = 53;

/**
 * Splits `host`, `host:port`, `[v6]`, `[v6]:port` and a bare IPv6 address. The port in the text counts
 * more than the one beside it. Null when the text is none of these.
 */
export function parseNameServer(
  text: string,
  portBeside?: number | null,
): { host: string; port: number } | null {
  const match =
    /^\[(?<host>[^\]]+)\](?::(?<port>\d{1,5}))?$/.exec(text) ??
    /^(?<host>[^\s:/[\]]+)(?::(?<port>\d{1,5}))?$/.exec(text);
  const { host = text, port } = match?.groups ?? {};
  const isHost = match === null || text.startsWith('[') ? isIP(host) === 6 : true;
  const number = Number(port ?? portBeside ?? standardPort);
  return isHost && number >= 1 && number <= 65_535 ? { host, port: number } : null;
}
