/** What the steps that look at the machine make of what they see: tables. */
import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import test from 'node:test';
import { missingLibraries, packagesFor } from '../../../../agent/doctor/browser-libraries.ts';
import { cpuLimit, memoryLimit, processLimit } from '../../../../agent/doctor/cgroup.ts';
import type { Finding } from '../../../../agent/doctor/finding.ts';
import { hasCapability, limitOf, netRaw } from '../../../../agent/doctor/limits.ts';
import { openMachine, type Ended } from '../../../../agent/doctor/machine.ts';
import { mountBelow, mountOf, parseMounts } from '../../../../agent/doctor/mounts.ts';
import { judgeMissing, judgeStart } from '../../../../agent/doctor/steps/browser.ts';
import {
  judgeData,
  lockHolder,
  type DataFacts,
} from '../../../../agent/doctor/steps/data-directory.ts';
import { fontFiles, judgeFonts } from '../../../../agent/doctor/steps/fonts.ts';
import { processState } from '../../../../agent/doctor/process-state.ts';
import {
  judgePort,
  listeningInodes,
  type PortFacts,
} from '../../../../agent/doctor/steps/health-port.ts';
import { judgeIcmp, parseRange, type IcmpFacts } from '../../../../agent/doctor/steps/icmp.ts';
import { hasIpv6Way, judgeIpv6 } from '../../../../agent/doctor/steps/ipv6.ts';
import {
  coresOf,
  judgeCpu,
  judgeDescriptors,
  judgeMemory,
  judgeProcesses,
} from '../../../../agent/doctor/steps/limits.ts';
import { judgeCapture } from '../../../../agent/doctor/steps/packet-capture.ts';
import { judgeWork } from '../../../../agent/doctor/steps/work-directory.ts';
import { temporaryFolder } from '../../../support/system.ts';
import { assertSays } from '../../../support/doctor-findings.ts';

const mebibyte = 1_048_576;

/** A machine of files. */
function machineWith(folder: string, files: Record<string, string>) {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return openMachine(folder);
}

const problem = (code: string) => ({ problem: { code, message: code } });

const processes = (state: string) =>
  processState({ ...openMachine(), read: () => `7 (a) b) ${state} 1 7` }, 7);
const [stopped, busy] = [processes('T'), processes('S')];

test('the data directory: each way it can fail has its own cause and fix', () => {
  const sound: DataFacts = {
    path: '/data',
    problem: null,
    owner: { folder: '/data', uid: 0, gid: 0, mode: 0o755 },
    uid: 1001,
    fileSystem: { totalBytes: 1e12, freeBytes: 1e11, inodes: 1e6, freeInodes: 1e5 },
    ...{ fileSystemType: 'ext4', wantedBytes: 1e9, heldBy: { kind: 'nobody' } },
  };
  const rows: [Partial<DataFacts>, string, RegExp][] = [
    [{}, 'ok', /\/data can be written, 93\.1 GiB free/],
    [problem('EACCES'), 'fail', /owned by 0:0, mode 755; this is uid 1001.*chown -R 1001/],
    [problem('ENOSPC'), 'fail', /no space is left.*df -h/],
    [problem('EDQUOT'), 'fail', /quota of uid 1001/],
    [problem('ENOTDIR'), 'fail', /below, a file/],
    [problem('EROFS'), 'fail', /mount a volume/],
    [problem('EIO'), 'fail', /cannot be written: EIO/],
    [
      { fileSystem: { totalBytes: 1e9, freeBytes: 0, inodes: 0, freeInodes: 0 } },
      'fail',
      /0 bytes free/,
    ],
    [
      { fileSystem: { totalBytes: 1e9, freeBytes: 5e8, inodes: 0, freeInodes: 0 } },
      'warn',
      /an outage may need 953 MiB.*OUTBOX_MAX_BYTES/,
    ],
    [
      { fileSystem: { totalBytes: 1e12, freeBytes: 1e11, inodes: 100, freeInodes: 3 } },
      'fail',
      /3 inodes left.*df -i/,
    ],
    [{ fileSystemType: 'tmpfs' }, 'warn', /in memory \(tmpfs\)/],
    [{ fileSystemType: 'nfs4' }, 'warn', /on a network \(nfs4\), where SQLite/],
    [{ heldBy: { kind: 'agent-here', pid: 7 } }, 'ok', /in use by the agent \(process 7\)/],
    [
      { heldBy: { kind: 'agent-on-another-machine', hostname: 'pod-1' } },
      'fail',
      /an agent on pod-1.*AGENT_DATA_DIR/,
    ],
    [
      { heldBy: { kind: 'silent', pid: 7, state: busy } },
      'warn',
      /process 7, which does not answer/,
    ],
    [{ heldBy: { kind: 'silent', pid: 7, state: stopped } }, 'fail', /it is stopped.*kill -CONT 7/],
  ];
  for (const [facts, verdict, words] of rows)
    assertSays(judgeData({ ...sound, ...facts }), verdict, words);
  const both = judgeData({ ...sound, ...problem('EACCES'), fileSystemType: 'tmpfs' });
  assert.deepEqual(
    both.map(({ verdict }) => verdict),
    ['fail', 'warn'],
  );
});

