/** Limits of the machine against what the agent needs of it: open files, processes, memory, CPU. */
import { availableParallelism } from 'node:os';
import { cpuLimit, memoryLimit, processLimit } from '../cgroup.ts';
import { fail, ok, warn, type Finding } from '../finding.ts';
import { limitOf } from '../limits.ts';
import type { Machine } from '../machine.ts';
import type { Check } from '../step.ts';
import { bytesText, counted } from '../units.ts';

const only = 'only checks with code or a browser are affected';

/** The outbox, the log, probes, the link and what Node itself has open. */
const ownFiles = 64;
/** Four traceroutes of failures at once, with up to ninety probes each. */
const traces = 4 * 90;
const filesOfCheck = 2;
const filesOfRun = 16;
/** Below it checks fail with EMFILE at any concurrency that is of use. */
const leastFiles = 128;

/** Files that may be needed at once. */
export function neededDescriptors(light: number, heavy: number): number {
  return ownFiles + traces + light * filesOfCheck + heavy * filesOfRun;
}

export function judgeDescriptors(limit: number | null, light: number, heavy: number): Finding[] {
  if (limit === null) return ok('no limit on open files');
  const needed = neededDescriptors(light, heavy);
  if (limit >= needed) return ok(`at most ${limit} open files, ${needed} may be needed`);
  const fits = Math.max(
    1,
    Math.floor((limit - ownFiles - traces - heavy * filesOfRun) / filesOfCheck),
  );
  return (limit < leastFiles ? fail : warn)(
    `at most ${limit} open files; UPTIME_CONCURRENCY=${light} and JOB_CONCURRENCY=${heavy} may need ${needed}`,
    `raise the limit to ${needed} or more (ulimit -n, docker --ulimit nofile, LimitNOFILE of systemd), or set UPTIME_CONCURRENCY=${fits}`,
  );
}

export const checkDescriptors: Check = ({ machine, config }) =>
  judgeDescriptors(
    limitOf(machine, 'Max open files'),
    config.UPTIME_CONCURRENCY,
    config.JOB_CONCURRENCY,
  );

/** Node's own threads, helper processes and a spare. */
const ownThreads = 32;
/** Threads count too: a browser with one page has about so many. */
const threadsOfRun = 150;

export interface ProcessFacts {
  /** Of the control group: `pids.max`, and what is left of it. */
  group: { limit: number; left: number } | null;
  /** RLIMIT_NPROC, which counts everything of this user; it does not bind root. */
  user: { limit: number; left: number } | null;
  heavy: number;
}

export function judgeProcesses({ group, user, heavy }: ProcessFacts): Finding[] {
  const found = [
    group === null
      ? null
      : {
          ...group,
          what: 'pids.max of the control group',
          how: 'docker --pids-limit, TasksMax of systemd',
        },
    user === null
      ? null
      : {
          ...user,
          what: 'the limit of processes of this user',
          how: 'ulimit -u, LimitNPROC of systemd',
        },
  ].filter((one) => one !== null);
  const [tightest] = found.toSorted((one, other) => one.left - other.left);
  if (tightest === undefined) return ok('no limit on processes and threads');
  const { limit, left, what, how } = tightest;
  const wanted = ownThreads + heavy * threadsOfRun;
  const evidence = `${what} is ${limit}, ${Math.max(0, left)} of it are left`;
  if (left < ownThreads) {
    return fail(
      `${evidence}: nothing more can be started`,
      `raise it to ${limit - left + wanted} or more (${how})`,
    );
  }
  if (left < wanted) {
    const fits = Math.floor((left - ownThreads) / threadsOfRun);
    return warn(
      `${evidence}; ${counted(heavy, 'run')} of browsers at once may need ${wanted}`,
      `raise it (${how})${fits >= 1 ? `, or set JOB_CONCURRENCY=${fits}` : ''}; ${only}`,
    );
  }
  return ok(evidence);
}

