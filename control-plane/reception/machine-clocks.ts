/** Clocks that go on while the machine is suspended. */
import { readFileSync } from 'node:fs';
import { uptime } from 'node:os';

export interface MachineClocks {
  /** Milliseconds since the machine started; null where nothing counts them. */
  boot(): number | null;
  /** Tells one start of the machine from another; null where nothing does. */
  bootId: string | null;
}

function readBootId(): string | null {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return null;
  }
}

/** Those of this machine. Only Linux counts its uptime independently of the wall clock. */
export function machineClocks(): MachineClocks {
  const isLinux = process.platform === 'linux';
  return {
    boot: () => (isLinux ? uptime() * 1000 : null),
    bootId: isLinux ? readBootId() : null,
  };
}

/** For a clock that is not the machine's. */
export const noMachineClocks: MachineClocks = { boot: () => null, bootId: null };