test('a lock on the outbox tells whose it is', () => {
  const locks =
    '1: POSIX  ADVISORY  READ 11 08:01:77 128 128\n2: POSIX  ADVISORY  WRITE 4711 08:01:77 0 EOF\n';
  assert.equal(lockHolder(locks, 77), 4711);
  assert.equal(lockHolder(locks, 78), null);
});

test('the work directory: not writable, noexec, full', () => {
  const sound = {
    path: '/work',
    distrust: null,
    owner: { folder: '/work', uid: 0, gid: 0, mode: 0o755 },
    ...{ uid: 1001, problem: null, isNoExec: false, point: '/', freeBytes: 1e10 },
    wantedBytes: 1e9,
  };
  assertSays(judgeWork(sound), 'ok', /can be written, 9/);
  assertSays(
    judgeWork({ ...sound, ...problem('EACCES') }),
    'fail',
    /owned by 0:0, mode 755; this is uid 1001.*chown -R 1001.*AGENT_WORK_DIR.*only checks with/,
  );
  assertSays(judgeWork({ ...sound, ...problem('EROFS') }), 'fail', /mount a tmpfs/);
  assertSays(
    judgeWork({ ...sound, distrust: 'it belongs to the user with the id 7; this is 0' }),
    'fail',
    /\/work cannot be used: it belongs to .* -> remove it.*AGENT_WORK_DIR/,
  );
  assertSays(
    judgeWork({ ...sound, isNoExec: true, point: '/tmp' }),
    'fail',
    /\/tmp.*noexec.*--tmpfs \/tmp:exec/,
  );
  assertSays(judgeWork({ ...sound, freeBytes: 1e6 }), 'warn', /SCRIPT_DISK_MB/);
});

