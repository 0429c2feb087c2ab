import { counted } from '../units.ts';
import { fail, ok, warn, type Finding } from '../finding.ts';
import { processLimit } from '../cgroup.ts';
import { limitOf } from '../limits.ts';
import type { Machine } from '../machine.ts';
import type { Step } from '../step.ts';

/** Node's own threads, helper processes and a spare. */
const own = 32;
/** Threads count too: a browser with one page has about so many. */
const eachHeavy = 150;

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
  if (tightest === undefined) return [ok('no limit on processes and threads')];
  const { limit, left, what, how } = tightest;
  const wanted = own + heavy * eachHeavy;
  const evidence = `${what} is ${limit}, ${Math.max(0, left)} of it are left`;
  if (left < own) {
    return [
      fail(
        `${evidence}: nothing more can be started`,
        `raise it to ${limit - left + wanted} or more (${how})`,
      ),
    ];
  }
  if (left < wanted) {
    const fits = Math.floor((left - own) / eachHeavy);
    return [
      warn(
        `${evidence}; ${counted(heavy, 'run')} of browsers at once may need ${wanted}`,
        `raise it (${how})${fits >= 1 ? `, or set JOB_CONCURRENCY=${fits}` : ''}; only checks with code or a browser are affected`,
      ),
    ];
  }
  return [ok(evidence)];
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

export const processes: Step = {
  id: 'processes',
  name: 'processes',
  tries: () => 'to count processes and threads against their limits',
  needs: [],
  limitMs: 2_000,
  check({ machine, config }) {
    const uid = process.getuid?.() ?? 0;
    const limit = uid === 0 ? null : limitOf(machine, 'Max processes');
    return judgeProcesses({
      group: processLimit(machine),
      user: limit === null ? null : { limit, left: limit - threadsOf(machine, uid) },
      heavy: config.JOB_CONCURRENCY,
    });
  },
};
