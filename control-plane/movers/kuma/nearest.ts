/** What proves at least something for a monitor type that has no counterpart. */
import { lookUp, type SourceObject } from '../source-object.ts';

/** Host and port of a connection string; its credentials are never repeated. */
function serverOf(connection: string): string | null {
  const url =
    /^[a-z+]+:\/\//i.test(connection) && URL.canParse(connection) ? new URL(connection) : null;
  if (url !== null && url.hostname !== '') {
    return url.port === '' ? url.hostname : `${url.hostname}:${url.port}`;
  }
  const [, server] = /(?:^|;)\s*(?:server|data source|host)\s*=\s*([^;]+)/i.exec(connection) ?? [];
  return server?.trim().replace(/^tcp:/i, '').replace(',', ':') ?? null;
}

const particular: Readonly<Record<string, string>> = {
  manual: 'A person sets its state: a service of a status page is nearest.',
  rabbitmq: 'Nearest: an API check with basic authentication on the health address of each node.',
};

/** A sentence that names the nearest check. */
export function nearestOf(type: string, monitor: SourceObject): string {
  const known = lookUp(particular, type);
  if (known !== undefined) return known;
  const hostname = monitor.text('hostname');
  if (type === 'tailscale-ping' && hostname !== '') return `Nearest: ICMP to ${hostname}.`;
  const port = monitor.number('port');
  const server =
    hostname !== '' && port > 0
      ? `${hostname}:${port}`
      : serverOf(monitor.text('database_connection_string'));
  return server === null
    ? 'There is no check that is near to it.'
    : `Nearest: TCP on ${server}, which proves less.`;
}