test('limits are held against what the settings ask for', () => {
  const rows: [Finding[], string, RegExp][] = [
    [judgeDescriptors(null, 256, 10), 'ok', /no limit/],
    [judgeDescriptors(1_048_576, 256, 10), 'ok', /1096 may be needed/],
    [judgeDescriptors(512, 256, 2), 'warn', /968 or more.*UPTIME_CONCURRENCY=28/],
    [judgeDescriptors(64, 256, 2), 'fail', /at most 64 open files/],
    [judgeProcesses({ group: null, user: null, heavy: 2 }), 'ok', /no limit/],
    [
      judgeProcesses({ group: { limit: 1000, left: 900 }, user: null, heavy: 2 }),
      'ok',
      /pids\.max/,
    ],
    [
      judgeProcesses({ group: { limit: 300, left: 250 }, user: null, heavy: 2 }),
      'warn',
      /JOB_CONCURRENCY=1/,
    ],
    [
      judgeProcesses({ group: null, user: { limit: 20, left: -3 }, heavy: 2 }),
      'fail',
      /this user is 20, 0 of it are left.*ulimit -u/,
    ],
    [judgeMemory({ limit: null, total: null, heavy: 2, runBytes: 1e9 }), 'ok', /not known/],
    [
      judgeMemory({ limit: 100 * mebibyte, total: 8e9, heavy: 1, runBytes: 1e9 }),
      'fail',
      /control group may use 100 MiB/,
    ],
    [
      judgeMemory({ limit: 2e9, total: 8e9, heavy: 4, runBytes: 3e9 }),
      'warn',
      /set JOB_CONCURRENCY=1/,
    ],
    [judgeMemory({ limit: 2e9, total: 8e9, heavy: 1, runBytes: 3e9 }), 'warn', /SCRIPT_MEMORY_MB=/],
    [
      judgeMemory({ limit: null, total: 8e9, heavy: 2, runBytes: 1e9 }),
      'ok',
      /this machine has 7\.5 GiB/,
    ],
    [judgeCpu(0.1, 8, 1), 'warn', /0\.1 of 8 cores/],
    [judgeCpu(1, 8, 4), 'warn', /JOB_CONCURRENCY=2/],
    [judgeCpu(null, 8, 4), 'ok', /8 cores/],
  ];
  for (const [findings, verdict, words] of rows) assertSays(findings, verdict, words);
});

test('control groups of both versions are read, in and outside of containers', () => {
  using folder = temporaryFolder();
  const unified = machineWith(join(folder.path, 'v2'), {
    '/proc/self/cgroup': '0::/kubepods/pod1/agent\n',
    '/sys/fs/cgroup/kubepods/pod1/memory.max': '536870912\n',
    '/sys/fs/cgroup/kubepods/pod1/agent/memory.max': 'max\n',
    '/sys/fs/cgroup/kubepods/pod1/agent/cpu.max': '50000 100000\n',
    '/sys/fs/cgroup/kubepods/pod1/agent/pids.max': '100\n',
    '/sys/fs/cgroup/kubepods/pod1/agent/pids.current': '60\n',
  });
  assert.equal(memoryLimit(unified), 536_870_912);
  assert.equal(cpuLimit(unified), 0.5);
  assert.deepEqual(processLimit(unified), { limit: 100, left: 40 });
  const old = machineWith(join(folder.path, 'v1'), {
    '/proc/self/cgroup': '8:memory:/docker/abc\n4:cpu,cpuacct:/docker/abc\n1:pids:/docker/abc\n',
    // In the container its own group is mounted as the root.
    '/sys/fs/cgroup/memory/memory.limit_in_bytes': '268435456\n',
    '/sys/fs/cgroup/cpu/cpu.cfs_quota_us': '-1\n',
    '/sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000\n',
  });
  assert.equal(memoryLimit(old), 268_435_456);
  assert.equal(cpuLimit(old), null);
  assert.equal(processLimit(old), null);
});

test('limits and rights of the process are read', () => {
  using folder = temporaryFolder();
  const machine = machineWith(folder.path, {
    '/proc/self/limits':
      'Limit                     Soft Limit           Hard Limit           Units     \n' +
      'Max processes             unlimited            unlimited            processes \n' +
      'Max open files            1024                 4096                 files     \n',
    '/proc/self/status': 'Name:\tnode\nCapEff:\t0000000000002000\nCapBnd:\t0000000000000000\n',
  });
  assert.equal(limitOf(machine, 'Max open files'), 1_024);
  assert.equal(limitOf(machine, 'Max processes'), null);
  assert.equal(hasCapability(machine, 'CapEff', netRaw), true);
  assert.equal(hasCapability(machine, 'CapBnd', netRaw), false);
  assert.equal(hasCapability(machine, 'CapAmb', netRaw), null);
});

test('a path lies on the innermost mount, whatever its name', () => {
  const mounts = parseMounts(
    '22 1 0:21 / / ro,relatime - overlay overlay ro,lowerdir=/x\n' +
      '23 22 0:22 / /my\\040data rw,noexec - tmpfs tmpfs rw,size=1k\n' +
      '24 22 0:23 / /my rw - ext4 /dev/sda rw\n',
  );
  assert.equal(mountOf(mounts, '/my data/agent')?.type, 'tmpfs');
  assert.equal(mountOf(mounts, '/my/agent')?.type, 'ext4');
  assert.equal(mountOf(mounts, '/myself')?.type, 'overlay');
});

