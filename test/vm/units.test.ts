/**
 * The units of systemd, and limits of control groups v2, on the machine that `npm run vm` starts:
 * npm run vm -- 'node --test test/vm/*.test.ts'
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import test, { before } from 'node:test';

const tree = '/opt/monitor';
const program = ['/usr/bin/node', `${tree}/test/vm/tried.ts`];
const node = program.join(' ');
const units = '/etc/systemd/system';
const dropIn = `${units}/monitor-agent.service.d/scripts.conf`;

function systemctl(...words: string[]): string {
  return execFileSync('systemctl', words, { encoding: 'utf8' });
}

/** What a program prints within all that the agent's unit forbids and grants. */
function triedInUnit(command: string): unknown {
  const text = systemctl('cat', 'monitor-agent')
    .replace(/^Type=exec$/m, 'Type=oneshot\nUser=monitor-agent\nStandardOutput=truncate:/run/tried')
    .replace(/^ExecStart=.*$/m, `ExecStart=${command}`)
    .replace(/^TimeoutStartSec=.*$/m, 'TimeoutStartSec=300')
    .replaceAll(/^Restart.*$/gm, '');
  writeFileSync('/run/systemd/system/monitor-agent-tried.service', text);
  systemctl('daemon-reload');
  systemctl('start', 'monitor-agent-tried');
  return JSON.parse(readFileSync('/run/tried', 'utf8'));
}

/** What a program prints as a service with some limits. */
function triedWith(properties: readonly string[], command: readonly string[]): unknown {
  const options = ['--quiet', '--pipe', '--wait', ...properties.flatMap((each) => ['-p', each])];
  return JSON.parse(execFileSync('systemd-run', [...options, ...command], { encoding: 'utf8' }));
}

before(() => {
  mkdirSync(`${units}/monitor-agent.service.d`, { recursive: true });
  cpSync(`${tree}/deploy/systemd/monitor-agent.service`, `${units}/monitor-agent.service`);
  mkdirSync('/etc/monitor-agent', { recursive: true });
  writeFileSync('/etc/monitor-agent/api-key', `pl_${'0'.repeat(64)}\n`, { mode: 0o600 });
  writeFileSync('/etc/monitor-agent/agent.env', 'CONTROL_PLANE_URL=http://127.0.0.1:3000\n');
});

test('the unit lets scripts of API checks run, without the rights of the agent', () => {
  rmSync(dropIn, { force: true });
  assert.deepEqual(triedInUnit(`${node} run ""`), {
    ...{ isolation: 'process-group', reason: 'exit', exitCode: 0, signal: null },
  });
});

test('with the drop-in, runs are kept apart by namespaces', () => {
  cpSync(`${tree}/deploy/systemd/monitor-agent-scripts.conf`, dropIn);
  assert.deepEqual(triedInUnit(`${node} run ""`), {
    ...{ isolation: 'namespaces', reason: 'exit', exitCode: 0, signal: null },
  });
  rmSync(dropIn);
});

test('the unit lets the agent ping, and its state directory be found writable', () => {
  assert.deepEqual(triedInUnit(`${node} ping`), { failure: null });
  const { isStateReadOnly, memory } = triedInUnit(`${node} limits`) as Record<string, unknown>;
  assert.deepEqual({ isStateReadOnly, memory }, { isStateReadOnly: false, memory: 512 * 2 ** 20 });
});

test('limits are found by their names', () => {
  assert.deepEqual(
    triedWith(['MemoryMax=150M', 'CPUQuota=150%', 'TasksMax=60'], [...program, 'limits']),
    {
      ...{ memory: 150 * 2 ** 20, cpu: 1.5, processes: 60, kills: 0, isStateReadOnly: false },
      saidOfCpu: 'the control group may use 1.5 of 2 cores',
    },
  );
});

test('a run that the kernel ends at the memory limit of the agent is an agent error', () => {
  const greedy = 'const all = []; for (;;) all.push(Buffer.alloc(10e6, 1));';
  const properties = ['MemoryMax=250M', 'MemorySwapMax=0', 'OOMPolicy=continue'];
  const end = triedWith(properties, [...program, 'run', greedy]) as Record<string, unknown>;
  assert.deepEqual([end['isolation'], end['reason']], ['user', 'machine-memory']);
});

/** As container engines start what is nobody special. */
const nobody = ['User=nobody', 'NoNewPrivileges=yes', 'CapabilityBoundingSet=', 'PrivateTmp=yes'];

test('an ordinary user without any right pings where ping_group_range is open, as Docker sets it', () => {
  const setting = '/proc/sys/net/ipv4/ping_group_range';
  const before = readFileSync(setting, 'utf8');
  writeFileSync(setting, '0 2147483647');
  try {
    assert.deepEqual(triedWith(nobody, [...program, 'ping']), { failure: null });
  } finally {
    writeFileSync(setting, before);
  }
});

test('an ordinary user has runs apart, unless user namespaces or the calls for them are forbidden', () => {
  const isolationWith = (...more: string[]): unknown => {
    const properties = [...nobody, ...more, 'SystemCallErrorNumber=EPERM'];
    const end = triedWith(properties, [...program, 'run', '']) as Record<string, unknown>;
    return end['isolation'];
  };
  assert.equal(isolationWith(), 'namespaces');
  assert.equal(isolationWith('SystemCallFilter=~@mount unshare setns'), 'process-group');
  const setting = '/proc/sys/kernel/unprivileged_userns_clone';
  writeFileSync(setting, '0');
  try {
    assert.equal(isolationWith(), 'process-group');
  } finally {
    writeFileSync(setting, '1');
  }
});

test('the units forbid what can be forbidden', () => {
  const words = ['security', '--no-pager', 'monitor-agent'];
  const report = execFileSync('systemd-analyze', words, { encoding: 'utf8' });
  assert.ok(Number(/exposure level for \S+: ([\d.]+)/.exec(report)?.[1]) <= 2);
});
