import { fail, ok, warn, type Finding } from '../finding.ts';
import { limitOf } from '../limits.ts';
import type { Step } from '../step.ts';

/** The outbox, the log, probes, the link and what Node itself has open. */
const own = 64;
/** Four traceroutes of failures at once, with up to ninety probes each. */
const traces = 4 * 90;
const eachLight = 2;
const eachHeavy = 16;
/** Below it checks fail with EMFILE at any concurrency that is of use. */
const least = 128;

/** Files that may be needed at once. */
export function neededDescriptors(light: number, heavy: number): number {
  return own + traces + light * eachLight + heavy * eachHeavy;
}

export function judgeDescriptors(limit: number | null, light: number, heavy: number): Finding[] {
  if (limit === null) return [ok('no limit on open files')];
  const needed = neededDescriptors(light, heavy);
  if (limit >= needed) return [ok(`at most ${limit} open files, ${needed} may be needed`)];
  const fits = Math.max(1, Math.floor((limit - own - traces - heavy * eachHeavy) / eachLight));
  return [
    (limit < least ? fail : warn)(
      `at most ${limit} open files; UPTIME_CONCURRENCY=${light} and JOB_CONCURRENCY=${heavy} may need ${needed}`,
      `raise the limit to ${needed} or more (ulimit -n, docker --ulimit nofile, LimitNOFILE of systemd), or set UPTIME_CONCURRENCY=${fits}`,
    ),
  ];
}

export const descriptors: Step = {
  id: 'descriptors',
  name: 'open files',
  tries: () => 'to read the limit of open files',
  needs: [],
  limitMs: 1_000,
  check: ({ machine, config }) =>
    judgeDescriptors(
      limitOf(machine, 'Max open files'),
      config.UPTIME_CONCURRENCY,
      config.JOB_CONCURRENCY,
    ),
};
