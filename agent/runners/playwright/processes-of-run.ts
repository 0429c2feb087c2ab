/** The processes of a run, from the operating system. Linux only; empty on other systems. */
import { listProcesses, readOf, type ProcessFacts } from '../../script-host/processes.ts';

export type RunProcess = Pick<ProcessFacts, 'pid' | 'cpuMs'> & { readonly command: string };

const commandOf = (pid: number): string =>
  Buffer.from(readOf(pid, 'cmdline'), 'latin1')
    .toString()
    .replaceAll('\0', ' ')
    .trim()
    .slice(0, 120);

/** The processes that have `NAME=value` in their environment, the busiest first. */
export function processesWith(marker: string): RunProcess[] {
  return [...listProcesses().values()]
    .filter(({ pid }) => `\0${readOf(pid, 'environ')}`.includes(`\0${marker}\0`))
    .map(({ pid, cpuMs }) => ({ pid, cpuMs, command: commandOf(pid) }))
    .sort((left, right) => right.cpuMs - left.cpuMs);
}
