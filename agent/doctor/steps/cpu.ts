import { availableParallelism } from 'node:os';
import type { AgentStatus } from '../../status/agent-status.ts';
import { counted, longTime } from '../units.ts';
import { cpuLimit } from '../cgroup.ts';
import { ok, warn, type Finding } from '../finding.ts';
import type { Machine } from '../machine.ts';
import type { Step } from '../step.ts';

/** With less the kernel pauses the agent so often that its timings are about itself. */
const minCores = 0.2;
/** A browser with less is slow for our reasons, not for those of the page. */
const coresOfRun = 0.5;

export function judgeCpu(limit: number | null, cores: number, heavy: number): Finding[] {
  const room = Math.min(limit ?? cores, cores);
  const shown = Math.round(room * 100) / 100;
  const what =
    limit !== null && limit < cores
      ? `the control group may use ${shown} of ${counted(cores, 'core')}`
      : counted(cores, 'core');
  const how =
    'raise the limit (docker --cpus, resources.limits.cpu of Kubernetes, CPUQuota of systemd)';
  if (room < minCores) {
    return [warn(`${what}: measured times will say more about this limit than about targets`, how)];
  }
  if (heavy > 1 && heavy * coresOfRun > room) {
    return [
      warn(
        `${what} for JOB_CONCURRENCY=${heavy} runs at once`,
        `set JOB_CONCURRENCY=${Math.max(1, Math.floor(room / coresOfRun))}, or ${how}; only checks with code or a browser are affected`,
      ),
    ];
  }
  return [ok(what)];
}

/** What the agent that runs here says about its CPU; nothing when none runs, or it has enough. */
export function judgeLoad(status: Pick<AgentStatus, 'load' | 'now'> | null): Finding[] {
  if (status?.load.overloadedSince == null) return [];
  const { overloadedSince, reason } = status.load;
  return [
    warn(
      `the running agent is overloaded for ${longTime(status.now - overloadedSince)}: ${reason ?? 'too little CPU'}`,
      'give it more CPU, end what else uses the machine, lower UPTIME_CONCURRENCY or JOB_CONCURRENCY, or add an agent to the location; limits of time that are broken meanwhile end as AGENT_OVERLOADED',
    ),
  ];
}

/** Those that this process may be put on. What Node says is cut down to the control group's limit. */
export function coresOf(machine: Machine): number {
  const list = /^Cpus_allowed_list:\s+([\d,-]+)$/m.exec(
    machine.read('/proc/self/status') ?? '',
  )?.[1];
  if (list === undefined) return availableParallelism();
  return list
    .split(',')
    .map((range) => range.split('-').map(Number))
    .reduce((sum, [first = 0, last = first]) => sum + last - first + 1, 0);
}

export const cpu: Step = {
  id: 'cpu',
  name: 'CPU',
  tries: () => 'to read the limits of CPU, and what the running agent says of its load',
  needs: [],
  limitMs: 3_000,
  check: async ({ machine, config, runningAgent }) => [
    ...judgeCpu(cpuLimit(machine), coresOf(machine), config.JOB_CONCURRENCY),
    ...judgeLoad((await runningAgent())?.status ?? null),
  ],
};
