/** What it means that a TCP connection could not be made, and what to do about it. */
import { authorityOf } from '../../link/link-problem.ts';

/** `subject` is what was to be reached, such as `the proxy 10.0.0.1:3128`. */
export function explainConnection(
  code: string,
  host: string,
  port: number,
  whose: string,
): { what: string; fix: string } {
  const at = authorityOf(host, port);
  switch (code) {
    case 'ECONNREFUSED':
      return {
        what: `${at} refuses the connection: the host is there, and nothing listens on port ${port} (or a firewall rejects it openly)`,
        fix: `start ${whose}, or correct the port in its address`,
      };
    case 'TIMEOUT':
    case 'ETIMEDOUT':
      return {
        what: `${at} does not answer within 3.5 s: packets are dropped silently, by a firewall or because the host is down`,
        fix: `ask the firewall's keeper to allow TCP from here to ${at}; the agent needs no other connection`,
      };
    case 'ECONNRESET':
      return {
        what: `${at} cut the connection while it was being made: a firewall or load balancer in between does that`,
        fix: `ask the firewall's keeper to allow TCP from here to ${at}`,
      };
    case 'EHOSTUNREACH':
      return {
        what: `${at}: a router, or the network itself, says the host cannot be reached`,
        fix: `see whether the host is up and the address right (ip neigh, ip route get ${host})`,
      };
    case 'ENETUNREACH':
      return {
        what: `${at}: there is no route to that network`,
        fix: `add one (ip route get ${host} shows what is missing)`,
      };
    case 'EACCES':
    case 'EPERM':
      return {
        what: `${at}: a rule of this machine forbids the connection`,
        fix: 'allow it (nft list ruleset, iptables -S OUTPUT, SELinux: ausearch -m avc)',
      };
    default:
      return { what: `${at} cannot be reached (${code})`, fix: 'see the code for what to do' };
  }
}
