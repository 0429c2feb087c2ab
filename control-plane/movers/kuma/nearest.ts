/** What proves at least something for a monitor type that has no counterpart. */
import { lookUp, type SourceObject } from '../source-object.ts';

/** Host and port of a connection string; its credentials are never repeated. */
function serverOf(connection: string): string | null {
  const url = /^[a-z+]+:\/\//i.test(connection) ? URL.parse(connection) : null;
  if (url !== null && url.hostname !== '') return url.host;
  const [, server] = /(?:^|;)\s*(?:server|data source|host)\s*=\s*([^;]+)/i.exec(connection) ?? [];
  return server?.trim().replace(/^tcp:/i, '').replace(',', ':') ?? null;
}

const particular = {
  manual: 'A person sets its state: a service of a status page is nearest',
  rabbitmq: 'Nearest: an API check with basic authentication on the health address of each node',
};

/** A sentence that names the nearest check. */
export function nearestOf(type: string, monitor: SourceObject): string {
  const [hostname, port] = [monitor.text('hostname'), monitor.number('port')];
  if (type === 'tailscale-ping' && hostname !== '') return `Nearest: ICMP to ${hostname}`;
  const server =
    hostname !== '' && port > 0
      ? `${hostname}:${port}`
      : serverOf(monitor.text('database_connection_string'));
  const near =
    server === null
      ? 'There is no check that is near to it'
      : `Nearest: TCP on ${server}, which proves less`;
  return lookUp<string>(particular, type) ?? near;
}
