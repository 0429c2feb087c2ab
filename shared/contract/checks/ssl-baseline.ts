/**
 * The security baseline of SSL checks: rules about protocol, keys and signatures of a connection.
 * Pure. Each rule names its reference.
 */
import { z } from 'zod';

/** `fail` fails the run, `degrade` degrades it; `ignore` only shows the violation. */
const severity = z.enum(['fail', 'degrade', 'ignore']);

const rule = (fallback: z.infer<typeof severity>) =>
  z.object({ severity: severity.default(fallback) }).prefault({});
const ruleOf = <V extends z.ZodType>(value: z.ZodDefault<V>, fallback: z.infer<typeof severity>) =>
  z.object({ value, severity: severity.default(fallback) }).prefault({});

const tlsVersion = z.enum(['TLS1.2', 'TLS1.3']);
const keySize = z.int().min(1024).max(16_384);

/** A write replaces the whole baseline; missing rules get their defaults. */
export const securityBaseline = z
  .strictObject({
    enabled: z.boolean().default(true),
    minTLSVersion: ruleOf(tlsVersion.default('TLS1.2'), 'fail'),
    recommendedTLSVersion: ruleOf(tlsVersion.default('TLS1.3'), 'ignore'),
    minKeySizeBits: ruleOf(keySize.default(2048), 'fail'),
    recommendedKeySizeBits: ruleOf(keySize.default(3072), 'ignore'),
    weakSignatureAlgorithm: rule('fail'),
    weakCipherSuite: rule('fail'),
    knownBadCA: rule('fail'),
    ocspMustStapleRespected: rule('ignore'),
    sctPresent: rule('ignore'),
  })
  .meta({ id: 'SslSecurityBaseline' });
export type SecurityBaseline = z.output<typeof securityBaseline>;
type Rule = Exclude<keyof SecurityBaseline, 'enabled'>;

/** Facts about the connection for the rules. */
export interface SecuredConnection {
  /** As `TLS1.3`. */
  tlsVersion: string;
  /** IANA name. */
  cipherSuite: string;
  ocspStapled: boolean;
  leaf: {
    keyAlgorithm: string;
    keySizeBits: number | null;
    demandsStaple: boolean;
    hasSct: boolean;
    notBefore: string;
  };
  /** Of the leaf and its issuers, without the root. */
  signatureAlgorithms: readonly string[];
  /** Common names of all issuers, the root among them. */
  issuers: readonly string[];
}

export interface BaselineReport {
  verdict: 'pass' | 'warn' | 'fail';
  /** `A-`: no violation; `F`: a violated rule that fails; `B`: any other violation. */
  grade: 'A-' | 'B' | 'F';
  rules: Record<Rule, { violated: boolean; severity: z.infer<typeof severity> }>;
}

/** 1.3 for `TLS1.3`, `TLSv1.3` and `TLS 1.3`; null for other texts. */
export function versionNumber(version: string): number | null {
  const [, number] = /^tlsv?(1(?:\.[0-3])?)$/.exec(version.replaceAll(' ', '').toLowerCase()) ?? [];
  return number === undefined ? null : Number(number);
}

function isOlder(version: string, than: string): boolean {
  return (versionNumber(version) ?? 0) < (versionNumber(than) ?? 0);
}

/** ECDSA and Ed25519 reach this strength with far smaller keys. */
function isSmaller({ keyAlgorithm, keySizeBits }: SecuredConnection['leaf'], than: number) {
  return keyAlgorithm === 'RSA' && keySizeBits !== null && keySizeBits < than;
}

const weakSignatures: ReadonlySet<string> = new Set([
  'MD2-RSA',
  'MD5-RSA',
  'SHA1-RSA',
  'DSA-SHA1',
  'ECDSA-SHA1',
]);

/**
 * RFC 9325, 4.1; triple DES because of its 64-bit blocks. Not CBC or RSA key exchange: good servers
 * have them.
 */
const weakCiphers = /_(NULL|anon|EXPORT|RC4|3?DES|DES40|MD5)(_|$)|_MD5$/;

/** Authorities whose certificates browsers distrust from a date on. */
const distrustedRoots: readonly { name: string; issuedAfter: string; source: string }[] = [
  'Entrust Root Certification Authority',
  'Entrust Root Certification Authority - EC1',
  'Entrust Root Certification Authority - G2',
  'Entrust Root Certification Authority - G4',
  'Entrust.net Certification Authority (2048)',
  'AffirmTrust Commercial',
  'AffirmTrust Networking',
  'AffirmTrust Premium',
  'AffirmTrust Premium ECC',
].map((name) => ({
  name,
  issuedAfter: '2024-11-12T00:00:00.000Z',
  source: 'Chrome Root Program, Entrust certificate distrust',
}));

function isDistrusted({ issuers, leaf }: SecuredConnection): boolean {
  return distrustedRoots.some(
    ({ name, issuedAfter }) =>
      issuers.includes(name) && Date.parse(leaf.notBefore) >= Date.parse(issuedAfter),
  );
}

/** Judges a connection with a valid host name and chain; null when the baseline is off. */
export function judgeBaseline(
  baseline: SecurityBaseline,
  connection: SecuredConnection,
): BaselineReport | null {
  if (!baseline.enabled) return null;
  const { tlsVersion: version, leaf, signatureAlgorithms, cipherSuite, ocspStapled } = connection;
  const violated: Record<Rule, boolean> = {
    minTLSVersion: isOlder(version, baseline.minTLSVersion.value),
    recommendedTLSVersion: isOlder(version, baseline.recommendedTLSVersion.value),
    minKeySizeBits: isSmaller(leaf, baseline.minKeySizeBits.value),
    recommendedKeySizeBits: isSmaller(leaf, baseline.recommendedKeySizeBits.value),
    weakSignatureAlgorithm: signatureAlgorithms.some((name) => weakSignatures.has(name)),
    weakCipherSuite: weakCiphers.test(cipherSuite),
    knownBadCA: isDistrusted(connection),
    // RFC 7633.
    ocspMustStapleRespected: leaf.demandsStaple && !ocspStapled,
    sctPresent: !leaf.hasSct,
  };
  const names = Object.keys(violated) as Rule[];
  const broken = names.filter((name) => violated[name]);
  const isBroken = (wanted: string) => broken.some((name) => baseline[name].severity === wanted);
  const isFailed = isBroken('fail');
  return {
    verdict: isFailed ? 'fail' : isBroken('degrade') ? 'warn' : 'pass',
    grade: isFailed ? 'F' : broken.length > 0 ? 'B' : 'A-',
    rules: Object.fromEntries(
      names.map((name) => [name, { violated: violated[name], severity: baseline[name].severity }]),
    ) as BaselineReport['rules'],
  };
}
