/** What a probe says about a TLS connection, and what it trusts. */
import { readFileSync } from 'node:fs';
import {
  createSecureContext,
  type DetailedPeerCertificate,
  type SecureContext,
  type TLSSocket,
} from 'node:tls';
import { X509Certificate } from 'node:crypto';
import { defaultSecureContext } from '../net/tls/secure-context.ts';
import type { TlsSettings } from './module-schema.ts';
import type { ProbeReport } from './report.ts';

/** What the zero of time is, where no chain could be verified: dashboards know it. */
const noTime = -62_135_596_800;

/** The certificates from the server's own up to the last authority that is known. */
function chainOf(socket: TLSSocket): DetailedPeerCertificate[] {
  const chain: DetailedPeerCertificate[] = [];
  const seen = new Set<string>();
  let certificate: DetailedPeerCertificate | undefined = socket.getPeerCertificate(true);
  while (certificate?.raw !== undefined && !seen.has(certificate.fingerprint256)) {
    seen.add(certificate.fingerprint256);
    chain.push(certificate);
    certificate = certificate.issuerCertificate;
  }
  return chain;
}

function isSelfSigned({ subject, issuer }: DetailedPeerCertificate): boolean {
  return JSON.stringify(subject) === JSON.stringify(issuer);
}

function earliestEnd(chain: readonly DetailedPeerCertificate[]): number {
  return Math.min(...chain.map(({ valid_to: end }) => Date.parse(end) / 1000));
}

/** `CN=a,O=b`: the parts of a name, the most specific one first, as RFC 2253 writes it. */
function nameText(lines: string | undefined): string {
  return (lines ?? '').trim().split('\n').reverse().join(',');
}

/** The names for DNS in a certificate, separated by commas. */
function dnsNamesOf(certificate: X509Certificate): string {
  return (certificate.subjectAltName ?? '')
    .split(', ')
    .flatMap((name) => (name.startsWith('DNS:') ? [name.slice(4)] : []))
    .join(',');
}

/** Adds the gauges of a completed handshake. */
export function reportTls(report: ProbeReport, socket: TLSSocket): void {
  const chain = chainOf(socket);
  const [own] = chain;
  if (own === undefined) return;
  const certificate = new X509Certificate(own.raw);
  // What the server sent; authorities of this machine are only part of the verified chain.
  const shown = chain.filter((each, index) => index === 0 || !isSelfSigned(each));
  report.set(
    'probe_ssl_earliest_cert_expiry',
    'Returns last SSL chain expiry in unixtime',
    earliestEnd(shown),
  );
  report.set(
    'probe_ssl_last_chain_expiry_timestamp_seconds',
    'Returns last SSL chain expiry in timestamp',
    socket.authorized ? earliestEnd(chain) : noTime,
  );
  report.set('probe_ssl_last_chain_info', 'Contains SSL leaf certificate information', 1, {
    fingerprint_sha256: certificate.fingerprint256.replaceAll(':', '').toLowerCase(),
    issuer: nameText(certificate.issuer),
    subject: nameText(certificate.subject),
    subjectalternative: dnsNamesOf(certificate),
  });
  report.set('probe_tls_version_info', 'Returns the TLS version used or NaN when unknown', 1, {
    version: (socket.getProtocol() ?? 'unknown').replace(/^TLSv/, 'TLS '),
  });
}

/** Files are read for each probe: certificates on disk are renewed while agents run. */
export function secureContextFor(settings: TlsSettings | undefined): SecureContext {
  const { ca_file: authority, cert_file: certificate, key_file: key } = settings ?? {};
  if (authority === undefined && certificate === undefined) return defaultSecureContext();
  return createSecureContext({
    // As in that format: it takes the place of the well-known authorities.
    ...(authority === undefined ? {} : { ca: readFileSync(authority, 'utf8') }),
    ...(certificate === undefined ? {} : { cert: readFileSync(certificate, 'utf8') }),
    ...(key === undefined ? {} : { key: readFileSync(key, 'utf8') }),
  });
}
