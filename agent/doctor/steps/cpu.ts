import { availableParallelism } from 'node:os';
import { counted } from '../amounts.ts';
import { cpuLimit } from '../cgroup.ts';
import { ok, warn, type Statement } from '../finding.ts';
import type { Step } from '../step.ts';

/** With less the kernel pauses the agent so often that its timings are about itself. */
const leastCores = 0.2;
/** A browser with less is slow for our reasons, not for those of the page. */
const coresOfRun = 0.5;

export function judgeCpu(limit: number | null, cores: number, heavy: number): Statement[] {
  const room = Math.min(limit ?? cores, cores);
  const shown = Math.round(room * 100) / 100;
  const what =
    limit !== null && limit < cores
      ? `the control group may use ${shown} of ${counted(cores, 'core')}`
      : counted(cores, 'core');
  const how = 'raise the limit (docker --cpus, resources.limits.cpu of Kubernetes)';
  if (room < leastCores) {
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

export const cpu: Step = {
  id: 'cpu',
  name: 'CPU',
  needs: [],
  limitMs: 1_000,
  look: ({ machine, config }) =>
    judgeCpu(cpuLimit(machine), availableParallelism(), config.JOB_CONCURRENCY),
};
