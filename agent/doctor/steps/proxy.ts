import { fail, ok, type Finding } from '../finding.ts';
import type { Observed } from '../link.ts';
import type { ConnectionFacts, ProxyAnswer } from '../link/connections.ts';
import { authorityOf, proxyAnswerProblem } from '../../link/link-problem.ts';
import type { Destination, Proxy } from '../link/destination.ts';
import { explainConnection } from '../link/reaching.ts';
import type { Check } from '../step.ts';

const certificateCodes = /CERT|SELF_SIGNED|UNABLE_TO|ALTNAME/;

/** In the words of the agent's log. */
function judgeAnswer(
  { status, headers }: ProxyAnswer,
  { host, port, isSecure }: Destination,
  proxy: Proxy,
): Finding[] {
  const target = authorityOf(host, port);
  if (isSecure && status >= 500) {
    // The proxy is in order; what it cannot do is judged with the connection.
    return ok(`${proxy.shown} answers; whether it reaches ${target} is shown below`);
  }
  const isPassed = isSecure ? status >= 200 && status < 300 : ![403, 405, 407].includes(status);
  if (isPassed) return ok(`${proxy.shown} answers and allows ${target}`);
  const { message, fix } = proxyAnswerProblem(
    {
      proxySetting: proxy.setting,
      authority: authorityOf(proxy.host, proxy.port),
      urlSetting: 'CONTROL_PLANE_URL',
    },
    target,
    { status, headers, hadCredentials: proxy.authorization !== null },
  );
  const squid = headers['x-squid-error'];
  return fail(squid === undefined ? message : `${message}; it says ${String(squid)}`, fix);
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
  return judgeAnswer(answer.facts, destination, proxy).map((one) =>
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