test('cores are those the process may be put on, whatever its control group may use of them', () => {
  using folder = temporaryFolder();
  const machine = machineWith(folder.path, {
    '/proc/self/status': 'Name:\tnode\nCpus_allowed:\t17\nCpus_allowed_list:\t0-2,4\n',
    '/proc/self/cgroup': '0::/system.slice/monitor-agent.service\n',
    '/sys/fs/cgroup/system.slice/monitor-agent.service/cpu.max': '150000 100000\n',
  });
  assert.equal(coresOf(machine), 4);
  assertSays(
    judgeCpu(cpuLimit(machine), coresOf(machine), 4),
    'warn',
    /control group may use 1\.5 of 4 cores.*CPUQuota/,
  );
});

test('a folder that is reached by a link lies where the link leads, as a StateDirectory of systemd', () => {
  using folder = temporaryFolder();
  const machine = machineWith(folder.path, {
    '/proc/self/mountinfo':
      '22 1 0:21 / / ro,relatime - ext4 /dev/sda rw\n' +
      '23 22 0:21 / /var/lib/private/monitor-agent rw - ext4 /dev/sda rw\n',
    '/var/lib/private/monitor-agent/outbox.db': '',
  });
  symlinkSync('private/monitor-agent', machine.at('/var/lib/monitor-agent'));
  assert.equal(
    mountBelow(machine, '/var/lib/monitor-agent/runs')?.point,
    '/var/lib/private/monitor-agent',
  );
  assert.equal(mountBelow(machine, '/var/lib/other')?.point, '/');
});

test('icmp: the way it goes, and for each closed way why', () => {
  const closed: IcmpFacts = {
    ...{ way: null, echo: { v4: null, v6: null }, range: { from: 1, to: 0 }, groups: [1001] },
    ...{ hasNetRaw: false, callProblem: null, hasSeccompFilter: false, problem: null },
    ping: 'missing',
  };
  const rows: [Partial<IcmpFacts>, string, RegExp][] = [
    [
      {},
      'fail',
      /"1 0" has none of the groups 1001.*no CAP_NET_RAW.*not installed.*ping_group_range to "0 2147483647"/,
    ],
    [{ hasSeccompFilter: true }, 'fail', /^(?!.*seccomp)/],
    [
      { hasSeccompFilter: true, hasNetRaw: true },
      'fail',
      /raw socket: allowed \(CAP_NET_RAW\), but a seccomp filter.*let the seccomp profile allow/,
    ],
    [
      { hasSeccompFilter: true, hasNetRaw: true, way: 'raw', echo: { v4: true, v6: null } },
      'ok',
      /^(?!.*seccomp)/,
    ],
    [{ ping: 'forbidden' }, 'fail', /file capability.*setcap -r/],
    [{ way: 'ping', ping: 'forbidden' }, 'fail', /may not be executed/],
    [
      { callProblem: 'the package is missing', hasNetRaw: true },
      'fail',
      /raw socket: allowed.*, but the package is missing.*optional packages/,
    ],
    [
      { way: 'ping', ping: 'works', echo: { v4: true, v6: null } },
      'warn',
      /at the cost of a process each/,
    ],
    [
      { way: 'datagram', range: { from: 0, to: 2147483647 }, echo: { v4: true, v6: true } },
      'ok',
      /unprivileged ICMP socket.*IPv6 too/,
    ],
    [
      { way: 'raw', hasNetRaw: true, echo: { v4: false, v6: false } },
      'fail',
      /not even this machine answers/,
    ],
    [
      { way: 'raw', problem: 'the helper did not answer', echo: { v4: false, v6: false } },
      'fail',
      /cannot be sent now: the helper did not answer/,
    ],
  ];
  for (const [facts, verdict, words] of rows)
    assertSays(judgeIcmp({ ...closed, ...facts }), verdict, words);
  assert.deepEqual(parseRange('0\t2147483647\n'), { from: 0, to: 2_147_483_647 });
  assert.equal(parseRange(null), null);
});

