/**
 * Whose certificate is watched for a check. URL monitors and API checks name it with their address:
 * an https one whose host is known before the run. Every other type, and those two where the address
 * does not tell, may name a domain. Spec: Browser check, `sslCheckDomain`; reference: SSL alerts.
 */
import type { CertificateTarget } from '@monitor/shared/contract/agent-protocol.ts';

type Fields = Readonly<Record<string, unknown>>;

const defaultPort = 443;
const longestHost = 253;
/** A host, or an address of IPv6 in brackets, with or without a port. */
const hostAndPort = /^(\[[0-9a-f:.]+\]|[^\s:/[\]]+)(?::(\d{1,5}))?$/i;

function isAddress(host: string): boolean {
  return host.includes(':') || /^\d{1,3}(\.\d{1,3}){3}$/.test(host);
}

function targetOf(hostname: string, port: number): CertificateTarget | null {
  const host = hostname.replace(/^\[|\]$|\.$/g, '').toLowerCase();
  if (host === '' || host.length > longestHost || port < 1 || port > 65_535) return null;
  return { host, port, servername: isAddress(host) ? null : host };
}

/** Of an https address whose host is no template, or null. */
function targetOfUrl(url: unknown): CertificateTarget | null {
  if (typeof url !== 'string' || !/^https:\/\/[^/?#{]+([/?#]|$)/i.test(url)) return null;
  if (!URL.canParse(url)) return null;
  const { hostname, port } = new URL(url);
  return targetOf(hostname, port === '' ? defaultPort : Number(port));
}

/** Of `host` or `host:port`, or null. */
function targetOfDomain(domain: unknown): CertificateTarget | null {
  if (typeof domain !== 'string') return null;
  const [, host, port] = hostAndPort.exec(domain.trim()) ?? [];
  return host === undefined
    ? null
    : targetOf(host, port === undefined ? defaultPort : Number(port));
}

/** The server whose certificate is watched, or null; `fields` with the group applied. */
export function certificateTargetOf(type: string, fields: Fields): CertificateTarget | null {
  const request = fields['request'] as { url?: unknown } | undefined;
  const byUrl = type === 'URL' || type === 'API' ? targetOfUrl(request?.url) : null;
  return byUrl ?? targetOfDomain(fields['sslCheckDomain']);
}

/** How people call a target: the host, and the port where it is an unusual one. */
export function domainOf({ host, port }: Pick<CertificateTarget, 'host' | 'port'>): string {
  if (port === defaultPort) return host;
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
