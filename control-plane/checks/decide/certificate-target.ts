/**
 * The server whose certificate is watched for a check: the one that its type connects to over TLS,
 * if it is known before the run, else the domain that the check names. Spec: Browser check,
 * `sslCheckDomain`; reference: SSL alerts.
 */
import type { CertificateTarget } from '@monitor/shared/contract/agent-protocol.ts';
import type {
  CheckFields,
  CheckTypeDefinition,
} from '@monitor/shared/contract/checks/check-type.ts';

const defaultPort = 443;
const maxHostLength = 253;
/** A host, or an address of IPv6 in brackets, with or without a port. */
const hostAndPort = /^(\[[0-9a-f:.]+\]|[^\s:/[\]]+)(?::(\d{1,5}))?$/i;

function isAddress(host: string): boolean {
  return host.includes(':') || /^\d{1,3}(\.\d{1,3}){3}$/.test(host);
}

function targetOf(hostname: string, port: number): CertificateTarget | null {
  const host = hostname.replace(/^\[|\]$|\.$/g, '').toLowerCase();
  if (host === '' || host.length > maxHostLength || port < 1 || port > 65_535) return null;
  return { host, port, servername: isAddress(host) ? null : host };
}

/** The target of `host` or `host:port`; null for other texts. */
function targetOfDomain(domain: unknown): CertificateTarget | null {
  if (typeof domain !== 'string') return null;
  const [, host, port] = hostAndPort.exec(domain.trim()) ?? [];
  return host === undefined
    ? null
    : targetOf(host, port === undefined ? defaultPort : Number(port));
}

/** The server whose certificate is watched, or null; `fields` with the settings of the group. */
export function certificateTargetOf(
  type: CheckTypeDefinition,
  fields: CheckFields,
): CertificateTarget | null {
  const server = type.watchedServer(fields);
  const target = server === null ? null : targetOf(server.host, server.port);
  if (target === null) return targetOfDomain(fields['sslCheckDomain']);
  const name = server?.serverName ?? null;
  return name === null || isAddress(name) ? target : { ...target, servername: name.toLowerCase() };
}

/** Name of a target: the host, with the port unless it is 443. */
export function domainOf({ host, port }: Pick<CertificateTarget, 'host' | 'port'>): string {
  if (port === defaultPort) return host;
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
