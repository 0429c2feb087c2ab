/** Why a process does not answer, as the kernel sees it. */
import type { Machine } from './machine.ts';

export interface ProcessState {
  isStopped: boolean;
  what: string;
  fix: string;
}

export function processState(machine: Machine, pid: number): ProcessState {
  // The name before it may hold anything.
  const [state = ''] =
    (machine.read(`/proc/${pid}/stat`) ?? '').split(') ').at(-1)?.split(' ') ?? [];
  if (state === 'T' || state === 't') {
    return {
      isStopped: true,
      what: 'it is stopped, by a signal or a debugger',
      fix: `let it go on: kill -CONT ${pid}`,
    };
  }
  const what =
    state === 'D' ? 'it waits for its disk' : 'it waits for a CPU, is stuck, or is no agent';
  return {
    isStopped: false,
    what,
    fix: `see what it does (ps -p ${pid}, its log); another agent needs an AGENT_DATA_DIR of its own`,
  };
}
