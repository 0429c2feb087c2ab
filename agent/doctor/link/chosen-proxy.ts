/** Which proxy the link uses, and why: what `agent/link` decides, in words. */
import {
  proxyChooser,
  type Destination,
  type LinkProxy,
  type ProxySettings,
} from '../../link/choose-proxy.ts';
import { parseNoProxy } from '../../link/no-proxy.ts';

export interface ChosenProxy {
  /** Null for none. */
  readonly proxy: LinkProxy | null;
  /** `HTTPS_PROXY is set`. */
  readonly because: string;
}

/** The entry of NO_PROXY that applies; null when none does. */
export function noProxyEntryFor(host: string, port: number, noProxy: string): string | null {
  const entries = noProxy.split(/[\s,]+/).filter((entry) => entry !== '');
  return entries.find((entry) => parseNoProxy(entry)(host, port)) ?? null;
}

/** What the settings say for a destination. */
export function chooseProxy(destination: Destination, settings: ProxySettings): ChosenProxy {
  const proxy = proxyChooser(settings)(destination);
  if (proxy !== null) return { proxy, because: `${proxy.setting} is set` };
  const { host, port, protocol } = destination;
  const entry = noProxyEntryFor(host, port, settings.NO_PROXY ?? '');
  const { NO_PROXY: _exceptions, ...proxies } = settings;
  const wouldBe = proxyChooser(proxies)(destination);
  if (entry !== null && wouldBe !== null) return { proxy, because: `NO_PROXY has "${entry}"` };
  const name = protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY';
  return { proxy, because: `${name} is not set` };
}
