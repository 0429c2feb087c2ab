/** Clocks that include the time in which the machine is suspended. */
import { readFileSync } from 'node:fs';
import { uptime } from 'node:os';

export interface MachineClocks {
  /** Milliseconds since boot; null where the platform does not count them. */
  boot(): number | null;
  /** Identifies a boot; null where the platform does not. */
  bootId: string | null;
}

function readBootId(): string | null {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return null;
  }
}

/** The clocks of this machine. Only Linux counts its uptime independently of the wall clock. */
export function machineClocks(): MachineClocks {
  const isLinux = process.platform === 'linux';
  return {
    boot: () => (isLinux ? uptime() * 1000 : null),
    bootId: isLinux ? readBootId() : null,
  };
}

/** For injected clocks. */
export const noMachineClocks: MachineClocks = { boot: () => null, bootId: null };
