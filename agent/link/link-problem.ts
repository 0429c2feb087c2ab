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

/** What a failure says, and on what it was tried. */
interface Failed {
  code: string;
  text: string;
  /** `the proxy 10.0.0.1:3128` or `monitor.example:443`. */
  who: string;
  authority: string;
  isProxy: boolean;
  setting: string;
  /** Advice for a network with a proxy that is not set. */
  orProxy: string;
  certificate: { subject: string; issuer: string } | null;
}

interface Explanation {
  kind: LinkProblemKind;
  when: (failed: Failed) => boolean;
  what: (failed: Failed) => string;
  fix: (failed: Failed) => string;
}

const isOneOf =
  (...codes: string[]) =>
  ({ code }: Failed): boolean =>
    codes.includes(code);
const handshakeOf = ({ code, text }: Failed) => refusedHandshake(`${code} ${text}`);

/** The first that fits. */
const explanations: readonly Explanation[] = [
  {
    kind: 'name',
    when: isOneOf('ENOTFOUND', 'EAI_AGAIN', 'EAI_NODATA'),
    what: ({ code, who }) =>
      `${code === 'EAI_AGAIN' ? 'no resolver answered for the name' : 'the name does not exist'} of ${who} (${code})`,
    fix: ({ setting, orProxy }) =>
      `correct ${setting}, or /etc/resolv.conf of this machine${orProxy}`,
  },
  {
    kind: 'refused',
    when: isOneOf('ECONNREFUSED'),
    what: ({ who, text }) => `${who} refuses the connection (${text})`,
    fix: ({ setting }) => `start what should listen there, or correct ${setting}`,
  },
  {
    kind: 'no-route',
    when: isOneOf(
      ...['ENETUNREACH', 'EHOSTUNREACH', 'EADDRNOTAVAIL', 'EAFNOSUPPORT'],
      ...['EACCES', 'EPERM', 'EINVAL'],
    ),
    what: ({ who, text }) => `this machine has no way to ${who} (${text})`,
    fix: ({ orProxy }) => `check the routes and the firewall of this machine${orProxy}`,
  },
  {
    kind: 'timeout',
    when: isOneOf('ETIMEDOUT'),
    what: ({ who, text }) => `${who} does not answer (${text})`,
    fix: ({ authority, orProxy }) => `${openWay} to ${authority}${orProxy}`,
  },
  {
    kind: 'untrusted',
    when: ({ code }) => untrustedCodes.has(code),
    what: ({ code, who, certificate }) =>
      `the certificate of ${who}${certificate === null ? '' : `, signed by "${certificate.issuer}"`}, comes from an authority that is not trusted here (${code})`,
    fix: () =>
      'put the certificate of that authority, in PEM, into a file and set NODE_EXTRA_CA_CERTS to its path; a proxy that reads TLS signs with its own',
  },
  {
    kind: 'expired',
    when: isOneOf('CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID'),
    what: ({ code, who }) =>
      `the certificate of ${who} is ${code === 'CERT_HAS_EXPIRED' ? 'expired' : 'not valid yet'} (${code})`,
    fix: () => 'renew it, or set the clock of this machine',
  },
  {
    kind: 'wrong-name',
    when: isOneOf('ERR_TLS_CERT_ALTNAME_INVALID'),
    what: ({ code, who, certificate }) =>
      `the certificate of ${who}, "${certificate?.subject ?? 'unknown'}", is for another name (${code})`,
    fix: ({ setting }) => `correct ${setting}`,
  },
  {
    kind: 'scheme',
    when: ({ code, text }) =>
      notTlsCodes.has(code) || /wrong version number|packet length too long/i.test(text),
    what: ({ code, who }) => `${who} does not speak TLS (${code})`,
    fix: ({ setting }) => `write http:// in ${setting}, or correct its port`,
  },
  {
    kind: 'scheme',
    when: ({ code }) => code.startsWith('HPE_'),
    what: ({ code, who }) => `${who} does not speak HTTP (${code})`,
    fix: ({ setting }) => `write https:// in ${setting} if it speaks TLS, or correct its port`,
  },
  {
    kind: 'tls',
    when: (failed) => handshakeOf(failed) === 'no certificate',
    what: ({ code, who }) => `${who} wants a client certificate (${code})`,
    fix: () => 'let agents in without one: they have their key instead',
  },
  {
    kind: 'tls',
    when: (failed) => handshakeOf(failed) === 'no common version',
    what: ({ code, who }) =>
      `${who} and this agent have no version or cipher of TLS in common (${code})`,
    fix: () => 'let it, or what intercepts TLS in between, speak TLS 1.2 or later',
  },
  {
    kind: 'tls',
    when: ({ code }) => code.startsWith('ERR_SSL') || code.startsWith('ERR_TLS'),
    what: ({ code, who }) => `no TLS connection with ${who} (${code})`,
    fix: ({ setting }) => `check TLS there, and ${setting}`,
  },
  {
    kind: 'reset',
    when: isOneOf('ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'),
    what: ({ who, text }) => `${who} cuts the connection (${text})`,
    fix: ({ setting, isProxy, orProxy }) =>
      `check the firewall on the way, and ${setting}: whether it needs ${isProxy ? 'https://' : 'https:// or http://'}, and its port${orProxy}`,
  },
];
const unexplained: Explanation = {
  kind: 'other',
  when: () => true,
  what: ({ code, text, who }) => `${who}: ${text === '' ? code : text}`,
  fix: ({ setting }) => `check ${setting} and the network of this machine`,
};

/** Explains a failed connection. `certificate` is the one that the other side presented. */
export function connectProblem(
  error: unknown,
  place: LinkPlace,
  certificate: Failed['certificate'] = null,
): LinkProblem {
  const isProxy = place.proxySetting !== null;
  const failed: Failed = {
    ...flattened(error),
    ...{ isProxy, certificate, authority: place.authority },
    who: isProxy ? `the proxy ${place.authority}` : place.authority,
    setting: place.proxySetting ?? place.urlSetting,
    orProxy: isProxy ? '' : ', or set HTTPS_PROXY if this network has a proxy',
  };
  const { kind, what, fix } = explanations.find(({ when }) => when(failed)) ?? unexplained;
  return new LinkProblem(kind, place, { what: what(failed), fix: fix(failed), cause: error });
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
