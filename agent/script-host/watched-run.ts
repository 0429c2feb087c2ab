/** One program while it is watched: which processes belong to it, and what they use. */
import {
  isProcessIn,
  ownerOf,
  processesOfUser,
  readProcess,
  signalTo,
  type ProcessFacts,
} from './processes.ts';
import type { ScriptLimits } from './script-host.ts';
import { readPressure, WaitCounter, type CpuWaits } from './cpu-waits.ts';
import { lookAtDisk, memoryOf } from './usage.ts';

/** What is watched. */
export interface RunSpec {
  /** The process that the others descend from; it leads a session of its own. */
  readonly pid: number;
  /** How many of the first processes the agent put around the program, each the parent of the next. */
  readonly wrappers: number;
  /** The user that only this run has; null for the user of the agent. */
  readonly uid: number | null;
  readonly folder: string;
  readonly hasNamespaces: boolean;
  readonly limits: ScriptLimits;
  /** Takes when its processes waited for a CPU. */
  readonly waits: CpuWaits;
}

export type Excess = 'memory' | 'processes' | 'disk';

const diskLookEveryMs = 250;
/** Looking at large trees takes this part of a processor at most. */
const diskShare = 0.1;

/** The processes of this machine with their children. */
export interface ProcessTable {
  readonly all: ReadonlyMap<number, ProcessFacts>;
  readonly children: ReadonlyMap<number, readonly ProcessFacts[]>;
  /** False for all that descend from the agent alone, which is then all that a run can have. */
  readonly isWhole: boolean;
  /** Whether the agent had children that lost their parent and have ended, or belong to no run. */
  readonly hadOrphans: boolean;
}

export class WatchedRun {
  readonly spec: RunSpec;
  readonly waits: WaitCounter;
  /** Most memory that was seen, in bytes. */
  peakBytes = 0;
  readonly #sessions: Set<number>;
  readonly #ownSession: number;
  /** Processes seen so far, with their start times. */
  readonly #known = new Map<number, string>();
  #wrappers: readonly number[] = [];
  #nextDiskLook = 0;

  constructor(spec: RunSpec, ownSession: number) {
    this.spec = spec;
    this.waits = new WaitCounter(spec.waits, performance.now(), readPressure());
    this.#ownSession = ownSession;
    this.#sessions = new Set([spec.pid]);
    const root = readProcess(spec.pid);
    if (root !== null) this.#known.set(root.pid, root.startTime);
  }

  /** The processes of the run that are alive, the outermost first. */
  members({ all, children, isWhole }: ProcessTable): number[] {
    const { uid, pid: root } = this.spec;
    const found = new Set<number>();
    const queue: number[] = [];
    const add = (facts: ProcessFacts | undefined): void => {
      if (facts === undefined || found.has(facts.pid)) return;
      found.add(facts.pid);
      queue.push(facts.pid);
      this.#known.set(facts.pid, facts.startTime);
      if (facts.session !== this.#ownSession) this.#sessions.add(facts.session);
    };
    const follow = (): void => {
      for (let pid = queue.shift(); pid !== undefined; pid = queue.shift()) {
        for (const child of children.get(pid) ?? []) add(child);
      }
    };
    if (this.#isKnown(all.get(root))) add(all.get(root));
    follow();
    for (const [pid, startTime] of this.#known) {
      if (all.get(pid)?.startTime === startTime) add(all.get(pid));
      else this.#known.delete(pid);
    }
    // The id of a session that is over may be that of another program by now.
    for (const id of this.#sessions) if (all.has(id) && !found.has(id)) this.#sessions.delete(id);
    for (const facts of all.values()) if (this.#sessions.has(facts.session)) add(facts);
    if (isWhole && uid !== null) for (const pid of processesOfUser(uid)) add(all.get(pid));
    follow();
    return [...found].filter((pid) => all.get(pid)?.isAlive === true);
  }

  #isKnown(facts: ProcessFacts | undefined): boolean {
    return facts !== undefined && this.#known.get(facts.pid) === facts.startTime;
  }

  /** Takes in a process that lost its parent, where it can be seen to be of this run. */
  adopts(orphan: ProcessFacts): boolean {
    const { uid, folder } = this.spec;
    const isOurs = (uid !== null && ownerOf(orphan.pid) === uid) || isProcessIn(folder, orphan.pid);
    if (isOurs) this.#known.set(orphan.pid, orphan.startTime);
    return isOurs;
  }

  /** What of the members is of the customer. */
  withoutWrappers(members: readonly number[], { children }: ProcessTable): number[] {
    const wrappers = new Set<number>();
    let pid: number | undefined = this.spec.pid;
    while (pid !== undefined && wrappers.size < this.spec.wrappers) {
      wrappers.add(pid);
      pid = children.get(pid)?.[0]?.pid;
    }
    this.#wrappers = [...wrappers];
    return members.filter((member) => !wrappers.has(member));
  }

  /** The limit that the processes are beyond at the moment; null when there is none. */
  excess(pids: readonly number[]): Excess | null {
    const { limits } = this.spec;
    const memory = memoryOf(pids, limits.memoryBytes);
    this.peakBytes = Math.max(this.peakBytes, memory);
    // First, since so many have used up the memory as well.
    if (pids.length > limits.processes) return 'processes';
    return memory > limits.memoryBytes ? 'memory' : null;
  }

  /** Whether it has written too much; false while the last look is not long enough ago. */
  async hasFilledDisk(pids: readonly number[]): Promise<boolean> {
    const { folder, uid, limits } = this.spec;
    if (performance.now() < this.#nextDiskLook) return false;
    this.#nextDiskLook = Infinity;
    const { isTooMuch, tookMs } = await lookAtDisk(
      folder,
      uid,
      { pids, wrappers: this.#wrappers },
      limits,
    );
    this.#nextDiskLook = performance.now() + Math.max(diskLookEveryMs, tookMs / diskShare);
    return isTooMuch;
  }

  /** Kills processes with the groups of their sessions, in which something could be started meanwhile. */
  kill(pids: readonly number[], { all }: ProcessTable): void {
    for (const pid of pids) signalTo(pid, 'SIGKILL');
    const sessions = new Set(pids.map((pid) => all.get(pid)?.session ?? 0));
    for (const id of sessions) if (id > 1 && id !== this.#ownSession) signalTo(-id, 'SIGKILL');
  }
}