test('packet capture says which right is missing, and how to give it', () => {
  const facts = { isWanted: true, problem: 'no CAP_NET_RAW', mayHaveNetRaw: false };
  assertSays(judgeCapture(facts), 'warn', /--cap-add NET_RAW/);
  assertSays(judgeCapture({ ...facts, mayHaveNetRaw: true }), 'warn', /AmbientCapabilities/);
  const noPackage = 'the package koffi cannot be loaded; install the agent again';
  assertSays(judgeCapture({ ...facts, problem: noPackage }), 'warn', /again -> see the reason/);
  assertSays(judgeCapture({ ...facts, isWanted: false }), 'ok', /PACKET_CAPTURE=off/);
  assertSays(judgeCapture({ ...facts, problem: null }), 'ok', /kept as evidence/);
});

test('ipv6: none, switched off, half there', () => {
  const sound = { isBuiltIn: true, switchedOffBy: [], addresses: 1, hasWay: true };
  assertSays(judgeIpv6(sound), 'ok', /a way out/);
  assertSays(judgeIpv6({ ...sound, hasWay: false }), 'warn', /no route out/);
  assertSays(judgeIpv6({ ...sound, addresses: 0, hasWay: false }), 'ok', /no IPv6 address/);
  const off = ['net.ipv6.conf.all.disable_ipv6'];
  assertSays(judgeIpv6({ ...sound, addresses: 0, switchedOffBy: off }), 'warn', /disable_ipv6=1/);
  assertSays(judgeIpv6({ ...sound, isBuiltIn: false }), 'warn', /ipv6\.disable=1/);
});

test('an IPv6 route is a way out only where it leads beyond this network', () => {
  using folder = temporaryFolder();
  const none = '0'.repeat(32);
  const line = (target: string, length: string, gateway: string, flags: string, device: string) =>
    `${target} ${length} ${none} 00 ${gateway} 00000100 00000001 00000000 ${flags} ${device}\n`;
  const local = line(`fd01${'0'.repeat(28)}`, '40', none, '00000001', 'eth0');
  const cases: [string, boolean][] = [
    [local, false],
    [local + line(none, '00', none, '00200200', 'lo'), false],
    [line(none, '00', none, '00000201', 'eth0'), false],
    [local + line(none, '00', `fe80${'0'.repeat(27)}1`, '00000003', 'eth0'), true],
    [line(`20${'0'.repeat(30)}`, '03', `fe80${'0'.repeat(27)}1`, '00000003', 'eth0'), true],
  ];
  for (const [text, hasWay] of cases) {
    const machine = machineWith(folder.path, { '/proc/net/ipv6_route': text });
    assert.equal(hasIpv6Way(machine), hasWay, text);
  }
});

test('a program that cannot even be started is an answer, not an error', async () => {
  const machine = openMachine();
  const missing = await machine.run('/nonexistent/program', [], { timeoutMs: 1_000 });
  assert.deepEqual([missing.problem, missing.exitCode], ['ENOENT', null]);
  // Thrown at once by Node, as EPERM is for a file capability that is not allowed.
  const thrown = await machine.run('with\0zero', [], { timeoutMs: 1_000 });
  assert.equal(thrown.problem, 'ERR_INVALID_ARG_VALUE');
  const slow = await machine.run(process.execPath, ['-e', 'setInterval(() => 0, 9)'], {
    timeoutMs: 200,
  });
  assert.equal(slow.isTimeout, true);
});

