/** What benchmarks run: checks of each kind with an agent that has settled, and clients of an HTTP server. */
import { setTimeout as pause } from 'node:timers/promises';
import autocannon from 'autocannon';
import type { Program } from '../../proof/program.ts';
import type { System } from '../../test/support/system.ts';
import { median, treeCpuMs } from './process-cost.ts';

/** Of the servers in `targets.ts`. */
export interface Ports {
  http: number;
  https: number;
  tcp: number;
  dns: number;
}

export interface Kind {
  /** Of the exporter's module and of the plain loop, too. */
  name: 'http' | 'https' | 'tcp' | 'dns' | 'icmp';
  /** Of the routes of checks. */
  pathPart: string;
  request: (ports: Ports) => Record<string, unknown>;
  extra?: Record<string, unknown>;
  /** The target as the exporter names it. */
  target: (ports: Ports) => string;
}

export const kinds: readonly Kind[] = [
  ...(['http', 'https'] as const).map((name) => {
    const target = (ports: Ports) => `${name}://127.0.0.1:${ports[name]}/`;
    return { name, target, pathPart: 'url', request: (ports: Ports) => ({ url: target(ports) }) };
  }),
  {
    name: 'tcp',
    pathPart: 'tcp',
    request: ({ tcp }) => ({ hostname: '127.0.0.1', port: tcp }),
    target: ({ tcp }) => `127.0.0.1:${tcp}`,
  },
  {
    name: 'dns',
    pathPart: 'dns',
    request: ({ dns }) => ({
      ...{ query: 'bench.example', recordType: 'A', nameServer: '127.0.0.1', port: dns },
    }),
    extra: { heartbeat: {}, script: '' },
    target: ({ dns }) => `127.0.0.1:${dns}`,
  },
  {
    name: 'icmp',
    pathPart: 'icmp',
    request: () => ({ hostname: '127.0.0.1', pingCount: 1 }),
    target: () => '127.0.0.1',
  },
];

export interface LoadOptions {
  name: string;
  checks: number;
  pathPart?: string;
  /** Fields of each check, beside those that all have. */
  fields: Record<string, unknown>;
  everySeconds?: number;
  /** Of the location. */
  location?: Record<string, unknown>;
  environment?: Record<string, string>;
  /** Until the agent is in its schedule and has compiled what it runs often. */
  settleMs: number;
}

export interface Load {
  agent: Program;
  pid: number;
  /** The sum of a metric, of the lines whose labels match. */
  metric: (name: string, labels?: RegExp) => Promise<number>;
}

/** An agent with so many checks, settled into its schedule. */
export async function openLoad(system: System, options: LoadOptions): Promise<Load> {
  const { name, checks, pathPart = 'url', fields, everySeconds = 10, settleMs } = options;
  const key = await system.makeLocation(name, options.location);
  for (let index = 0; index < checks; index += 1) {
    await system.api('POST', `/v1/checks/${pathPart}`, {
      ...{ name: `${name} ${index}`, frequency: 0, frequencyOffset: everySeconds },
      ...{ doubleCheck: false, privateLocations: [name] },
      ...fields,
    });
  }
  const agent = system.startAgent(name, key, options.environment);
  const port = Number((await agent.log('agent has started'))['healthPort']);
  await agent.log('checked in');
  await pause(settleMs);
  return {
    agent,
    pid: agent.child.pid ?? 0,
    async metric(metric, labels = /(?:)/) {
      const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
      return [...text.matchAll(new RegExp(`^${metric}(\\{.*\\})? (\\S+)$`, 'gm'))].reduce(
        (sum, [, found = '', value]) => sum + (labels.test(found) ? Number(value) : 0),
        0,
      );
    },
  };
}

export interface HttpCost {
  perSecond: number;
  p99Ms: number;
  /** Of the server, for each answer. */
  cpuMs: number;
}

export const httpSeconds = 8;

/** What twenty clients that never pause get out of the server with this process id. */
export async function measureHttp(
  pid: number,
  options: Omit<autocannon.Options, 'connections' | 'duration'>,
): Promise<HttpCost> {
  const before = treeCpuMs(pid);
  const run = await autocannon({ ...options, connections: 20, duration: httpSeconds });
  const answered = run['2xx'] + run['3xx'];
  if (run['4xx'] + run['5xx'] + run.errors > 0) throw new Error(`${options.url} refused`);
  return {
    perSecond: answered / run.duration,
    p99Ms: run.latency.p99,
    cpuMs: (treeCpuMs(pid) - before) / answered,
  };
}

export const middleOf = (costs: readonly HttpCost[], figure: keyof HttpCost): number =>
  median(costs.map((cost) => cost[figure]));

/** The columns of a row about answers. */
export const shownHttp = (costs: readonly HttpCost[]): Record<string, string> => ({
  answered: `${middleOf(costs, 'perSecond').toFixed(0)} req/s`,
  p99: `${middleOf(costs, 'p99Ms').toFixed(0)} ms`,
  CPU: `${middleOf(costs, 'cpuMs').toFixed(3)} ms`,
});
