/** Why the control plane (or another service of the agent) cannot be reached, and how to fix it. */
import { codeOf } from '../net/failure.ts';

export type LinkProblemKind =
  /** The name does not exist, or no resolver answers. */
  | 'name'
  | 'refused'
  | 'no-route'
  | 'timeout'
  | 'reset'
  /** TLS is expected but not spoken, or the other way round. */
  | 'scheme'
  /** The authority is unknown: a private one, or an intercepting proxy. */
  | 'untrusted'
  | 'expired'
  | 'wrong-name'
  | 'tls'
  /** The proxy requires credentials, other ones, or another scheme. */
  | 'proxy-credentials'
  | 'proxy-refused'
  /** The proxy could not reach the control plane. */
  | 'proxy-target'
  /** The answer is not from a proxy. */
  | 'proxy-answer'
  | 'other';

/** Where it failed: at a proxy, or at the destination. */
export interface LinkPlace {
  /** Null at the destination. */
  readonly proxySetting: string | null;
  /** `host:port`, with brackets around IPv6. */
  readonly authority: string;
  /** The setting with the destination, such as CONTROL_PLANE_URL. */
  readonly urlSetting: string;
}

export class LinkProblem extends Error {
  readonly kind: LinkProblemKind;
  readonly place: LinkPlace;
  readonly fix: string;
  readonly code: string;

  constructor(
    kind: LinkProblemKind,
    place: LinkPlace,
    { what, fix, cause }: { what: string; fix: string; cause?: unknown },
  ) {
    super(what, { cause });
    this.name = 'LinkProblem';
    this.kind = kind;
    this.place = place;
    this.fix = fix;
    this.code = cause === undefined ? kind : codeOf(cause);
  }
}

/** `10.0.0.1:443`, `[fd00::1]:443`. */
export function authorityOf(host: string, port: number): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** The errors of several addresses combined; a single one unchanged. */
function flattened(error: unknown): { code: string; text: string } {
  if (error instanceof AggregateError && error.errors.length > 0) {
    const parts = (error.errors as unknown[]).map((one) => ({
      code: codeOf(one),
      text: one instanceof Error ? one.message : String(one),
    }));
    // A missing IPv6 route says least when an IPv4 address failed as well.
    const telling = parts.find(({ code }) => code !== 'ENETUNREACH') ?? parts[0];
    return { code: telling?.code ?? 'UNKNOWN', text: parts.map(({ text }) => text).join(', ') };
  }
  return { code: codeOf(error), text: error instanceof Error ? error.message : String(error) };
}

const untrustedCodes = new Set([
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'CERT_UNTRUSTED',
  // Another authority with the same name.
  'CERT_SIGNATURE_FAILURE',
  'INVALID_CA',
]);

/** Why a handshake was refused, by codes and words of OpenSSL; null where they say nothing of the kind. */
export function refusedHandshake(said: string): 'no common version' | 'no certificate' | null {
  if (/CERTIFICATE_REQUIRED|certificate required|bad certificate/i.test(said))
    return 'no certificate';
  return /PROTOCOL_VERSION|UNSUPPORTED_PROTOCOL|HANDSHAKE_FAILURE|NO_SHARED|INSUFFICIENT/i.test(
    said,
  )
    ? 'no common version'
    : null;
}

/** Error codes for an answer that is not TLS. */
const notTlsCodes = new Set([
  'EPROTO',
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_PACKET_LENGTH_TOO_LONG',
  'ERR_SSL_HTTP_REQUEST',
  'ERR_SSL_RECORD_LAYER_FAILURE',
]);

const openWay = 'open the way in the firewall';

