import { checkInAnswer } from '@monitor/shared/contract/agent-protocol.ts';
import type { ErrorCode } from '@monitor/shared/contract/errors.ts';
import { z } from 'zod';
import { longTime } from '../units.ts';
import { fail, ok, warn, type Finding } from '../finding.ts';
import type { Link } from '../link.ts';
import { parsed, type CheckInFacts } from '../link/exchange.ts';
import { ownError, pageIn } from '../../link/control-plane-client.ts';
import type { Check } from '../step.ts';

/** What the body of an answer is. */
export type Answer =
  | { kind: 'accepted'; location: string; offsetMs: number; isVisit: boolean }
  | { kind: 'error'; message: string; hasNoKey: boolean; protocol: ProtocolRefusal | null }
  | { kind: 'page'; words: string };

/** A control plane of another version says so: which protocols it speaks, and which side is older. */
const protocolRefusal = z.object({
  code: z.literal('PROTOCOL_UNSUPPORTED' satisfies ErrorCode),
  upgrade: z.enum(['agent', 'control-plane']).catch('agent'),
});
export type ProtocolRefusal = z.output<typeof protocolRefusal>;

/** Reads an answer to a check-in. */
export function readAnswer(facts: CheckInFacts): Answer {
  const { status, body, sentAt, receivedAt } = facts;
  const accepted = checkInAnswer.safeParse(parsed(body));
  if (accepted.success) {
    const { location, serverTime, snapshot } = accepted.data;
    const offsetMs = (serverTime.receivedAt - sentAt + (serverTime.sentAt - receivedAt)) / 2;
    // Control planes that know visits give no snapshot to one.
    const isVisit = snapshot === '';
    return { kind: 'accepted', location, offsetMs: Math.round(offsetMs), isVisit };
  }
  const own = ownError(status ?? 0, body);
  if (own === null) return { kind: 'page', words: pageIn(body) };
  const { message, attributes } = own;
  const protocol = protocolRefusal.safeParse(attributes).data ?? null;
  return { kind: 'error', message, hasNoKey: attributes.source === 'headers', protocol };
}

/** Which requests that do nothing are answered; null where that was not asked. */
export type Passing = { small: boolean; large: boolean } | null;

const forLargePackets =
  'let ICMP "fragmentation needed" and "packet too big" through, or lower the MTU of this interface to that of the way (VPNs and overlays take 50 to 100 bytes: ip link set DEVICE mtu 1400; "ping -M do -s 1400 HOST" finds it)';

function judgeSilence(facts: CheckInFacts, url: string, passing: Passing): Finding[] {
  const { code, message } = facts.problem ?? { code: 'UNKNOWN', message: '' };
  if (code === 'TIMEOUT' || /UND_ERR_(HEADERS|BODY|CONNECT)_TIMEOUT/.test(code)) {
    const asked = `a check-in within ${longTime(facts.durationMs)}`;
    if (passing?.small === true && !passing.large) {
      return fail(
        `${url} answers small requests, and neither ${asked} nor any that fills a packet: large packets vanish on the way (MTU), or what is in between holds them back`,
        forLargePackets,
        'TIMEOUT',
      );
    }
    if (passing?.large === true) {
      return fail(
        `${url} answers other requests, and not ${asked}: the control plane is overloaded or stuck, or what is in between holds this one back`,
        'see the log of the control plane, its database and its disk',
        'TIMEOUT',
      );
    }
    return fail(
      `${url} accepts the connection and does not answer within ${longTime(facts.durationMs)}`,
      'see whether the control plane is overloaded or stuck (its log, its health), or something in between holds requests back',
      'TIMEOUT',
    );
  }
  if (/ECONNRESET|UND_ERR_SOCKET|EPIPE/.test(code)) {
    return fail(
      `${url} cuts the connection instead of answering (${code})`,
      'see the log of the control plane and of what is in between; a port that speaks another protocol does that too',
    );
  }
  if (/HPE_|UND_ERR_INFO/.test(code) || /does not match the HTTP/.test(message)) {
    return fail(
      `${url} does not answer in HTTP: another protocol is spoken on that port`,
      'correct host and port in CONTROL_PLANE_URL',
    );
  }
  return fail(
    `${url}: ${message} (${code})`,
    'correct CONTROL_PLANE_URL, or see the findings above',
  );
}