test('the health port: free, held by this agent, taken, forbidden, of another machine', () => {
  const facts: PortFacts = {
    ...{ host: '::', port: 8081, code: null, isOwnPort: false, holder: null, unanswered: null },
  };
  const own = { code: 'EADDRINUSE', holder: 'node (process 7)' };
  const why = 'the agent of /data, which does not answer';
  const rows: [Partial<PortFacts>, string, RegExp][] = [
    [
      { ...own, unanswered: { why, fix: stopped.fix, isSure: true } },
      'fail',
      /the agent of .*-CONT/,
    ],
    [{ ...own, unanswered: { why, fix: busy.fix, isSure: false } }, 'warn', /the agent of \/data/],
    [{}, 'ok', /port 8081 on all interfaces is free/],
    [{ isOwnPort: true }, 'ok', /the agent that runs here/],
    [{ port: 0 }, 'ok', /free port is taken/],
    [{ port: 0, code: 'EADDRNOTAVAIL' }, 'fail', /AGENT_HEALTH_HOST/],
    [
      { code: 'EADDRINUSE', holder: 'nginx (process 17)' },
      'fail',
      /nginx \(process 17\).*or 0 for any/,
    ],
    [{ code: 'EADDRINUSE' }, 'fail', /ss -ltnp/],
    [{ code: 'EACCES' }, 'fail', /below 1024/],
    [{ code: 'EADDRNOTAVAIL' }, 'fail', /AGENT_HEALTH_HOST/],
  ];
  for (const [more, verdict, words] of rows)
    assertSays(judgePort({ ...facts, ...more }), verdict, words);
  const table =
    '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n' +
    '   0: 00000000:1F91 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4242 1\n' +
    '   1: 0100007F:1F91 0100007F:C000 01 00000000:00000000 00:00000000 00000000     0        0 4243 1\n';
  assert.deepEqual(listeningInodes(table, 8081), ['4242']);
});

test('a browser that does not start says what it lacks', () => {
  const found = { executablePath: '/usr/bin/chromium', version: '1.2', args: ['--no-sandbox'] };
  const ended = { exitCode: 0, stdout: '', stderr: '', problem: null, isTimeout: false };
  const rows: [Partial<Ended>, string, RegExp][] = [
    [{ stdout: '<html><head></head><body></body></html>' }, 'ok', /starts without its own sandbox/],
    [
      {
        exitCode: 127,
        stderr:
          'chromium: error while loading shared libraries: libnss3.so: cannot open shared object file',
      },
      'fail',
      /lacks libnss3\.so.*apt-get install libnss3/,
    ],
    [{ exitCode: 1, stderr: 'FATAL: No usable sandbox!' }, 'fail', /allow user namespaces/],
    [{ exitCode: null, isTimeout: true }, 'fail', /no empty page within/],
    [
      { exitCode: 133, stderr: 'Failed to create /dev/shm/x: No space left' },
      'fail',
      /shared memory/,
    ],
    [{ exitCode: 1, stderr: 'x\nERROR: cannot do it' }, 'fail', /exit code 1.*cannot do it/],
  ];
  for (const [more, verdict, words] of rows) {
    assertSays(judgeStart(found, { ...ended, ...more }), verdict, words);
  }
  const message =
    'no browser was found. Tried:\n  the system: none\nInstall chromium-headless-shell.';
  assertSays(judgeMissing(false, message, null), 'warn', /Install chromium-headless-shell/);
  assertSays(judgeMissing(true, message, null), 'fail', /no browser was found/);
  const listed =
    '\tlibnss3.so => not found\n\tlibc.so.6 => /lib/libc.so.6 (0x0)\n\tlibnovel.so.1 => not found\n';
  assert.deepEqual(missingLibraries(listed), ['libnss3.so', 'libnovel.so.1']);
  assert.match(
    packagesFor(missingLibraries(listed)),
    /apt-get install libnss3; install what holds libnovel/,
  );
});

test('fonts are found below the usual folders', () => {
  using folder = temporaryFolder();
  assertSays(judgeFonts([]), 'warn', /no font.*fonts-liberation/);
  const machine = machineWith(folder.path, {
    '/usr/share/fonts/truetype/noto/NotoColorEmoji.ttf': '',
    '/usr/share/fonts/README': '',
  });
  assertSays(judgeFonts(fontFiles(machine)), 'ok', /1 font files; none for Chinese/);
});
