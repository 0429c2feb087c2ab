/** The resource limits of this process, from /proc/self/limits. */
import type { Machine } from './machine.ts';

/** The soft limit by its name in that file, as `Max open files`; null for none, or not known. */
export function limitOf(machine: Machine, name: string): number | null {
  const line = (machine.read('/proc/self/limits') ?? '')
    .split('\n')
    .find((one) => one.startsWith(name));
  const soft = line?.slice(name.length).trim().split(/\s+/)[0];
  return soft !== undefined && /^\d+$/.test(soft) ? Number(soft) : null;
}

/** Whether a right of capabilities(7) is in a set of this process; null where that is not known. */
export function hasCapability(
  machine: Machine,
  set: 'CapEff' | 'CapBnd' | 'CapAmb',
  bit: number,
): boolean | null {
  const hex = new RegExp(`^${set}:\\s*([0-9a-f]+)`, 'm').exec(
    machine.read('/proc/self/status') ?? '',
  )?.[1];
  return hex === undefined ? null : ((BigInt(`0x${hex}`) >> BigInt(bit)) & 1n) === 1n;
}

/** Whether a filter of seccomp(2) decides which system calls this process may make. */
export function hasSeccompFilter(machine: Machine): boolean {
  return /^Seccomp:\s+2$/m.test(machine.read('/proc/self/status') ?? '');
}

/** The bit of CAP_NET_RAW. */
export const netRaw = 13;
