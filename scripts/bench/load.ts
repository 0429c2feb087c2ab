/** What benchmarks run: checks with an agent that has settled, and clients of an HTTP server. */
import { setTimeout as pause } from 'node:timers/promises';
import autocannon from 'autocannon';
import type { Program } from '../../proof/program.ts';
import type { System } from '../../test/support/system.ts';
import { median, ms, treeCpuMs } from './measure.ts';

/** Of the servers in `targets.ts`. */
export interface Ports {
  http: number;
  tcp: number;
  dns: number;
}

/** What every part is given: a system without checks, targets, and how often to measure. */
export interface Bench {
  system: System;
  ports: Ports;
  rounds: number;
}

interface LoadOptions {
  /** Of the private location. */
  name: string;
  checks: number;
  pathPart?: string;
  /** Fields of each check, beside those that all have. */
  fields: Record<string, unknown>;
  /** Fields of the check at a place; by default it runs every ten seconds. */
  fieldsOf?: ((index: number) => Record<string, unknown>) | undefined;
  /** Further fields of the location. */
  location?: Record<string, unknown>;
  /** Until the agent is in its schedule and has compiled what it runs often. */
  settleMs: number;
}

export interface Load {
  agent: Program;
  pid: number;
  /** The sum of a metric, of the lines whose labels match. */
  metric: (name: string, labels?: RegExp) => Promise<number>;
}

/** Does something so many times, some at once. */
export async function repeat(times: number, work: (index: number) => Promise<unknown>, atOnce = 8) {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < times) await work(next++);
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
}

/** An agent with so many checks, settled into its schedule. */
export async function openLoad(system: System, options: LoadOptions): Promise<Load> {
  const { name, checks, pathPart = 'url', fields, settleMs } = options;
  const { fieldsOf = () => ({ frequency: 0, frequencyOffset: 10 }) } = options;
  const key = await system.makeLocation(name, options.location);
  await repeat(checks, (index) =>
    system.api('POST', `/v1/checks/${pathPart}`, {
      ...{ name: `${name} ${index}`, doubleCheck: false, privateLocations: [name] },
      ...fieldsOf(index),
      ...fields,
    }),
  );
  const agent = system.startAgent(name, key);
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
  p99: ms(middleOf(costs, 'p99Ms'), 0),
  CPU: ms(middleOf(costs, 'cpuMs'), 3),
});
