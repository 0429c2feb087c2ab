import assert from 'node:assert/strict';
import test from 'node:test';
import { groupFolders, memoryKills } from '../../agent/control-group.ts';

const reader = (files: Record<string, string>) => ({ read: (path: string) => files[path] ?? null });

test('groups of version 2 bind from the own one up to the root', () => {
  const service = reader({ '/proc/self/cgroup': '0::/system.slice/monitor-agent.service\n' });
  assert.deepEqual(groupFolders(service, 'memory'), [
    '/sys/fs/cgroup/system.slice/monitor-agent.service',
    '/sys/fs/cgroup/system.slice',
    '/sys/fs/cgroup',
  ]);
});

test('groups of both versions beside each other are both looked at', () => {
  const both = reader({ '/proc/self/cgroup': '5:memory:/agents\n0::/one\n' });
  assert.deepEqual(groupFolders(both, 'memory'), [
    '/sys/fs/cgroup/memory/agents',
    '/sys/fs/cgroup/memory',
    '/sys/fs/cgroup/one',
    '/sys/fs/cgroup',
  ]);
});

test('what the kernel ended for memory is counted in the nearest group that tells', () => {
  const events = 'low 0\nhigh 0\nmax 812\noom 3\noom_kill 2\noom_group_kill 0\n';
  const version2 = {
    '/proc/self/cgroup': '0::/a/b\n',
    '/sys/fs/cgroup/a/memory.events': 'oom_kill 9\n',
  };
  assert.equal(memoryKills(reader(version2)), 9);
  assert.equal(memoryKills(reader({ ...version2, '/sys/fs/cgroup/a/b/memory.events': events })), 2);
  const version1 = reader({
    '/proc/self/cgroup': '5:memory:/agents\n',
    '/sys/fs/cgroup/memory/agents/memory.oom_control':
      'oom_kill_disable 0\nunder_oom 0\noom_kill 4\n',
  });
  assert.equal(memoryKills(version1), 4);
});

test('a missing limit is no number', () => {
  assert.equal(memoryKills(reader({})), null);
  assert.equal(memoryKills(reader({ '/proc/self/cgroup': '0::/\n' })), null);
});
