/**
 * The thread that watches over programs: it looks at processes, memory and disks, which takes time
 * that the agent measures targets in, and it ends what a program leaves.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { parentPort } from 'node:worker_threads';
import { listProcesses, readProcess, type ProcessFacts } from './processes.ts';
import { WatchedRun, type Excess, type ProcessTable, type RunSpec } from './watched-run.ts';

/** To the thread. Each is about one run. */
export type WatchOrder =
  { kind: 'watch'; run: number; spec: RunSpec } | { kind: 'ask-to-end' | 'end'; run: number };

/** From the thread. */
export type WatchReport =
  | { kind: 'excess'; run: number; excess: Excess }
  /** Nothing of the run is left. */
  | { kind: 'gone'; run: number; peakBytes: number }
  /** Children of the agent that belong to no run: alive, or ended and not waited for. */
  | { kind: 'orphans'; alive: readonly number[]; ended: readonly number[] };

const lookEveryMs = 250;
const firstLookMs = 100;
/** A new round of killing follows when something was started during the last one. */
const betweenRoundsMs = 10;
const mostStopped = 100_000;

const runs = new Map<number, WatchedRun>();
const ending = new Set<number>();
const ownSession = readProcess(process.pid)?.session ?? 0;

const report = (message: WatchReport): void => parentPort?.postMessage(message);

function lookAtProcesses(): ProcessTable {
  const all = listProcesses();
  const children = Map.groupBy(all.values(), ({ parent }) => parent);
  reportOrphans(all, children.get(process.pid) ?? []);
  return { all, children };
}

/** The agent gets the processes that lost their parent, as subreaper. */
function reportOrphans(all: ReadonlyMap<number, ProcessFacts>, own: readonly ProcessFacts[]): void {
  const roots = new Set([...runs.values()].map(({ spec }) => spec.pid));
  // A child that Node started is in the session of the agent, unless it is the first process of a run.
  const orphans = own.filter(({ pid, session }) => session !== ownSession && !roots.has(pid));
  if (orphans.length === 0) return;
  const table: ProcessTable = { all, children: new Map() };
  const members = new Set([...runs.values()].flatMap((run) => run.members(table)));
  const alive = orphans.filter(
    (orphan) =>
      orphan.isAlive &&
      !members.has(orphan.pid) &&
      ![...runs.values()].some((run) => run.adopts(orphan)),
  );
  const ended = orphans.filter(({ isAlive }) => !isAlive);
  if (alive.length + ended.length === 0) return;
  report({
    kind: 'orphans',
    alive: alive.map(({ pid }) => pid),
    ended: ended.map(({ pid }) => pid),
  });
}

function look(): void {
  if (runs.size > 0) {
    const table = lookAtProcesses();
    for (const [id, run] of runs) {
      if (ending.has(id)) continue;
      const pids = run.withoutWrappers(run.members(table), table);
      const excess = run.excess(pids, () => performance.now());
      if (excess !== null) report({ kind: 'excess', run: id, excess });
    }
  }
  timer = runs.size === 0 ? null : setTimeout(look, lookEveryMs);
}

let timer: NodeJS.Timeout | null = null;

/** Everything of a user at once: the kernel goes through all processes while none can be started. */
async function killUser(uid: number): Promise<void> {
  const options = { uid, gid: uid, env: {}, stdio: 'ignore' } as const;
  const child = spawn('/bin/sh', ['-c', 'kill -KILL -1'], options);
  await once(child, 'close').catch(() => undefined);
}

/** Stops what there is until nothing new appears, then kills it, until none is left. */
async function end(id: number, run: WatchedRun): Promise<void> {
  ending.add(id);
  for (let round = 0; ; round += 1) {
    const stopped = new Set<number>();
    for (let isNew = true; isNew && stopped.size < mostStopped;) {
      const found = run.members(lookAtProcesses()).filter((pid) => !stopped.has(pid));
      run.signal('SIGSTOP', found);
      for (const pid of found) stopped.add(pid);
      isNew = found.length > 0;
    }
    if (stopped.size === 0) break;
    run.signal('SIGKILL', [...stopped]);
    if (round >= 2 && run.spec.uid !== null) await killUser(run.spec.uid);
    await pause(betweenRoundsMs);
  }
  runs.delete(id);
  ending.delete(id);
  report({ kind: 'gone', run: id, peakBytes: run.peakBytes });
}

parentPort?.on('message', (order: WatchOrder) => {
  if (order.kind === 'watch') {
    runs.set(order.run, new WatchedRun(order.spec, ownSession));
    timer ??= setTimeout(look, firstLookMs);
    return;
  }
  const run = runs.get(order.run);
  if (run === undefined) return;
  if (order.kind === 'end') {
    if (!ending.has(order.run)) void end(order.run, run);
    return;
  }
  const table = lookAtProcesses();
  run.signal('SIGTERM', run.withoutWrappers(run.members(table), table));
});