/** Processes and threads of a user. */
export function threadsOf(machine: Machine, uid: number): number {
  let count = 0;
  for (const name of machine.list('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const status = machine.read(`/proc/${name}/status`) ?? '';
    if (/^Uid:\s+(\d+)/m.exec(status)?.[1] !== String(uid)) continue;
    count += Number(/^Threads:\s+(\d+)/m.exec(status)?.[1] ?? 1);
  }
  return count;
}

export const checkProcesses: Check = ({ machine, config }) => {
  const uid = process.getuid?.() ?? 0;
  const limit = uid === 0 ? null : limitOf(machine, 'Max processes');
  return judgeProcesses({
    group: processLimit(machine),
    user: limit === null ? null : { limit, left: limit - threadsOf(machine, uid) },
    heavy: config.JOB_CONCURRENCY,
  });
};

const mebibyte = 1_048_576;
/** The agent with a thousand checks; below it the kernel ends it sooner or later. */
const ownBytes = 160 * mebibyte;
/** What a run of a browser mostly takes; how many runs there are at once is derived from it too. */
const usualRunBytes = 1_500_000_000;

export interface MemoryFacts {
  /** Of the control group; null for none. */
  limit: number | null;
  total: number | null;
  heavy: number;
  /** SCRIPT_MEMORY_MB in bytes. */
  runBytes: number;
}

export function judgeMemory({ limit, total, heavy, runBytes }: MemoryFacts): Finding[] {
  const room = Math.min(limit ?? Number.POSITIVE_INFINITY, total ?? Number.POSITIVE_INFINITY);
  if (!Number.isFinite(room)) return ok('the amount of memory is not known on this platform');
  const what =
    limit !== null && limit === room
      ? `the control group may use ${bytesText(limit)}`
      : `this machine has ${bytesText(room)}`;
  const moreMemory =
    'raise the limit (docker --memory, resources.limits of Kubernetes, MemoryMax of systemd)';
  if (room < ownBytes) {
    return fail(
      `${what}: the agent itself needs ${bytesText(ownBytes)}`,
      `${moreMemory}, or the kernel ends it`,
    );
  }
  const usual = Math.min(runBytes, usualRunBytes);
  if (heavy > 1 && heavy * usual > room) {
    const fits = Math.max(1, Math.floor((room - ownBytes) / usual));
    return warn(
      `${what}; JOB_CONCURRENCY=${heavy} runs of browsers at once take about ${bytesText(heavy * usual)}`,
      `set JOB_CONCURRENCY=${fits}, or ${moreMemory}; ${only}`,
    );
  }
  if (runBytes > room) {
    const fits = Math.floor((room - ownBytes) / mebibyte);
    return warn(
      `${what}; one run may use ${bytesText(runBytes)} before it is ended, and takes the agent with it`,
      `set SCRIPT_MEMORY_MB=${Math.max(64, fits)} or less, or ${moreMemory}; ${only}`,
    );
  }
  return ok(what);
}

/** `MemTotal` in bytes. */
export function totalMemory(machine: Machine): number | null {
  const kilobytes = /^MemTotal:\s+(\d+) kB/m.exec(machine.read('/proc/meminfo') ?? '')?.[1];
  return kilobytes === undefined ? null : Number(kilobytes) * 1_024;
}

export const checkMemory: Check = ({ machine, config }) =>
  judgeMemory({
    limit: memoryLimit(machine),
    total: totalMemory(machine),
    heavy: config.JOB_CONCURRENCY,
    runBytes: config.SCRIPT_MEMORY_MB * mebibyte,
  });

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
  const moreCpu =
    'raise the limit (docker --cpus, resources.limits.cpu of Kubernetes, CPUQuota of systemd)';
  if (room < minCores) {
    return warn(
      `${what}: measured times will say more about this limit than about targets`,
      moreCpu,
    );
  }
  if (heavy > 1 && heavy * coresOfRun > room) {
    return warn(
      `${what} for JOB_CONCURRENCY=${heavy} runs at once`,
      `set JOB_CONCURRENCY=${Math.max(1, Math.floor(room / coresOfRun))}, or ${moreCpu}; ${only}`,
    );
  }
  return ok(what);
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

export const checkCpu: Check = ({ machine, config }) =>
  judgeCpu(cpuLimit(machine), coresOf(machine), config.JOB_CONCURRENCY);
