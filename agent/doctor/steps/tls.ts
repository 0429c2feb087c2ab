/** The handshake with the control plane: who signed its certificate, and why we may not believe it. */
import { longTime, severalOf } from '../units.ts';
import { fail, ok, warn, type Finding } from '../finding.ts';
import type { Observed } from '../link.ts';
import { readAuthorities, type AuthoritiesFile, type Authority } from '../link/authorities.ts';
import { authorityOf, refusedHandshake } from '../../link/link-problem.ts';
import type { Destination } from '../link/destination.ts';
import type { ChainLink, HandshakeFacts } from '../link/handshake.ts';
import type { Check } from '../step.ts';

const dayMs = 86_400_000;
const soonMs = 14 * dayMs;
const maxOnPurpose = 10;
/** Further off than any time zone mistake: certificates look expired, or not yet valid. */
const wrongClockMs = dayMs / 2;

export interface TlsFacts {
  destination: Destination;
  handshake: Observed<HandshakeFacts>;
  authorities: AuthoritiesFile;
  /** NODE_TLS_REJECT_UNAUTHORIZED=0. */
  acceptsAnything: boolean;
  now: number;
}

function day(at: number): string {
  return Number.isNaN(at) ? 'an unknown day' : new Date(at).toISOString().slice(0, 10);
}

function shownAuthorities(authorities: readonly Authority[]): string {
  const subjects = authorities.map(({ subject }) => subject);
  return severalOf(subjects, { most: maxOnPurpose, between: '; ' });
}

function judgeFile(file: AuthoritiesFile, now: number): Finding[] {
  const without = 'the agent does not start with it';
  switch (file.kind) {
    case 'none':
      return [];
    case 'unusable':
      return fail(
        `NODE_EXTRA_CA_CERTS names ${file.path}, which ${file.what}; ${without}`,
        file.fix,
      );
    case 'read': {
      const expired = file.authorities.filter(({ validTo }) => validTo < now);
      const isAll = expired.length === file.authorities.length;
      // In the bundles of systems some always are; few were put there for a purpose.
      const isBundle = file.authorities.length > maxOnPurpose;
      if (expired.length === 0 || (isBundle && !isAll)) return [];
      const list = shownAuthorities(
        expired.map(({ subject, validTo }) => ({
          subject: `${subject} (${day(validTo)})`,
          validTo,
        })),
      );
      return (isAll ? fail : warn)(
        `${file.path} has authorities that have expired: ${list}${isAll ? `; ${without}` : ''}`,
        'put their successors into the file',
      );
    }
  }
}

/** From the server upwards, as `CN=a (until 2030-01-01) < CN=b (until …)`. */
function shownChain(chain: readonly ChainLink[]): string {
  const links = chain.map(({ subject, validTo }) => `${subject} (until ${day(validTo)})`);
  const last = chain.at(-1);
  const isRoot = last !== undefined && last.subject === last.issuer;
  return [...links, ...(isRoot || last === undefined ? [] : [`issuer ${last.issuer}`])].join(' < ');
}

/** Whether this very authority is in the file, and not only one of its name. */
function isInFile(
  file: AuthoritiesFile,
  { subject, validTo }: ChainLink,
): file is AuthoritiesFile & { kind: 'read' } {
  return (
    file.kind === 'read' &&
    file.authorities.some((one) => one.subject === subject && one.validTo === validTo)
  );
}

function judgeProblem(facts: HandshakeFacts, given: TlsFacts): Finding[] {
  const { chain, problem, names, serverTime } = facts;
  const { destination, authorities, now } = given;
  const [leaf] = chain;
  const top = chain.at(-1);
  const needed = top?.issuer ?? 'unknown';
  const shown = shownChain(chain);
  const outOfDate = chain.find(({ validFrom, validTo }) => validTo < now || validFrom > now);
  if (outOfDate !== undefined) {
    const { subject, validFrom, validTo } = outOfDate;
    const isExpired = validTo < now;
    const when = isExpired ? `expired on ${day(validTo)}` : `is valid from ${day(validFrom)} on`;
    const offMs = serverTime === null ? 0 : now - serverTime;
    const isRightByServer =
      serverTime !== null &&
      serverTime > validFrom &&
      serverTime < validTo &&
      Math.abs(offMs) > wrongClockMs;
    // A certificate of today that is not valid yet: time runs back nowhere but in clocks.
    if (isRightByServer || (!isExpired && serverTime === null)) {
      const said =
        serverTime === null ? '' : `; the server says ${new Date(serverTime).toISOString()}`;
      return fail(
        `the clock of this machine is wrong: it says ${new Date(now).toISOString()}${said}, so the certificate ${subject} seems to be out of date (${when})`,
        'set the clock and keep it right with NTP (timedatectl set-ntp true, chronyd); containers have the clock of their host',
      );
    }
    if (isExpired && outOfDate !== leaf && isInFile(authorities, outOfDate)) {
      return fail(
        `the authority "${subject}" in the file of NODE_EXTRA_CA_CERTS ${when}, and the certificate is signed by it: ${shown}`,
        `ask for the successor of "${subject}" and put it into ${authorities.path}; where the server's certificate is not yet signed by that, have it renewed too`,
      );
    }
    return fail(
      `the certificate ${subject} ${when}: ${shown}`,
      outOfDate === leaf
        ? `renew the certificate of ${destination.host}`
        : 'the server, or the interception in between, sends an authority that has expired: replace it there',
    );
  }
  if (problem === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return fail(
      `the certificate is not for ${destination.host} but for ${names === '' ? (leaf?.subject ?? 'nobody') : severalOf(names.split(', '))}`,
      `use a name of the certificate in CONTROL_PLANE_URL, or get one for ${destination.host}; if the name is strange, something in between answers in the place of the control plane`,
    );
  }
  const proxied =
    destination.proxy === null
      ? ' (or something in between intercepts TLS)'
      : `; the proxy ${destination.proxy.shown} probably intercepts TLS`;
  if (problem === 'DEPTH_ZERO_SELF_SIGNED_CERT') {
    return fail(
      `the certificate signed itself: ${shown}${proxied}`,
      `set NODE_EXTRA_CA_CERTS to a file with this certificate in PEM (openssl s_client -connect ${authorityOf(destination.host, destination.port)} -showcerts), after comparing its fingerprint with the owner's`,
    );
  }
  if (chain.length === 1 && leaf?.hasIssuerAddress === true && leaf.issuer !== leaf.subject) {
    return fail(
      `the server sends its certificate without the one of its issuer (${leaf.issuer}): ${shown}`,
      `let the server send the whole chain, or put "${leaf.issuer}" into the file of NODE_EXTRA_CA_CERTS`,
    );
  }
  const has =
    authorities.kind === 'read'
      ? `${authorities.path} has ${shownAuthorities(authorities.authorities)}`
      : authorities.kind === 'none'
        ? 'NODE_EXTRA_CA_CERTS is not set'
        : 'its file now is of no use';
  return fail(
    `the certificate is signed by an authority that is not known here: "${needed}"${proxied}; chain: ${shown} (${problem ?? '?'})`,
    `put the certificate with the subject "${needed}" in PEM into a file and set NODE_EXTRA_CA_CERTS to it; ${has}`,
  );
}

