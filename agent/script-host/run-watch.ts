/**
 * Watches over programs while they run, and ends what they leave. The agent is the subreaper of its
 * programs: a process that loses its parent becomes a child of the agent, where it is found, ended and
 * waited for.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { subscribe } from 'node:diagnostics_channel';
import { existsSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { ifPossible, openLibc, type Libc } from '../native/libc.ts';
import { becomeSubreaper, keepDescriptorsFromChildren, reap } from '../native/process.ts';
import {
  isStopped,
  listDescendants,
  listProcesses,
  ownerOf,
  readProcess,
  signalTo,
  type ProcessFacts,
} from './processes.ts';
import { readPressure } from './cpu-waits.ts';
import { isUserOfRuns } from './user-ids.ts';
import { WatchedRun, type Excess, type ProcessTable, type RunSpec } from './watched-run.ts';

export interface Watch {
  /** Stops every process of the program; resolves with their number when none runs, or null. */
  hold(): Promise<number | null>;
  /** Lets them go on. */
  resume(): void;
  /** SIGTERM to every process of the program. */
  askToEnd(): void;
  /** Kills every process; resolves with the most memory seen, in bytes, when none is left. */
  end(): Promise<number>;
}

const lookEveryMs = 250;
const firstLookMs = 100;
/** A new round of killing follows when something was started during the last one. */
const betweenRoundsMs = 10;
const mostStopped = 100_000;
const stoppedWithinMs = 2_000;
/** A program that goes from process to process can be missed, and leaves dead ones behind. */
const mostEmptyRounds = 50;

function signalAll(signal: NodeJS.Signals, pids: readonly number[]): void {
  for (const pid of pids) signalTo(pid, signal);
}

/** Everything of a user at once: the kernel goes through all processes while none can be started. */
async function killUser(uid: number): Promise<void> {
  const options = { uid, gid: uid, env: {}, stdio: 'ignore' } as const;
  const child = spawn('/bin/sh', ['-c', 'kill -KILL -1'], options);
  await once(child, 'close').catch(() => undefined);
}

/**
 * Some kernels share the CPU out by sessions, and programs can make hundreds: the agent that ends them comes
 * first. Only for an agent that has its session to itself, as a service has.
 */
function comeBeforeRuns(): void {
  try {
    writeFileSync('/proc/self/autogroup', '-20');
  } catch {
    // Another kernel, or no right to it.
  }
}

export class RunWatch {
  readonly #runs = new Map<WatchedRun, (excess: Excess) => void>();
  /** Children that Node waits for itself. */
  readonly #children = new Set<ChildProcess>();
  readonly #libc: Libc | null;
  readonly #hasProc: boolean;
  readonly #ownSession = readProcess(process.pid)?.session ?? 0;
  /** Whether runs had neither a user nor namespaces of their own: what they leave looks like anything else. */
  #hasSharedUser = false;
  #timer: NodeJS.Timeout | null = null;

