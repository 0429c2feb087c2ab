import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { CpuWaits } from '../../../agent/script-host/cpu-waits.ts';
import { listProcesses } from '../../../agent/script-host/processes.ts';
import { RunWatch } from '../../../agent/script-host/run-watch.ts';
import { faultyLibc } from '../../support/faulty-libc.ts';

/** ENOSYS, as before Linux 5.9. */
const oldKernel = faultyLibc((call) => (call === 'close_range' ? -38 : null)).libc;

const limits = { memoryBytes: 1e9, diskBytes: 1e9, files: 1e6, processes: 64, outputBytes: 1e5 };

/** A shell with a child, in a session of their own, when both run. */
async function startGroup(): Promise<ChildProcess> {
  const child = spawn('/bin/sh', ['-c', 'sleep 300 & echo started; wait'], {
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  await once(child.stdout, 'data');
  return child;
}

const aliveIn = (session: number): number[] =>
  [...listProcesses().values()]
    .filter((facts) => facts.session === session && facts.isAlive)
    .map(({ pid }) => pid);

for (const [title, watch] of [
  ['with system calls', new RunWatch()],
  ['with a kernel that does not know close_range', new RunWatch(oldKernel)],
  ['without system calls', new RunWatch(null)],
  ['without /proc, as on macOS', new RunWatch(null, false)],
] as const) {
  test(`a program is ended with its children ${title}`, async () => {
    const child = await startGroup();
    const session = child.pid ?? 0;
    const ended = once(child, 'close');
    const watched = watch.watch(
      {
        ...{ pid: session, wrappers: 0, uid: null, folder: tmpdir(), hasNamespaces: false, limits },
        waits: new CpuWaits(),
      },
      () => undefined,
    );
    watched.askToEnd();
    await watched.end();
    assert.deepEqual(await ended.then(([, signal]: unknown[]) => typeof signal), 'string');
    // The kernel ends the rest of the group by itself.
    while (aliveIn(session).length > 0) await new Promise(setImmediate);
  });
}
