import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import test from 'node:test';
import { openMachine } from '../../../agent/doctor/machine.ts';
import { machineFacts } from '../../../agent/support-bundle/machine-facts.ts';
import { temporaryFolder } from '../../support/system.ts';

test('limits are those of the own control group and of the groups above it', () => {
  using temporary = temporaryFolder();
  const folder = temporary.path;
  for (const [path, text] of Object.entries({
    '/proc/self/cgroup': '0::/system.slice/monitor-agent.service\n',
    '/sys/fs/cgroup/system.slice/monitor-agent.service/memory.max': '536870912\n',
    '/sys/fs/cgroup/system.slice/memory.max': 'max\n',
    '/sys/fs/cgroup/system.slice/monitor-agent.service/pids.max': '512\n',
  })) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const text = machineFacts(openMachine(folder)).find(
    ({ file }) => file === 'machine/cgroup.txt',
  )?.text;
  assert.equal(
    text,
    [
      '# /proc/self/cgroup\n0::/system.slice/monitor-agent.service\n',
      '# /sys/fs/cgroup/system.slice/monitor-agent.service/memory.max\n536870912\n',
      '# /sys/fs/cgroup/system.slice/memory.max\nmax\n',
      '# /sys/fs/cgroup/system.slice/monitor-agent.service/pids.max\n512\n',
    ].join('\n'),
  );
});
