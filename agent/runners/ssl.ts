/**
 * SSL check: one handshake with a server that speaks TLS. Whatever its certificate is like, it is read;
 * whether it is good enough is judged afterwards. The time measured is that of the handshake alone.
 */
import { isIP } from 'node:net';
import type { SecureContext } from 'node:tls';
import type { Failure } from '@monitor/shared/contract/checks/check-type.ts';
import { judgeBaseline } from '@monitor/shared/contract/checks/ssl-baseline.ts';
import type { SslRequest } from '@monitor/shared/contract/checks/ssl.ts';
import type { SslResponse } from '@monitor/shared/contract/shown-exchange.ts';
import { ConnectionTrail } from '../net/connection-trail.ts';
import { failureOf, missingIssuer } from '../net/failure.ts';
import { assertNextHopReachable } from '../net/next-hop/assert-reachable.ts';
import { usableFamily } from '../net/ip-family.ts';
import { nameInOneLine } from '../net/tls/facts.ts';
import { toThousandths } from '../net/time-statistics.ts';
import { evidenceOf, withEventsOf } from '../net/network-evidence.ts';
import { logOtherFamily } from '../net/tcp/other-family.ts';
import { onlyDnsWasAsked, resolveByOs, resolveByQuery } from '../net/dns/resolve.ts';
import { tryAddresses } from '../net/try-addresses.ts';
import { identityProblem, serverNameOf, tlsName } from '../net/tls/connect-verified.ts';
import { withSecondLook } from '../net/tls/second-look.ts';
import { UnusableCertificate } from '../net/tls/secure-context.ts';
import { firstToExpire } from '../net/tls/verified-chain.ts';
import type { Observation, Runner, RunnerContext } from './runner.ts';
import { readCertificateFacts } from './ssl/certificate-facts.ts';
import { maxConnectMs, shakeHands, type SeenServer } from './ssl/handshake.ts';
import { ocspStatusOf } from './ssl/ocsp.ts';
import { contextFor, isTrustedAuthority } from '../net/tls/trust.ts';

const dayMs = 86_400_000;

type SslConfig = SslRequest['sslConfig'];

const chainProblems: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: 'the certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'it ends in a root that nobody here knows',
  UNABLE_TO_GET_ISSUER_CERT: 'an intermediate certificate is missing',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'the authority is unknown',
  CERT_HAS_EXPIRED: 'a certificate of the chain has expired',
  CERT_NOT_YET_VALID: 'a certificate of the chain is not valid yet',
};
const dateProblems = ['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID'];

/** OpenSSL names one error alone. Where that is the date of the leaf, its chain is followed here. */
function chainProblemOf(
  { chainError, leaf, issuers }: SeenServer,
  isLeafOutdated: boolean,
  furtherAuthority: string | null,
): string | null {
  if (chainError === null) return null;
  if (isLeafOutdated && dateProblems.includes(chainError)) {
    const chain = [leaf, ...issuers];
    const isSigned = chain.every((one, index) => {
      const above = chain[index + 1];
      return above === undefined || one.verify(above.publicKey);
    });
    const top = chain.at(-1);
    if (isSigned && top !== undefined && isTrustedAuthority(top, furtherAuthority)) return null;
  }
  // Undefined where it has no name, whatever the types say.
  const name = (leaf.issuer as string | undefined) ?? 'without a name';
  const issuer = /^CN=(.*)$/m.exec(name)?.[1] ?? nameInOneLine(name);
  return chainError === 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'
    ? missingIssuer(issuer)
    : (chainProblems[chainError] ?? chainError);
}

