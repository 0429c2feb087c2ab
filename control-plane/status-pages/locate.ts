/** Finds the status page of a request by its host and path. */
import { isIP } from 'node:net';
import { domainToUnicode } from 'node:url';
import type { PageAddress } from './read-page.ts';

/** A possible page of a request, with the rest of the path: `/`, `/history`. */
export interface Candidate {
  address: PageAddress;
  /** Prefix of the paths of the page. */
  base: string;
  rest: string;
}

/** `Status.Shop.example.:8443` → `status.shop.example`; null for an invalid host. */
export function hostName(header: string | undefined): string | null {
  const host = (header ?? '')
    .toLowerCase()
    .replace(/:\d{1,5}$/, '')
    .replace(/\.$/, '');
  return /^[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(host) && isIP(host) === 0 ? host : null;
}

/** The page with this host as custom domain; null for hosts of the control plane. */
export function byHost(
  host: string | null,
  path: string,
  ownHosts: ReadonlySet<string>,
): Candidate | null {
  if (host === null || ownHosts.has(host)) return null;
  const hosts = [...new Set([host, domainToUnicode(host)])];
  return { address: { kind: 'domain', hosts }, base: '', rest: path };
}

/** The page under `/status/{slug}`. `prefix` is the path of the public URL. */
export function byPath(path: string, prefix: string): Candidate | null {
  const match = /^\/status\/([A-Za-z0-9-]{1,255})(\/.*)?$/.exec(path);
  if (match === null) return null;
  const slug = (match[1] ?? '').toLowerCase();
  return {
    address: { kind: 'slug', slug },
    base: `${prefix}/status/${slug}`,
    rest: match[2] ?? '/',
  };
}
