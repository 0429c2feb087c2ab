import { isIPv6 } from 'node:net';
import { fail, ok, warn, type Finding } from '../finding.ts';
import type { Observed } from '../link.ts';
import type { ConnectionFacts, ProxyAnswer } from '../link/connections.ts';
import { authorityOf } from '../../link/link-problem.ts';
import type { Destination } from '../link/destination.ts';
import { explainConnection } from '../link/reaching.ts';
import type { Check } from '../step.ts';

/** Connections from here to the control plane itself. */
export function judgeDirect(
  connections: readonly ConnectionFacts[],
  { host, port, because }: Pick<Destination, 'host' | 'port' | 'because'>,
): Finding[] {
  const open = connections.filter(({ durationMs }) => durationMs !== null);
  const closed = connections.filter(({ durationMs }) => durationMs === null);
  const list = open
    .map(({ address, durationMs }) => `${authorityOf(address, port)} in ${durationMs ?? 0} ms`)
    .join(', ');
  if (open.length > 0 && closed.length === 0) return ok(`connected to ${list}`);
  if (open.length > 0) {
    const others = closed.map(({ address, code }) => `${address}: ${code ?? '?'}`).join(', ');
    const isIpv6 = closed.every(({ address }) => isIPv6(address));
    return warn(
      `connected to ${list}; not to ${others}`,
      isIpv6
        ? `repair IPv6 between here and ${host}, or remove the AAAA record: connections that try it first wait for it`
        : `take the address that does not answer out of the DNS of ${host}, or let it through the firewall`,
    );
  }
  return closed.slice(0, 2).flatMap(({ address, code }) => {
    const { what, fix } = explainConnection(code ?? '?', address, port, 'the control plane');
    return code === 'ECONNREFUSED'
      ? fail(what, fix)
      : fail(
          `${what}; no proxy is used: ${because}`,
          because.startsWith('NO_PROXY')
            ? `${fix}; or take that entry out of NO_PROXY, if the proxy is the way out of this network`
            : `${fix}; or set HTTPS_PROXY, if this network has a proxy for such connections`,
          code ?? '',
        );
  });
}

/** What the proxy says about the control plane. */
export function judgeTunnel(answer: Observed<ProxyAnswer>, destination: Destination): Finding[] {
  const target = authorityOf(destination.host, destination.port);
  const name = destination.proxy?.shown ?? 'the proxy';
  if (answer.problem !== null) {
    return fail(
      `${name} gave no tunnel to ${target} (${answer.problem.code})`,
      'see the line "proxy"',
      answer.problem.code,
    );
  }
  const { status, headers } = answer.facts;
  if (!destination.isSecure) return ok(`${name} forwards requests to ${target}`);
  if (status >= 200 && status < 300) return ok(`${name} opened a tunnel to ${target}`);
  const reason = headers['x-squid-error'];
  return fail(
    `${name} could not connect to ${target} (${status}${reason === undefined ? '' : `, ${String(reason)}`})`,
    `correct host and port in CONTROL_PLANE_URL, or see whether the proxy itself can resolve and reach ${target}; a control plane inside your network belongs into NO_PROXY`,
  );
}

export const checkConnect: Check = async ({ link }) => {
  const { destination } = link;
  if (destination.proxy === null) return judgeDirect(await link.connections(), destination);
  return judgeTunnel(await link.proxyAnswer(), destination);
};