function judgeReached({ durationMs }: CheckInFacts, url: string, passing: Passing): Finding[] {
  if (passing?.small === true && !passing.large) {
    return fail(
      `${url} answers a check-in and small requests, and none that fills a packet: large packets vanish on the way (MTU), and results would too`,
      forLargePackets,
    );
  }
  return ok(`${url} answered in ${durationMs} ms`);
}

/** The time of a check-in is enough for one or two addresses that nobody answers at, and no more. */
const maxDeadAddresses = 1;

function isLateByAddresses({ status, problem }: CheckInFacts, deadAddresses: number): boolean {
  return status === null && problem?.code === 'TIMEOUT' && deadAddresses > maxDeadAddresses;
}

/** Whether what answers is a control plane. What it says about the key and the protocol comes after. */
export function judgeControlPlane(
  facts: CheckInFacts,
  url: string,
  passing: Passing = null,
  deadAddresses = 0,
): Finding[] {
  const { status, location } = facts;
  if (isLateByAddresses(facts, deadAddresses)) {
    return warn(
      `${url} could not be asked within ${longTime(facts.durationMs)}: ${deadAddresses} of its addresses take no connections, and the agent gives each of them seconds before it tries the next`,
      'take these addresses out of the DNS, or let them through the firewall; see the line "connect"',
    );
  }
  if (status === null) return judgeSilence(facts, url, passing);
  const answer = readAnswer(facts);
  const said =
    answer.kind === 'error'
      ? `: ${answer.message.slice(0, 300)}`
      : answer.kind === 'page'
        ? ` with ${answer.words}`
        : '';
  if (status === 200 && answer.kind === 'accepted') return judgeReached(facts, url, passing);
  if (location !== null && status >= 300 && status < 400) {
    return fail(
      `${url} redirects to ${location.slice(0, 200)}`,
      'set CONTROL_PLANE_URL to the address it redirects to; if that is a login page, a captive portal or proxy answers in place of the control plane',
    );
  }
  if (status >= 500) {
    const gateway = status === 502 || status === 503 || status === 504;
    return fail(
      `${url} answered ${status}${said}`,
      gateway && answer.kind !== 'error'
        ? 'what stands before the control plane is up, the control plane behind it is not: start it, or see its log'
        : 'see the log of the control plane; results are kept here until it is well again',
    );
  }
  if (status === 407) {
    return fail(
      `a proxy on the way to ${url} wants a login (407)`,
      'write user and password into the proxy setting',
    );
  }
  if (status === 429) {
    return warn(
      `${url} answers that there are too many requests (429)`,
      'wait a minute; if it stays, see how many agents use the key',
    );
  }
  if (status === 404) {
    return fail(
      `${url} has no /v1/agent/check-in (404)${said}: it is another server, a wrong path, or a control plane older than this agent`,
      'set CONTROL_PLANE_URL to the address of the control plane without a path such as /v1 or /console',
    );
  }
  if (answer.kind === 'page') {
    return fail(
      `${url} answered ${status}${said}: a captive portal, a proxy or another web server answers in place of the control plane, or changes its answers`,
      'correct CONTROL_PLANE_URL; sign in to the portal, or ask for this address to be exempt from it',
    );
  }
  // About the key and the protocol, which have steps of their own.
  if (answer.kind === 'error' && (status === 401 || status === 403 || answer.protocol !== null))
    return judgeReached(facts, url, passing);
  return fail(
    `${url} refuses the check-in (${status})${said}`,
    'let what is in between pass bodies and headers as they are (Content-Type, Content-Encoding, Authorization); where nothing is, bring agent and control plane to neighbouring versions',
  );
}

async function tryRequests(link: Link, { status, problem }: CheckInFacts): Promise<Passing> {
  if (status === null && problem?.code !== 'TIMEOUT') return null;
  if (status !== null && (await link.roundTrip('large')) !== null) {
    return { small: true, large: true };
  }
  // One that was lost may be chance.
  const [small, large] = await Promise.all([link.roundTrip('small'), link.roundTrip('large')]);
  return { small: small !== null, large: large !== null };
}

export const checkControlPlane: Check = async ({ link }) => {
  const facts = await link.checkIn();
  const isDirect = link.destination.proxy === null;
  const connections = isDirect ? await link.connections() : [];
  const dead = connections.filter(({ durationMs }) => durationMs === null).length;
  const passing = isLateByAddresses(facts, dead) ? null : await tryRequests(link, facts);
  return judgeControlPlane(facts, link.destination.baseUrl, passing, dead);
};
