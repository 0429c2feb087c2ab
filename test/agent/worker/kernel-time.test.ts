import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { parseSchedstat } from '../../../agent/native/schedstat.ts';
import { openKernelTime } from '../../../agent/worker/kernel-time.ts';
import { throttledMs } from '../../../agent/control-group.ts';

test('accounts of the kernel are read, and missing ones are nothing', () => {
  assert.deepEqual(parseSchedstat('71478171 317611 12\n'), {
    ...{ runMs: 71.478171, waitMs: 0.317611 },
  });
  for (const text of [null, '', '\n']) assert.equal(parseSchedstat(text), null);
});

test('throttling is read in both versions of control groups', () => {
  const reader = (files: Record<string, string>) => ({
    read: (path: string) => files[path] ?? null,
  });
  const unified = reader({
    '/proc/self/cgroup': '0::/pod/agent\n',
    '/sys/fs/cgroup/pod/agent/cpu.stat': 'usage_usec 9\nnr_throttled 3\nthrottled_usec 250000\n',
  });
  assert.equal(throttledMs(unified), 250);
  const old = reader({
    '/proc/self/cgroup': '4:cpu,cpuacct:/docker/abc\n',
    '/sys/fs/cgroup/cpu/docker/abc/cpu.stat': 'nr_periods 9\nthrottled_time 1500000000\n',
  });
  assert.equal(throttledMs(old), 1_500);
  assert.equal(throttledMs(reader({})), 0);
});

test('the times of this very process grow as it works, on a kernel that accounts for them', () => {
  using kernel = openKernelTime();
  const before = kernel.main();
  assert.ok(before !== null);
  // A kernel may bring them up to date by its ticks alone.
  while ((kernel.main()?.runMs ?? Infinity) <= before.runMs) readFileSync('/proc/self/status');
  kernel.findThreads();
  assert.notEqual(kernel.main(), null);
  assert.ok(kernel.poolWaitMs().every((waited) => waited >= 0));
  assert.ok(kernel.throttledMs() >= 0);
});
