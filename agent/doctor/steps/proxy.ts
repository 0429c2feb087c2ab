import { fail, ok, type Finding } from '../finding.ts';
import type { Observed } from '../link.ts';
import type { ConnectionFacts, ProxyAnswer } from '../link/connections.ts';
import { authorityOf } from '../../link/link-problem.ts';
import type { Destination } from '../link/destination.ts';
import { explainConnection } from '../link/reaching.ts';
import type { Check } from '../step.ts';

const certificateCodes = /CERT|SELF_SIGNED|UNABLE_TO|ALTNAME/;

/** Schemes of Proxy-Authenticate: `Negotiate, NTLM`. */
export function offeredSchemes(header: string | string[] | undefined): string {
  return [header ?? []]
    .flat()
    .flatMap((line) => line.split(/,(?=\s*[\w-]+(?:\s|$|,))/))
    .map((part) => part.trim().split(/\s+/)[0] ?? '')
    .filter((scheme) => scheme !== '')
    .join(', ');
}

function judgeAnswer(
  { status, headers }: ProxyAnswer,
  { host, port, isSecure, proxy }: Destination,
): Finding[] {
  const target = authorityOf(host, port);
  const name = proxy?.shown ?? 'the proxy';
  const isSquid = headers['x-squid-error'];
  if (status === 407) {
    const schemes = offeredSchemes(headers['proxy-authenticate']);
    const offers = schemes === '' ? '' : `; it offers ${schemes}`;
    const hasLogin = proxy?.authorization !== null;
    if (schemes !== '' && !/basic/i.test(schemes)) {
      return fail(
        `${name} wants a login (407)${offers}, and the agent only knows Basic`,
        'let the proxy accept Basic for this host, or allow it without a login by its address',
      );
    }
    return fail(
      hasLogin
        ? `${name} does not accept the login in the proxy setting (407)${offers}`
        : `${name} wants a login (407), and the proxy setting has none${offers}`,
      'write user and password into the proxy setting, http://user:password@proxy:port, with special characters as %XX',
    );
  }
  if (status === 403 || status === 405) {
    return fail(
      `${name} does not allow ${isSecure ? 'a tunnel' : 'requests'} to ${target} (${status}${isSquid === undefined ? '' : `, ${String(isSquid)}`})`,
      `ask the proxy's keeper to allow ${isSecure ? 'CONNECT' : 'requests'} to ${target}`,
    );
  }
  if (isSecure && status >= 500) {
    // The proxy is in order; what it cannot do is judged with the connection.
    return ok(`${name} answers; whether it reaches ${target} is shown below`);
  }
  if (isSecure && (status < 200 || status > 299)) {
    return fail(
      `${name} answers ${status} when asked for a tunnel to ${target}: it may be a web server rather than a proxy`,
      'correct the address of the proxy; it must be one that knows CONNECT',
    );
  }
  return ok(`${name} answers and allows ${target}`);
}

export interface ProxyFacts {
  destination: Destination;
  /** Connections to the proxy. */
  connections: readonly ConnectionFacts[];
  answer: Observed<ProxyAnswer> | null;
}

export function judgeProxy({ destination, connections, answer }: ProxyFacts): Finding[] {
  const { proxy, because } = destination;
  if (proxy === null) return ok(`none is used: ${because}`);
  const used = `${proxy.shown} is used: ${because}`;
  if (connections.every(({ durationMs }) => durationMs === null)) {
    const code = connections[0]?.code ?? 'UNKNOWN';
    const { what, fix } = explainConnection(code, proxy.host, proxy.port, 'the proxy');
    return fail(
      `${used}, but ${what}`,
      `${fix}; or remove the proxy setting, or list the control plane in NO_PROXY`,
      code,
    );
  }
  if (answer === null) return ok(used);
  if (answer.problem !== null) {
    const { code, message } = answer.problem;
    if (proxy.isSecure && certificateCodes.test(code)) {
      return fail(
        `${used}, but its own certificate is not trusted (${code})`,
        'put the authority of the proxy into the file of NODE_EXTRA_CA_CERTS; most proxies are http:// even for https targets',
      );
    }
    if (proxy.isSecure && /WRONG_VERSION|EPROTO|PACKET_LENGTH/.test(`${code}${message}`)) {
      return fail(
        `${used}, but it does not speak TLS`,
        `write the proxy as http://${authorityOf(proxy.host, proxy.port)}`,
      );
    }
    return fail(
      `${used}; it accepts connections, but does not answer as a proxy does (${code})`,
      'see whether that port is the one of the proxy, and its log',
      code,
    );
  }
  return judgeAnswer(answer.facts, destination).map((one) =>
    one.verdict === 'ok' ? { ...one, evidence: `${one.evidence}; ${because}` } : one,
  );
}

export const checkProxy: Check = async ({ link }) => {
  const { destination } = link;
  if (destination.proxy === null) return judgeProxy({ destination, connections: [], answer: null });
  const connections = await link.connections();
  const isOpen = connections.some(({ durationMs }) => durationMs !== null);
  return judgeProxy({
    destination,
    connections,
    answer: isOpen ? await link.proxyAnswer() : null,
  });
};
