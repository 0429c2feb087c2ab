/** Where the link of the agent leads, and what it goes through first. */
import type { AgentConfig } from '../../config.ts';
import { destinationOf as addressOf, type LinkProxy } from '../../link/choose-proxy.ts';
import { authorityOf } from '../../link/link-problem.ts';
import { chooseProxy, type ChosenProxy } from './chosen-proxy.ts';

export interface Proxy extends LinkProxy {
  /** Without credentials. */
  readonly shown: string;
}

export interface Destination {
  /** Of the control plane, without a slash at its end. */
  readonly baseUrl: string;
  readonly url: URL;
  readonly host: string;
  readonly port: number;
  readonly isSecure: boolean;
  readonly proxy: Proxy | null;
  readonly because: ChosenProxy['because'];
  /** Whom this machine itself talks to: the proxy, or the control plane. */
  readonly hop: {
    readonly host: string;
    readonly port: number;
    readonly whose: string;
    readonly shown: string;
  };
}

function proxyOf(chosen: LinkProxy): Proxy {
  const { host, port, isSecure } = chosen;
  const shown = `${isSecure ? 'https' : 'http'}://${authorityOf(host, port)}`;
  return { ...chosen, shown };
}

/** What the settings make of the way to the control plane. */
export function destinationOf(config: AgentConfig): Destination {
  const url = new URL(config.CONTROL_PLANE_URL);
  const target = addressOf(url);
  const chosen = chooseProxy(target, config);
  const { host, port } = target;
  const proxy = chosen.proxy === null ? null : proxyOf(chosen.proxy);
  return {
    baseUrl: config.CONTROL_PLANE_URL,
    ...{ url, host, port, proxy },
    isSecure: url.protocol === 'https:',
    because: chosen.because,
    hop:
      proxy === null
        ? { host, port, whose: 'the control plane', shown: authorityOf(host, port) }
        : { host: proxy.host, port: proxy.port, whose: 'the proxy', shown: proxy.shown },
  };
}
