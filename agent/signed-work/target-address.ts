/** Where a check connects to, as far as it is known before its run. Pure. */
import { HttpUrl } from '@monitor/shared/http-url.ts';
import { isFields } from '@monitor/shared/fields.ts';
import { bareHost, portOf } from '../net/url-address.ts';

/** `own`: scripts and prompts choose by themselves, and the resolver of this machine is nobody's choice. */
export type TargetAddress = { host: string; port: number } | 'own' | 'unknown';

const hasTemplate = (text: string): boolean => text.includes('{{');

function addressOfUrl(url: string): TargetAddress {
  // Variables of a path or a query come after the host.
  const [authority] = /^https?:[\\/]+[^\\/?#]*/i.exec(url) ?? [];
  if (authority === undefined || hasTemplate(authority) || !HttpUrl.canParse(url)) return 'unknown';
  const address = new HttpUrl(url);
  return { host: bareHost(address.hostname), port: portOf(address) };
}

export function targetAddressOf(type: string, definition: Record<string, unknown>): TargetAddress {
  const { request } = definition;
  if (!isFields(request)) return 'own';
  if (type === 'DNS') {
    const { nameServer, port } = request;
    if (typeof nameServer !== 'string' || nameServer === '') return 'own';
    return { host: bareHost(nameServer), port: Number(port ?? 53) };
  }
  const {
    url,
    hostname = url,
    port,
  } = isFields(request['sslConfig']) ? request['sslConfig'] : request;
  if (typeof hostname !== 'string') return 'unknown';
  if (/^https?:/i.test(hostname) || type === 'URL' || type === 'API') return addressOfUrl(hostname);
  if (hasTemplate(`${hostname}${String(port)}`)) return 'unknown';
  return { host: bareHost(hostname), port: Number(port ?? 0) };
}
