/**
 * CPU times of this process from the kernel. Files stay open and are read repeatedly: a small read
 * takes two microseconds. A missing file gives null.
 */
import { closeSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs';
import { uptime } from 'node:os';
import { join } from 'node:path';
import { kernelReader, throttledMs } from '../control-group.ts';
import { parseSchedstat, type ThreadTimes } from '../native/schedstat.ts';

export interface KernelTime extends Disposable {
  /** Milliseconds since the machine was started, including its sleep. */
  boot(): number | null;
  /** Of the main thread. */
  main(): ThreadTimes | null;
  /** Waiting time of each known thread of the pool, in ms. */
  poolWaitMs(): number[];
  /** Finds threads of the pool; they start with their first work. */
  findThreads(): void;
  /** Milliseconds in which the control groups were throttled; monotonic. */
  throttledMs(): number;
}

const threads = '/proc/self/task';
const poolThread = 'libuv-worker';
/** Each search reads the names of all threads; the pool has started by then. */
const searches = 12;
const buffer = Buffer.alloc(256);

/** A small file of the kernel; null when it is missing. */
class KernelFile implements Disposable {
  readonly #fd: number | null;

  constructor(path: string) {
    let fd: number | null = null;
    try {
      fd = openSync(path, 'r');
    } catch {
      // Not Linux, or a kernel without this file.
    }
    this.#fd = fd;
  }

  text(): string | null {
    if (this.#fd === null) return null;
    try {
      return buffer.toString('latin1', 0, readSync(this.#fd, buffer, 0, buffer.length, 0));
    } catch {
      // The thread has ended, or the kernel was built without this file.
      return null;
    }
  }

  [Symbol.dispose](): void {
    if (this.#fd !== null) closeSync(this.#fd);
  }
}

function poolThreads(): string[] {
  try {
    return readdirSync(threads).filter(
      (id) => readFileSync(join(threads, id, 'comm'), 'utf8').trim() === poolThread,
    );
  } catch {
    return [];
  }
}

/** The real kernel. */
export function openKernelTime(): KernelTime {
  const main = new KernelFile('/proc/self/schedstat');
  const pool = new Map<string, KernelFile>();
  let searchesLeft = searches;
  const own = (): ThreadTimes | null => parseSchedstat(main.text());
  const hasSchedstat = own() !== null;
  return {
    boot: () => (process.platform === 'linux' ? uptime() * 1_000 : null),
    main() {
      if (hasSchedstat) return own();
      const { user, system } = process.threadCpuUsage();
      return { runMs: (user + system) / 1_000, waitMs: 0 };
    },
    poolWaitMs: () => [...pool.values()].map((file) => parseSchedstat(file.text())?.waitMs ?? 0),
    findThreads() {
      if (searchesLeft === 0 || !hasSchedstat) return;
      searchesLeft -= 1;
      for (const id of poolThreads()) {
        if (!pool.has(id)) pool.set(id, new KernelFile(join(threads, id, 'schedstat')));
      }
    },
    throttledMs: () => throttledMs(kernelReader),
    [Symbol.dispose]() {
      for (const file of [main, ...pool.values()]) file[Symbol.dispose]();
      pool.clear();
    },
  };
}