/** What the server showed, in the form of a result. */
function responseOf(
  seen: SeenServer,
  config: SslConfig,
  times: {
    resolvedIp: string;
    family: string;
    handshakeMs: number;
    now: number;
    furtherAuthority: string | null;
  },
): SslResponse {
  const { leaf, issuers } = seen;
  const certificate = readCertificateFacts(leaf, issuers[0]);
  const chain = issuers.map((issuer, index) => readCertificateFacts(issuer, issuers[index + 1]));
  const { facts } = certificate;
  const daysOf = (end: string) => Math.floor((Date.parse(end) - times.now) / dayMs);
  const leafDays = daysOf(facts.notAfter);
  const notYetValid = Date.parse(facts.notBefore) > times.now;
  const name = tlsName(config.serverName ?? config.hostname);
  const hostnameVerified = identityProblem(leaf, name) === undefined;
  const chainProblem = chainProblemOf(seen, leafDays < 0 || notYetValid, times.furtherAuthority);
  const isTrusted = chainProblem === null && leafDays >= 0;
  const first = isTrusted ? firstToExpire(leaf, issuers, times.furtherAuthority) : leaf;
  const above = chain[issuers.indexOf(first)]?.facts;
  const daysUntilExpiry = daysOf(first.validTo);
  const isOrderly =
    leafDays >= 0 &&
    !notYetValid &&
    hostnameVerified &&
    (chainProblem === null || config.skipChainValidation);
  const tlsVersion = seen.protocol.replace(/^TLSv1$/, 'TLS1.0').replace('TLSv', 'TLS');
  const { cipherSuite, staple } = seen;
  const shown = [certificate, ...chain];
  const report = isOrderly
    ? judgeBaseline(config.securityBaseline, {
        ...{ tlsVersion, cipherSuite, ocspStapled: staple !== null },
        leaf: {
          ...facts,
          demandsStaple: certificate.demandsStaple,
          hasSct: certificate.hasSignedTimestamps,
        },
        signatureAlgorithms: shown
          .filter((one) => !one.facts.selfSigned)
          .map((one) => one.facts.signatureAlgorithm),
        issuers: shown.map((one) => one.facts.issuerCN),
      })
    : null;
  const handshakeTimeMs = toThousandths(times.handshakeMs);
  return {
    ...{ resolvedIp: times.resolvedIp, ipFamily: times.family },
    ...{ protocol: tlsVersion, tlsVersion, cipherSuite, handshakeTimeMs },
    ...{ hostnameVerified, chainTrusted: chainProblem === null, chainProblem },
    ...{ daysUntilExpiry, notYetValid },
    ...(above === undefined ? {} : { expiresFirst: above.subjectCN || above.subject }),
    ocspStapled: staple !== null,
    ocspStatus: staple === null ? null : ocspStatusOf(staple, facts.serialNumber),
    securityBaseline: report && { verdict: report.verdict, grade: report.grade, ...report.rules },
    certificate: facts,
    chain: chain.map((one) => one.facts),
  };
}

/** A server may send anything that OpenSSL lets pass; what cannot be read is its failure. */
function readResponse(
  seen: SeenServer,
  config: SslConfig,
  times: Parameters<typeof responseOf>[2],
): { response: Record<string, unknown> } | { failure: Failure } {
  try {
    return { response: responseOf(seen, config, times) };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    const why = `the certificate cannot be read: ${error.message}`;
    return { failure: failureOf('handshake', 'CERTIFICATE_UNREADABLE', config.hostname, why) };
  }
}

function shownRequest({ sslConfig, sslClientCertificateId: id }: SslRequest) {
  return { sslConfig, ...(id == null ? {} : { sslClientCertificateId: id }) };
}

/** What is offered and trusted, or why the client certificate of the check cannot be shown. */
function identityFor(
  { sslConfig: config, sslClientCertificateId: id }: SslRequest,
  { clientCertificates: [certificate] }: RunnerContext,
): SecureContext | Failure {
  const failed = (code: string, why: string): Failure =>
    failureOf('handshake', code, `${config.hostname}:${config.port}`, why);
  if (config.clientCertificateMode === 'explicit' && certificate === undefined) {
    const why = `the client certificate ${id ?? ''} does not exist; store it again or choose another`;
    return failed('CLIENT_CERTIFICATE_MISSING', why);
  }
  try {
    return contextFor(certificate);
  } catch (error) {
    if (!(error instanceof UnusableCertificate)) throw error;
    const why = `the client certificate for ${certificate?.host ?? ''} cannot be used: ${error.message}; store it again`;
    return failed(error.code, why);
  }
}

