/** Selects the proxy of the agent's own connections: HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY. */
import type { AgentConfig } from '../config.ts';
import { parseHttpProxy, type HttpProxy } from '../net/http/proxy.ts';
import { parseNoProxy } from './no-proxy.ts';
import { bareHost, portOf } from '../net/url-address.ts';

export type ProxySettings = Partial<
  Pick<AgentConfig, 'HTTPS_PROXY' | 'HTTP_PROXY' | 'ALL_PROXY' | 'NO_PROXY'>
>;

export interface LinkProxy extends HttpProxy {
  /** The setting with the proxy, for messages. */
  readonly setting: 'HTTPS_PROXY' | 'HTTP_PROXY' | 'ALL_PROXY';
}

export interface Destination {
  readonly protocol: string;
  /** Without brackets. */
  readonly host: string;
  readonly port: number;
}

/** Host and port of a URL or origin. */
export function destinationOf(address: string | URL): Destination {
  const url = new URL(address);
  return { protocol: url.protocol, host: bareHost(url.hostname), port: portOf(url) };
}

/** Gives for each destination its proxy, or null for a direct connection. */
export function proxyChooser(
  settings: ProxySettings,
): (destination: Destination) => LinkProxy | null {
  const isDirect = parseNoProxy(settings.NO_PROXY ?? '');
  const named = (names: readonly LinkProxy['setting'][]): LinkProxy | null => {
    for (const setting of names) {
      const url = settings[setting]?.reveal();
      if (url !== undefined) return { ...parseHttpProxy(url), setting };
    }
    return null;
  };
  const byProtocol: Record<string, LinkProxy | null> = {
    'https:': named(['HTTPS_PROXY', 'ALL_PROXY']),
    'http:': named(['HTTP_PROXY', 'ALL_PROXY']),
  };
  return ({ protocol, host, port }) =>
    isDirect(host, port) ? null : (byProtocol[protocol] ?? null);
}