function judgeFailedHandshake(code: string, message: string, { destination }: TlsFacts): Finding[] {
  const target = authorityOf(destination.host, destination.port);
  const said = `${code} ${message}`;
  if (/WRONG_VERSION_NUMBER|packet length|PACKET_LENGTH|HTTP_REQUEST|wrong version/i.test(said)) {
    return fail(
      `${target} does not speak TLS`,
      'write CONTROL_PLANE_URL with http://, or correct its port; a captive portal or proxy may also answer here in its place',
    );
  }
  const refused = refusedHandshake(said);
  if (refused === 'no certificate') {
    return fail(
      `${target} wants a client certificate`,
      'let agents in without one: the link of the agent has its key instead',
    );
  }
  if (refused === 'no common version') {
    return fail(
      `${target} and this agent have no version or cipher of TLS in common (${code})`,
      'let the server, or what intercepts TLS in between, speak TLS 1.2 or later',
    );
  }
  if (code === 'TIMEOUT') {
    return fail(
      `${target} accepts the connection and is then silent: what is in between (a firewall that inspects TLS, a small MTU) may swallow the handshake`,
      `exempt ${target} from inspection; for the MTU try "ping -M do -s 1400 ${destination.host}"`,
      code,
    );
  }
  if (code === 'ECONNRESET' || code === 'EPIPE') {
    return fail(
      `${target} cuts the connection during the TLS handshake: a firewall that reads the name in it may do that, or there is no TLS`,
      `ask the firewall's keeper to allow TLS to ${destination.host}, or see whether the port is right`,
    );
  }
  return fail(
    `the TLS handshake with ${target} failed: ${message} (${code})`,
    'see the log of the server',
  );
}

export function judgeTls(facts: TlsFacts): Finding[] {
  const { destination, handshake, authorities, acceptsAnything, now } = facts;
  const files = judgeFile(authorities, now);
  if (!destination.isSecure) {
    return [...ok('none: CONTROL_PLANE_URL is http'), ...files];
  }
  if (handshake.problem !== null) {
    const { code, message } = handshake.problem;
    return [...judgeFailedHandshake(code, message, facts), ...files];
  }
  const { protocol, cipher, chain, problem } = handshake.facts;
  if (problem !== null) {
    const judged = judgeProblem(handshake.facts, facts);
    if (!acceptsAnything) {
      // What is wrong with the file is then most often the very reason.
      return files[0]?.verdict === 'fail' ? [...files, ...judged] : [...judged, ...files];
    }
    const only = 'accepted only because of NODE_TLS_REJECT_UNAUTHORIZED=0';
    const accepted = judged.flatMap(({ evidence, fix }) => warn(`${only}: ${evidence}`, fix ?? ''));
    return [...accepted, ...files];
  }
  const evidence = `${protocol}, ${cipher}; ${shownChain(chain)}`;
  const ends = Math.min(...chain.map(({ validTo }) => validTo));
  const trust = authorities.kind === 'read' ? trustedBy(chain, authorities) : '';
  const main =
    ends - now < soonMs
      ? warn(
          `${evidence}; it expires in ${longTime(ends - now)}`,
          `renew the certificate of ${destination.host}`,
        )
      : ok(`${evidence}${trust}`);
  return [...main, ...files];
}

function trustedBy(chain: readonly ChainLink[], file: AuthoritiesFile & { kind: 'read' }): string {
  const names = new Set(chain.flatMap(({ subject, issuer }) => [subject, issuer]));
  const used = file.authorities.find(({ subject }) => names.has(subject));
  return used === undefined ? '' : `; trusted by NODE_EXTRA_CA_CERTS (${used.subject})`;
}

export const checkTls: Check = async ({ link, config, machine, environment, clock }) => {
  const { destination } = link;
  const none: Observed<HandshakeFacts> = { facts: null, problem: { code: 'NONE', message: '' } };
  return judgeTls({
    destination,
    handshake: destination.isSecure ? await link.handshake() : none,
    authorities: readAuthorities(config.NODE_EXTRA_CA_CERTS, machine),
    acceptsAnything: environment['NODE_TLS_REJECT_UNAUTHORIZED'] === '0',
    now: clock.now(),
  });
};
