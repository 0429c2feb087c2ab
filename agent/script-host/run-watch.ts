/**
 * Watches over programs by a thread (`watch-thread.ts`). The agent is the subreaper of its programs: a
 * process that loses its parent becomes a child of the agent, where it is found, ended and waited for.
 */
import type { ChildProcess } from 'node:child_process';
import { subscribe } from 'node:diagnostics_channel';
import { Worker } from 'node:worker_threads';
import { openLibc, type Libc } from '../native/libc.ts';
import { becomeSubreaper, keepDescriptorsFromChildren, reap } from '../native/process.ts';
import { endProcessesOf, signalTo } from './processes.ts';
import type { WatchOrder, WatchReport } from './watch-thread.ts';
import type { Excess, RunSpec } from './watched-run.ts';

export interface Watch {
  /** SIGTERM to every process of the program. */
  askToEnd(): void;
  /** Kills every process; resolves when none is left. */
  end(): Promise<WatchEnd>;
}

export interface WatchEnd {
  /** Most memory that was seen. */
  readonly peakBytes: number;
  /** Why the program was watched no longer, and was ended for it; null when it was watched to its end. */
  readonly problem: string | null;
}

interface WatchedProgram {
  readonly spec: RunSpec;
  readonly onExcess: (excess: Excess) => void;
  readonly onGone: (end: WatchEnd) => void;
}

class RunWatch {
  readonly #programs = new Map<number, WatchedProgram>();
  /** Children that Node waits for itself. */
  readonly #children = new Set<ChildProcess>();
  readonly #libc: Libc | null = openLibc().libc;
  #worker: Worker | null = null;
  #lastId = 0;

  constructor() {
    // Without the library, orphans become children of process 1, and are found by their session.
    if (this.#libc !== null) {
      becomeSubreaper(this.#libc);
      keepDescriptorsFromChildren(this.#libc);
    }
    subscribe('child_process', (message) => {
      const { process: child } = message as { process: ChildProcess };
      this.#children.add(child);
      child.once('exit', () => this.#children.delete(child));
      child.once('error', () => this.#children.delete(child));
    });
  }

  watch(spec: RunSpec, onExcess: (excess: Excess) => void): Watch {
    const id = (this.#lastId += 1);
    const worker = (this.#worker ??= this.#start());
    const order = (message: WatchOrder): void => {
      worker.postMessage(message);
    };
    const gone = new Promise<WatchEnd>((onGone) => {
      this.#programs.set(id, { spec, onExcess, onGone });
    });
    // It keeps the process running while there is something to watch.
    worker.ref();
    order({ kind: 'watch', run: id, spec });
    return {
      askToEnd() {
        order({ kind: 'ask-to-end', run: id });
      },
      end() {
        order({ kind: 'end', run: id });
        return gone;
      },
    };
  }

  #start(): Worker {
    const worker = new Worker(new URL('watch-thread.ts', import.meta.url), {
      env: {},
      // Those of this process may be for a program given as text.
      execArgv: [],
      resourceLimits: { maxYoungGenerationSizeMb: 2, maxOldGenerationSizeMb: 96 },
    });
    worker.on('message', (report: WatchReport) => {
      this.#hear(report);
    });
    let problem = 'its thread ended';
    worker.on('error', (error) => {
      problem = error instanceof Error ? error.message : String(error);
    });
    worker.once('exit', () => {
      if (this.#worker === worker) this.#worker = null;
      void this.#endUnwatched(problem);
    });
    return worker;
  }

  #hear(report: WatchReport): void {
    if (report.kind === 'orphans') {
      this.#endOrphans(report.alive, report.ended);
      return;
    }
    const program = this.#programs.get(report.run);
    if (report.kind === 'excess') program?.onExcess(report.excess);
    else if (this.#programs.delete(report.run))
      program?.onGone({ peakBytes: report.peakBytes, problem: null });
    if (this.#programs.size === 0) this.#worker?.unref();
  }

  #endOrphans(alive: readonly number[], ended: readonly number[]): void {
    const own = new Set([...this.#children].map(({ pid }) => pid));
    for (const pid of alive) if (!own.has(pid)) signalTo(pid, 'SIGKILL');
    if (this.#libc === null) return;
    for (const pid of ended) if (!own.has(pid)) reap(this.#libc, pid);
  }

  /** What nobody watches cannot go on. */
  async #endUnwatched(problem: string): Promise<void> {
    const unwatched = [...this.#programs.values()];
    this.#programs.clear();
    for (const { spec, onGone } of unwatched) {
      signalTo(-spec.pid, 'SIGKILL');
      await endProcessesOf(spec.folder, spec.uid);
      onGone({ peakBytes: 0, problem });
    }
  }
}

let runWatch: RunWatch | null = null;

/** Watches a program from now on. `onExcess` is called when it is beyond a limit. */
export function watchRun(spec: RunSpec, onExcess: (excess: Excess) => void): Watch {
  return (runWatch ??= new RunWatch()).watch(spec, onExcess);
}