async function observe(
  request: SslRequest,
  context: RunnerContext,
  trail: ConnectionTrail,
): Promise<Observation> {
  const { clock, network } = context;
  const config = request.sslConfig;
  const { port } = config;
  const host = config.hostname.replace(/^\[|\]$/g, '');
  const secureContext = identityFor(request, context);
  const startedAt = clock.now();
  const start = clock.monotonic();
  if ('code' in secureContext) {
    return {
      ...{ startedAt, stoppedAt: startedAt, responseTime: null, response: null },
      ...{ failure: secureContext, request: shownRequest(request) },
    };
  }
  const wanted = isIP(host) === 6 ? 'IPv6' : config.ipFamily;
  const family = usableFamily(wanted, host, context.log);
  const resolve = network.useOsResolver ? resolveByOs : resolveByQuery;
  const resolution = await resolve(host, family);
  const lookedUpAt = clock.monotonic();
  trail.resolved(host, resolution);
  const ended = (at: number, failure: Failure | null) => ({
    startedAt,
    stoppedAt: startedAt + Math.ceil(at - start),
    failure,
    request: shownRequest(request),
    ...evidenceOf(failure, trail, context),
  });
  if ('failure' in resolution) {
    if (!network.useOsResolver && resolution.failure.code === 'ENOTFOUND') {
      context.log(onlyDnsWasAsked, 'INFO');
    }
    const failure = { ...resolution.failure, phase: 'dns', isNetworkError: true };
    return { ...ended(lookedUpAt, failure), responseTime: null, response: null };
  }
  const { outcome, turn } = await tryAddresses(
    { ...resolution, host, subject: `${host}:${port}` },
    async ({ address, begunAt, connectShare, takenMs }) => {
      const leftMs = Math.max(1, lookedUpAt + maxConnectMs + takenMs - begunAt);
      const shaken = await shakeHands(
        {
          ...{ address, host, port, secureContext },
          serverName: tlsName(config.serverName ?? host),
          startTls: config.startTls ?? null,
          connectMs: Math.round(leftMs * connectShare),
          timeoutMs: config.handshakeTimeoutMs,
        },
        context,
        trail,
      );
      return { ...shaken, isConnected: shaken.connectedAt !== null };
    },
    context,
    trail,
  );
  const { failure, seen, connectedAt, securedAt, unexplainedMs } = outcome;
  const { address } = turn;
  const stoppedAt = clock.monotonic();
  if (failure?.phase === 'timeout' && connectedAt !== null) {
    const place = { address: address.address, subject: `${host}:${port}` };
    await assertNextHopReachable(failure, place, context, trail);
  }
  if (failure !== null && connectedAt === null) {
    const options = { host, port, resolve, signal: context.signal, tried: address };
    await logOtherFamily(options, context.log);
  }
  if (seen === null || connectedAt === null || securedAt === null) {
    const greeted = {
      ...{ address, port, secureContext },
      ...serverNameOf(config.serverName ?? host),
    };
    const known =
      failure && config.startTls == null
        ? await withSecondLook(failure, greeted, context)
        : failure;
    return { ...ended(stoppedAt, known), responseTime: null, response: null };
  }
  const handshakeMs = securedAt - connectedAt;
  const read = readResponse(seen, config, {
    ...{ resolvedIp: address.address, family: address.family, handshakeMs },
    ...{ now: clock.now(), furtherAuthority: context.clientCertificates[0]?.ca ?? null },
  });
  if ('failure' in read) {
    const failed = ended(stoppedAt, read.failure);
    return { ...failed, responseTime: handshakeMs, unexplainedMs, response: null };
  }
  const phases = {
    dns: toThousandths(lookedUpAt - start),
    connection: toThousandths(connectedAt - lookedUpAt),
    handshake: toThousandths(handshakeMs),
    total: toThousandths(securedAt - start),
  };
  return {
    ...ended(stoppedAt, failure),
    responseTime: handshakeMs,
    unexplainedMs,
    response: {
      ...read.response,
      timings: {
        lookup: phases.dns,
        connect: toThousandths(connectedAt - start),
        handshake: phases.total,
      },
      timingPhases: phases,
    },
  };
}

export const runSsl: Runner<SslRequest> = ({ request }, context) => {
  const trail = new ConnectionTrail(context.clock);
  return withEventsOf(trail, context, () => observe(request, context, trail));
};