/** Explains a failed connection. `certificate` is the one that the other side presented. */
export function connectProblem(
  error: unknown,
  place: LinkPlace,
  certificate: { subject: string; issuer: string } | null = null,
): LinkProblem {
  const { code, text } = flattened(error);
  const isProxy = place.proxySetting !== null;
  const setting = place.proxySetting ?? place.urlSetting;
  const who = isProxy ? `the proxy ${place.authority}` : place.authority;
  const orProxy = isProxy ? '' : ', or set HTTPS_PROXY if this network has a proxy';
  const problem = (kind: LinkProblemKind, what: string, fix: string) =>
    new LinkProblem(kind, place, { what, fix, cause: error });

  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN' || code === 'EAI_NODATA') {
    const what =
      code === 'EAI_AGAIN' ? 'no resolver answered for the name' : 'the name does not exist';
    return problem(
      'name',
      `${what} of ${who} (${code})`,
      `correct ${setting}, or /etc/resolv.conf of this machine${orProxy}`,
    );
  }
  if (code === 'ECONNREFUSED') {
    return problem(
      'refused',
      `${who} refuses the connection (${text})`,
      `start what should listen there, or correct ${setting}`,
    );
  }
  if (
    [
      'ENETUNREACH',
      'EHOSTUNREACH',
      'EADDRNOTAVAIL',
      'EAFNOSUPPORT',
      'EACCES',
      'EPERM',
      'EINVAL',
    ].includes(code)
  ) {
    return problem(
      'no-route',
      `this machine has no way to ${who} (${text})`,
      `check the routes and the firewall of this machine${orProxy}`,
    );
  }
  if (code === 'ETIMEDOUT') {
    return problem(
      'timeout',
      `${who} does not answer (${text})`,
      `${openWay} to ${place.authority}${orProxy}`,
    );
  }
  if (untrustedCodes.has(code)) {
    const issuer = certificate === null ? '' : `, signed by "${certificate.issuer}"`;
    return problem(
      'untrusted',
      `the certificate of ${who}${issuer}, comes from an authority that is not trusted here (${code})`,
      'put the certificate of that authority, in PEM, into a file and set NODE_EXTRA_CA_CERTS to its path; a proxy that reads TLS signs with its own',
    );
  }
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID') {
    return problem(
      'expired',
      `the certificate of ${who} is ${code === 'CERT_HAS_EXPIRED' ? 'expired' : 'not valid yet'} (${code})`,
      'renew it, or set the clock of this machine',
    );
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return problem(
      'wrong-name',
      `the certificate of ${who}, "${certificate?.subject ?? 'unknown'}", is for another name (${code})`,
      `correct ${setting}`,
    );
  }
  if (notTlsCodes.has(code) || /wrong version number|packet length too long/i.test(text)) {
    return problem(
      'scheme',
      `${who} does not speak TLS (${code})`,
      `write http:// in ${setting}, or correct its port`,
    );
  }
  if (code.startsWith('HPE_')) {
    return problem(
      'scheme',
      `${who} does not speak HTTP (${code})`,
      `write https:// in ${setting} if it speaks TLS, or correct its port`,
    );
  }
  const refused = refusedHandshake(`${code} ${text}`);
  if (refused === 'no certificate') {
    return problem(
      'tls',
      `${who} wants a client certificate (${code})`,
      'let agents in without one: they have their key instead',
    );
  }
  if (refused === 'no common version') {
    return problem(
      'tls',
      `${who} and this agent have no version or cipher of TLS in common (${code})`,
      'let it, or what intercepts TLS in between, speak TLS 1.2 or later',
    );
  }
  if (code.startsWith('ERR_SSL') || code.startsWith('ERR_TLS')) {
    return problem(
      'tls',
      `no TLS connection with ${who} (${code})`,
      `check TLS there, and ${setting}`,
    );
  }
  if (code === 'ECONNRESET' || code === 'EPIPE' || code === 'UND_ERR_SOCKET') {
    return problem(
      'reset',
      `${who} cuts the connection (${text})`,
      `check the firewall on the way, and ${setting}: whether it needs ${isProxy ? 'https://' : 'https:// or http://'}, and its port${orProxy}`,
    );
  }
  return problem(
    'other',
    `${who}: ${text === '' ? code : text}`,
    `check ${setting} and the network of this machine`,
  );
}

/** The schemes of `Proxy-Authenticate`; one header may contain several. */
function schemesOf(header: string | readonly string[] | undefined): string[] {
  const text = [header ?? []].flat().join(', ');
  return [...text.matchAll(/(?:^|,)\s*([A-Za-z][\w-]*)(?=\s|,|$)/g)].flatMap(
    ([, name]) => name ?? [],
  );
}

/** Explains the answer of a proxy to CONNECT. */
export function proxyAnswerProblem(
  place: LinkPlace,
  target: string,
  {
    status,
    headers,
    hadCredentials,
  }: {
    status: number;
    headers: Readonly<Record<string, string | string[] | undefined>>;
    hadCredentials: boolean;
  },
): LinkProblem {
  const who = `the proxy ${place.authority}`;
  const setting = place.proxySetting ?? 'HTTPS_PROXY';
  const problem = (kind: LinkProblemKind, what: string, fix: string) =>
    new LinkProblem(kind, place, { what, fix });
  // tinyproxy says 401.
  if (status === 407 || status === 401) {
    const schemes = schemesOf(headers['proxy-authenticate']);
    const hasBasic = schemes.length === 0 || schemes.some((one) => one.toLowerCase() === 'basic');
    if (!hasBasic) {
      return problem(
        'proxy-credentials',
        `${who} asks for credentials by ${schemes.join(' or ')} (407); the agent can only do Basic`,
        `let the proxy accept Basic, or let this machine pass to ${target} without credentials`,
      );
    }
    return hadCredentials
      ? problem(
          'proxy-credentials',
          `${who} refuses the credentials (${status})`,
          `correct user and password in ${setting}; write special characters as %XX`,
        )
      : problem(
          'proxy-credentials',
          `${who} asks for credentials (${status})`,
          `write them into ${setting}: http://user:password@${place.authority}`,
        );
  }
  if (status >= 500) {
    return problem(
      'proxy-target',
      `${who} could not reach ${target} (${status})`,
      `let the proxy resolve and reach ${target}, or name it in NO_PROXY to go there directly`,
    );
  }
  if (status >= 200 && status < 300) {
    return problem(
      'proxy-answer',
      `${who} answered with a page of its own instead of a tunnel`,
      `correct ${setting}; a login page in between has to be passed first`,
    );
  }
  if (status === 403 || status === 405) {
    return problem(
      'proxy-refused',
      `${who} refuses the way to ${target} (${status})`,
      `allow ${target} there`,
    );
  }
  return problem(
    'proxy-answer',
    `${who} answers ${status} when asked for ${target}: it may be a web server rather than a proxy`,
    `correct ${setting}`,
  );
}
