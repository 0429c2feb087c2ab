import { createServer } from 'node:net';
import { codeOf } from '../../net/failure.ts';
import { fail, ok, warn, type Finding } from '../finding.ts';
import type { Machine } from '../machine.ts';
import { processState } from '../process-state.ts';
import { askHealth } from '../running-agent.ts';
import type { Check } from '../step.ts';
import { holderByLock } from './data-directory.ts';

export interface PortFacts {
  host: string;
  port: number;
  /** What opening it said; null where that worked. */
  code: string | null;
  /** The agent that runs here has it. */
  isOwnPort: boolean;
  /** `nginx (process 17)`; null where it is not known. */
  holder: string | null;
  /** The holder is an agent that does not answer for this AGENT_DATA_DIR, and why. */
  unanswered: { why: string; fix: string; isSure: boolean } | null;
}

export function judgePort({
  host,
  port,
  code,
  isOwnPort,
  holder,
  unanswered,
}: PortFacts): Finding[] {
  const where = `port ${port} on ${host === '::' ? 'all interfaces' : host}`;
  if (isOwnPort) return ok(`${where} is held by the agent that runs here`);
  if (code === 'EADDRINUSE' && unanswered !== null) {
    return (unanswered.isSure ? fail : warn)(
      `${where} is held by ${holder ?? ''}, ${unanswered.why}`,
      unanswered.fix,
    );
  }
  switch (code) {
    case null:
      return ok(port === 0 ? 'AGENT_HEALTH_PORT=0: a free port is taken' : `${where} is free`);
    case 'EADDRINUSE':
      return fail(
        `${where} is held by ${holder ?? 'another program, which this user may not look at'}: the agent does not start`,
        `set AGENT_HEALTH_PORT to a free port, or 0 for any; ${holder === null ? `"ss -ltnp sport = :${port}" as root shows which program has it` : 'or end that program'}`,
      );
    case 'EACCES':
      return fail(
        `${where} may not be opened by this user: ports below 1024 are for root`,
        'set AGENT_HEALTH_PORT to a port from 1024 on',
      );
    case 'EADDRNOTAVAIL':
      return fail(
        `AGENT_HEALTH_HOST=${host} is not an address of this machine`,
        'set it to one of its addresses (ip addr), or leave it out for all',
      );
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return fail(
        `AGENT_HEALTH_HOST=${host} has no address`,
        'set it to an address of this machine',
      );
    default:
      return warn(`${where} cannot be opened (${code})`, 'set AGENT_HEALTH_PORT to another port');
  }
}

/** Inodes of sockets that listen on a port, in /proc/net/tcp or tcp6. */
export function listeningInodes(table: string, port: number): string[] {
  const wanted = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  return table.split('\n').flatMap((line) => {
    const [, local, , state, , , , , , inode] = line.trim().split(/\s+/);
    return state === '0A' && local?.endsWith(wanted) === true && inode !== undefined ? [inode] : [];
  });
}

function holderOf(machine: Machine, port: number): number | null {
  const inodes = ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((path) =>
    listeningInodes(machine.read(path) ?? '', port),
  );
  const wanted = new Set(inodes.map((inode) => `socket:[${inode}]`));
  for (const pid of machine.list('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    const folder = `/proc/${pid}/fd`;
    const isIt = machine
      .list(folder)
      .some((fd) => wanted.has(machine.link(`${folder}/${fd}`) ?? ''));
    if (isIt) return Number(pid);
  }
  return null;
}

/** Why the agent that holds the port says nothing of itself. Another agent may hold it as well. */
async function unansweredBy(
  machine: Machine,
  { pid, path, port }: { pid: number; path: string; port: number },
): Promise<PortFacts['unanswered']> {
  const heldBy = holderByLock(machine, path);
  if (heldBy.kind === 'silent' && heldBy.pid === pid) {
    const state = processState(machine, pid);
    const why = `the agent of ${path}, which does not answer: ${state.what}`;
    return { why, fix: state.fix, isSure: state.isStopped };
  }
  const health = await askHealth(port);
  if (!health.includes('"controlPlane"')) return null;
  return {
    why: `an agent with another AGENT_DATA_DIR than ${path}, or whose folder was removed while it runs`,
    fix: 'restart it where its folder was removed; otherwise give each agent a port of its own, or doctor the settings of that agent',
    isSure: true,
  };
}

function tryPort(host: string, port: number): Promise<string | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error) => {
      const code = codeOf(error);
      // Without IPv6 the agent takes all of IPv4.
      const isFamily = code === 'EAFNOSUPPORT' || code === 'EADDRNOTAVAIL';
      resolve(host === '::' && isFamily ? tryPort('0.0.0.0', port) : code);
    });
    server.listen({ host, port, exclusive: true }, () => {
      server.close(() => resolve(null));
    });
  });
}

export const checkHealthPort: Check = async ({ config, machine, runningAgent }) => {
  const host = config.AGENT_HEALTH_HOST;
  const port = config.AGENT_HEALTH_PORT;
  const running = await runningAgent();
  const isOwnPort = running?.isHere === true && running.status.healthPort === port;
  const code = isOwnPort ? null : await tryPort(host, port);
  const pid = code === 'EADDRINUSE' ? holderOf(machine, port) : null;
  const comm = machine.read(`/proc/${pid ?? ''}/comm`)?.trim() ?? '?';
  const holder = pid === null ? null : `${comm} (process ${pid})`;
  const path = config.AGENT_DATA_DIR;
  const unanswered = pid === null ? null : await unansweredBy(machine, { pid, path, port });
  return judgePort({ host, port, code, isOwnPort, holder, unanswered });
};
