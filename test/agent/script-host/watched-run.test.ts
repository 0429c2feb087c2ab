import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CpuWaits } from '../../../agent/script-host/cpu-waits.ts';
import type { ProcessFacts } from '../../../agent/script-host/processes.ts';
import { WatchedRun, type ProcessTable } from '../../../agent/script-host/watched-run.ts';

const limits = { memoryBytes: 1, diskBytes: 1, files: 1, processes: 1, outputBytes: 1 };
const agent = 10;
/** No process has such an id. */
const root = 4_194_305;

function tableOf(...rows: [pid: number, parent: number, session: number, start: string][]) {
  const all = new Map<number, ProcessFacts>();
  for (const [pid, parent, session, startTime] of rows) {
    all.set(pid, { pid, parent, session, startTime, isAlive: true, threads: 1, cpuMs: 0 });
  }
  const children = Map.groupBy(all.values(), ({ parent }) => parent);
  return { all, children, isWhole: false, hadOrphans: false } satisfies ProcessTable;
}

function watched(): WatchedRun {
  const spec = {
    ...{ pid: root, wrappers: 0, uid: null, folder: '/none', hasNamespaces: false, limits },
    waits: new CpuWaits(),
  };
  return new WatchedRun(spec, agent);
}

test('what keeps the session of a run belongs to it when its parent has ended', () => {
  const run = watched();
  run.members(tableOf([root + 1, agent, root, '5']));
  assert.deepEqual(run.members(tableOf([root + 2, agent, root, '6'])), [root + 2]);
});

test('a session that got the id of one that is over belongs to another run', () => {
  const run = watched();
  const [left, leader] = [root + 1, root + 2];
  run.members(tableOf([left, agent, root, '5'], [leader, left, leader, '6']));
  // The leader has ended, and another program has its id and its session.
  const table = tableOf([left, agent, root, '5'], [leader, agent, leader, '900']);
  assert.deepEqual(run.members(table), [left]);
  assert.deepEqual(run.members(tableOf([left, agent, root, '5'], [99, leader, leader, '901'])), [
    left,
  ]);
});