  /** `hasProc` is false on systems other than Linux: the process group is all that is known there. */
  constructor(libc = openLibc().libc, hasProc = existsSync('/proc/self/stat')) {
    this.#libc = libc;
    this.#hasProc = hasProc;
    if (this.#ownSession === process.pid) comeBeforeRuns();
    // Without the library, orphans become children of process 1, and are found by their session.
    if (libc !== null) {
      becomeSubreaper(libc);
      // Kernels before 5.11 do not know the call: code runs there all the same.
      ifPossible(() => keepDescriptorsFromChildren(libc));
    }
    subscribe('child_process', (message) => {
      const { process: child } = message as { process: ChildProcess };
      this.#children.add(child);
      for (const event of ['exit', 'error']) child.once(event, () => this.#children.delete(child));
    });
  }

  /** Watches a program from now on. `onExcess` is called when it is beyond a limit. */
  watch(spec: RunSpec, onExcess: (excess: Excess) => void): Watch {
    const run = new WatchedRun(spec, this.#ownSession);
    this.#runs.set(run, onExcess);
    this.#hasSharedUser ||= spec.uid === null && !spec.hasNamespaces;
    this.#timer ??= setTimeout(this.#look, firstLookMs).unref();
    let ended: Promise<number> | null = null;
    const held = new Set<number>();
    return {
      hold: () => this.#hold(run, held),
      resume: () => {
        signalAll('SIGCONT', [...held]);
        held.clear();
      },
      askToEnd: () => {
        if (!this.#hasProc) signalTo(-spec.pid, 'SIGTERM');
        const table = this.#processes();
        signalAll('SIGTERM', run.withoutWrappers(run.members(table), table));
      },
      end: () => (ended ??= this.#end(run)),
    };
  }

  readonly #look = (): void => {
    const table = this.#processes();
    const pressure = readPressure();
    for (const [run, onExcess] of this.#runs) {
      const pids = run.withoutWrappers(run.members(table), table);
      const processes = pids.flatMap((pid) => table.all.get(pid) ?? []);
      run.waits.look(processes, performance.now(), pressure);
      const excess = run.excess(pids);
      if (excess !== null) onExcess(excess);
      else {
        void run.hasFilledDisk(pids).then((isFull) => {
          if (isFull) onExcess('disk');
        });
      }
    }
    const isDone = this.#runs.size === 0 && !table.hadOrphans;
    this.#timer = isDone ? null : setTimeout(this.#look, lookEveryMs).unref();
  };

  #processes(): ProcessTable {
    // All that a run starts descends from the agent while that is the subreaper.
    const own = this.#libc === null ? null : listDescendants();
    const all = own ?? (this.#hasProc ? listProcesses() : new Map<number, ProcessFacts>());
    const children = Map.groupBy(all.values(), ({ parent }) => parent);
    const table = { all, children, isWhole: own === null, hadOrphans: false };
    return { ...table, hadOrphans: this.#endOrphans(table, children.get(process.pid) ?? []) };
  }

  /** Kills children of the agent that belong to no run, and waits for those that have ended. True when there were such. */
  #endOrphans(table: ProcessTable, own: readonly ProcessFacts[]): boolean {
    const known = new Set([...this.#children].map(({ pid }) => pid));
    // What a worker thread of the agent starts is in the session of the agent.
    const orphans = own.filter(
      ({ pid, session }) => session !== this.#ownSession && !known.has(pid),
    );
    if (orphans.length === 0) return false;
    const runs = [...this.#runs.keys()];
    const members = new Set(runs.flatMap((run) => run.members({ ...table, children: new Map() })));
    let hadSome = false;
    for (const orphan of orphans) {
      if (!orphan.isAlive) {
        hadSome = true;
        if (this.#libc !== null) reap(this.#libc, orphan.pid);
      } else if (
        !members.has(orphan.pid) &&
        !runs.some((run) => run.adopts(orphan)) &&
        this.#mayBeOfRun(orphan.pid)
      ) {
        hadSome = true;
        signalTo(orphan.pid, 'SIGKILL');
      }
    }
    return hadSome;
  }

  /** As process 1 of a container, or behind a shell, the agent has children that nothing of it has started. */
  #mayBeOfRun(pid: number): boolean {
    const owner = ownerOf(pid);
    return owner !== null && (isUserOfRuns(owner) || this.#hasSharedUser);
  }

  /** Until nothing new appears: what is being started meanwhile is found in the next round. */
  async #hold(run: WatchedRun, held: Set<number>): Promise<number | null> {
    const until = performance.now() + stoppedWithinMs;
    while (performance.now() < until) {
      const table = this.#processes();
      const found = run.withoutWrappers(run.members(table), table).filter((pid) => !held.has(pid));
      signalAll('SIGSTOP', found);
      for (const pid of found) held.add(pid);
      if (found.length === 0 && [...held].every(isStopped)) return held.size;
      if (held.size > mostStopped) break;
      await pause(1);
    }
    return null;
  }

  /** Stops what there is until nothing new appears, then kills it, until none is left. */
  async #end(run: WatchedRun): Promise<number> {
    run.waits.end(performance.now(), readPressure());
    if (!this.#hasProc) signalTo(-run.spec.pid, 'SIGKILL');
    let emptyRounds = 0;
    for (let round = 0; ; round += 1) {
      const stopped = new Set<number>();
      let table = this.#processes();
      const { hadOrphans } = table;
      for (let isNew = true; isNew && stopped.size < mostStopped;) {
        const found = run.members(table).filter((pid) => !stopped.has(pid));
        signalAll('SIGSTOP', found);
        for (const pid of found) stopped.add(pid);
        isNew = found.length > 0;
        if (isNew) table = this.#processes();
      }
      if (stopped.size === 0 && (!hadOrphans || (emptyRounds += 1) > mostEmptyRounds)) break;
      run.kill([...stopped], table);
      if (round >= 2 && run.spec.uid !== null) await killUser(run.spec.uid);
      await pause(betweenRoundsMs);
    }
    this.#runs.delete(run);
    return run.peakBytes;
  }
}

let opened: RunWatch | null = null;

/** The watch of this process. Open it before a program is started: it must know each from the start. */
export const runWatch = (): RunWatch => (opened ??= new RunWatch());
