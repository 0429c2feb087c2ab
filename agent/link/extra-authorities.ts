/**
 * Validates NODE_EXTRA_CA_CERTS. Node itself reads the file at its start and silently continues
 * without it on errors.
 */
import type { X509Certificate } from 'node:crypto';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import type { AgentConfig } from '../config.ts';
import { AgentError } from '../errors.ts';
import {
  readAuthoritiesFile,
  describeDamaged,
  type AuthoritiesProblem,
} from '../net/tls/authorities-file.ts';
import { nameInOneLine } from '../net/tls/facts.ts';
import { forgetTrust } from '../net/tls/secure-context.ts';

type Texts = Readonly<Record<string, string | undefined>>;

const bundleFrom = 50;

/** What this process has trusted because of the file; null where only Node has read it. */
let ofFile: readonly string[] | null = null;

function unusable(path: string, reason: string, cause?: unknown): AgentError {
  return new AgentError(
    'CONFIG_INVALID',
    `the certificate authorities in NODE_EXTRA_CA_CERTS cannot be used: ${path} ${reason}`,
    { cause },
  );
}

const unreadable: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist; correct the path, or mount the file',
  EACCES: 'may not be read by this user; correct its permissions',
  EISDIR: 'is a folder; name a file with all certificates one after the other',
};

function reasonOf(path: string, problem: AuthoritiesProblem): string {
  switch (problem.kind) {
    case 'unreadable':
      return unreadable[problem.code] ?? `cannot be read (${problem.code})`;
    case 'empty':
      return 'is empty and so not in PEM; put the certificate of the authority into it';
    case 'der':
      return `is in DER, not in PEM; convert it: openssl x509 -inform der -in ${path} -out ca.pem`;
    case 'not-pem':
      return 'is not in PEM: it has no "-----BEGIN CERTIFICATE-----"';
    case 'no-certificate':
      return `holds no certificate, only ${problem.labels.join(', ')}`;
    case 'damaged':
    case 'cut-off':
      return `is damaged: ${describeDamaged(problem)}; get the file again`;
  }
}

/** The certificates of a PEM file. Throws CONFIG_INVALID for the first problem. */
function readAuthorities(path: string): readonly X509Certificate[] {
  const { certificates, problems } = readAuthoritiesFile(path);
  const [problem] = problems;
  if (problem === undefined) return certificates;
  throw unusable(path, reasonOf(path, problem), 'cause' in problem ? problem.cause : undefined);
}

/**
 * Checks that the trust settings have the intended effect. Gives warnings for the log; throws
 * CONFIG_INVALID when the authorities cannot be used.
 */
export function applyTrust(
  config: Pick<AgentConfig, 'NODE_EXTRA_CA_CERTS'>,
  environment: Texts,
  now: number,
): string[] {
  const warnings: string[] = [];
  if (environment['NODE_TLS_REJECT_UNAUTHORIZED'] === '0') {
    warnings.push(
      'NODE_TLS_REJECT_UNAUTHORIZED=0: anyone on the way can read the key of this agent and pose as the control plane; remove it and set NODE_EXTRA_CA_CERTS to a file with the authority that is missing',
    );
  }
  const path = config.NODE_EXTRA_CA_CERTS;
  if (path === undefined) return warnings;
  const authorities = readAuthorities(path);
  const expired = authorities.filter(({ validTo }) => Date.parse(validTo) <= now);
  const sayExpired = ({ subject, validTo }: X509Certificate): string =>
    `"${nameInOneLine(subject)}" expired on ${new Date(validTo).toISOString().slice(0, 10)}`;
  if (expired.length === authorities.length) {
    const list = expired.map(sayExpired).join(', ');
    throw unusable(path, `holds nothing that is still valid: ${list}; put the new authority in`);
  }
  // The bundle of an operating system contains a few expired ones; they were not added for this
  // agent.
  if (expired.length > 0 && authorities.length < bundleFrom) {
    const list = expired.map(sayExpired).join(', ');
    warnings.push(`NODE_EXTRA_CA_CERTS: ${list}; the others in ${path} are used`);
  }
  // Node does not know a file that was given by a flag.
  if (environment['NODE_EXTRA_CA_CERTS'] !== path) {
    const known = getCACertificates('default');
    ofFile = authorities.map((one) => one.toString().trim());
    setDefaultCACertificates([...known, ...ofFile]);
  }
  return warnings;
}

/**
 * Reads the file again after a certificate was not trusted. True where it has authorities by now that
 * were not in it: these are trusted from now on, and those that were taken out are not. A successor of
 * the same name would not be found behind the one before it.
 */
export function renewTrust(path: string | undefined): boolean {
  if (path === undefined) return false;
  const known = getCACertificates('default');
  const knownIds = new Set(known.map((one) => one.trim()));
  const found = readAuthoritiesFile(path).certificates.map((one) => one.toString().trim());
  const news = found.filter((one) => !knownIds.has(one));
  if (news.length === 0) return false;
  const before = new Set(ofFile ?? getCACertificates('extra').map((one) => one.trim()));
  ofFile = found;
  setDefaultCACertificates([...known.filter((one) => !before.has(one.trim())), ...found]);
  forgetTrust();
  return true;
}
