/**
 * Validates NODE_EXTRA_CA_CERTS. Node itself reads the file at its start and silently continues
 * without it on errors.
 */
import type { X509Certificate } from 'node:crypto';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import type { AgentConfig } from '../config.ts';
import { AgentError } from '../errors.ts';
import {
  describeDamaged,
  isOfOneCertificate,
  readAuthoritiesFile,
  type AuthoritiesProblem,
  type UselessFile,
} from '../net/tls/authorities-file.ts';
import { nameInOneLine } from '../net/tls/facts.ts';
import { forgetTrust } from '../net/tls/secure-context.ts';

type Texts = Readonly<Record<string, string | undefined>>;

const bundleFrom = 50;
const maxDamaged = 3;

/** What this process has trusted because of the file; null where only Node has read it. */
let ofFile: readonly string[] | null = null;

function unusable(path: string, reason: string, cause?: unknown): AgentError {
  return new AgentError(
    'CONFIG_INVALID',
    `the certificate authorities in NODE_EXTRA_CA_CERTS cannot be used: ${path} ${reason}`,
    { cause },
  );
}

/** Why a file of authorities cannot be used, for the log and for doctor; null where it can. */
export function authoritiesProblem(
  path: string,
  problems: readonly AuthoritiesProblem[],
): { what: string; fix: string } | null {
  const damaged = problems.filter(isOfOneCertificate);
  if (damaged.length > 0) {
    const which = damaged.slice(0, maxDamaged).map(describeDamaged).join(', ');
    return { what: `is damaged: ${which}`, fix: 'get the file again' };
  }
  const problem = problems[0] as UselessFile | undefined;
  switch (problem?.kind) {
    case undefined:
      return null;
    case 'unreadable':
      return unreadable(path, problem.code);
    case 'empty':
      return { what: 'is empty', fix: 'put the certificate of the authority into it, in PEM' };
    case 'der':
    case 'not-pem':
      return {
        what: 'is not in PEM: it has no "-----BEGIN CERTIFICATE-----"',
        fix: `if it is DER: openssl x509 -inform der -in ${path} -out ca.pem`,
      };
    case 'no-certificate':
      return {
        what: `holds no certificate, only ${problem.labels.join(', ')}`,
        fix: 'put the certificate of the authority into it, in PEM',
      };
  }
}

function unreadable(path: string, code: string): { what: string; fix: string } {
  switch (code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return { what: 'does not exist', fix: 'correct the path, or mount the file there' };
    case 'EISDIR':
      return { what: 'is a folder', fix: 'name a file with all certificates one after the other' };
    case 'EACCES':
      return {
        what: `may not be read by uid ${process.getuid?.() ?? '?'}`,
        fix: `chmod a+r ${path}, and see that its folders can be entered`,
      };
    default:
      return { what: `cannot be read (${code})`, fix: 'see what is wrong with its disk' };
  }
}

/** The certificates of a PEM file. Throws CONFIG_INVALID where it cannot be used. */
function readAuthorities(path: string): readonly X509Certificate[] {
  const { certificates, problems } = readAuthoritiesFile(path);
  const problem = authoritiesProblem(path, problems);
  if (problem === null) return certificates;
  const [first] = problems;
  const cause = first !== undefined && 'cause' in first ? first.cause : undefined;
  throw unusable(path, `${problem.what}; ${problem.fix}`, cause);
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
