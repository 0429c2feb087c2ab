/** Folders, limits, rights and programs of the machine. */
import { createServer } from 'node:net';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import type { Environment } from './environment.ts';
import { openControlGroup } from './control-group.ts';
import { placed, listening } from './places.ts';

const mebibyte = 1_048_576;
const main = resolve(import.meta.dirname, '../../../../agent/main.ts');

export const machineEnvironments: readonly Environment[] = [
  {
    name: 'nothing is wrong, and the agent is not root',
    needs: 'lab',
    first: null,
    evidence: [],
    fix: [],
    make: async (ground) => {
      const { host } = await placed(ground, 'http://cp.example:3000');
      await host.sysctl('net.ipv4.ping_group_range', '0 2147483647');
      ground.expected.add('packet-capture');
      ground.asNobody();
    },
  },
  {
    name: 'the data directory belongs to somebody else',
    needs: 'root',
    first: { id: 'data-directory', verdict: 'fail' },
    evidence: ['owned by 0:0, mode 700; this is uid 65534'],
    fix: ['chown -R 65534'],
    make: (ground) => {
      ground.asNobody();
      chownSync(`${ground.folder}/data`, 0, 0);
    },
  },
  {
    name: 'the work directory belongs to somebody else',
    needs: 'root',
    isSlow: true,
    first: { id: 'work-directory', verdict: 'fail' },
    evidence: ['/work cannot be written', 'owned by 0:0, mode 700; this is uid 65534'],
    fix: ['chown -R 65534', 'AGENT_WORK_DIR'],
    make: (ground) => {
      ground.asNobody();
      chownSync(`${ground.folder}/work`, 0, 0);
    },
  },
  {
    name: 'the disk of the data directory is full',
    needs: 'root',
    first: { id: 'data-directory', verdict: 'fail' },
    evidence: ['no space is left'],
    fix: ['df -h'],
    make: (ground) => {
      ground.withMounts(
        'mount -t tmpfs -o size=2m tmpfs "$0/data"; head -c 3000000 /dev/zero > "$0/data/full" 2>/dev/null || true',
      );
    },
  },
  {
    name: 'the disk of the data directory has no inode left',
    needs: 'root',
    isSlow: true,
    first: { id: 'data-directory', verdict: 'fail' },
    evidence: ['no inode'],
    fix: ['df -i'],
    make: (ground) => {
      ground.withMounts('mount -t tmpfs -o size=2g,nr_inodes=1 tmpfs "$0/data"');
    },
  },
  {
    name: 'the data directory is in memory',
    needs: 'root',
    isSlow: true,
    first: { id: 'data-directory', verdict: 'warn' },
    evidence: ['is in memory (tmpfs)'],
    fix: ['mount a volume'],
    make: (ground) => {
      ground.withMounts('mount -t tmpfs -o size=4g tmpfs "$0/data"');
    },
  },
  {
    name: 'an agent of another machine uses the data directory',
    needs: 'root',
    isSlow: true,
    first: { id: 'data-directory', verdict: 'fail' },
    evidence: ['is used by an agent on other-machine'],
    fix: ['a folder of its own'],
    make: async (ground) => {
      const words = ['-u', 'sh', '-c', 'hostname other-machine; exec "$@"', 'sh'];
      const other = spawn('unshare', [...words, process.execPath, main, 'start'], {
        env: { ...ground.settings },
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      ground.stack.defer(async () => {
        if (other.exitCode !== null) return;
        other.kill('SIGKILL');
        await once(other, 'exit');
      });
      await ground.controlPlane.until(
        'the other agent checks in',
        () => ground.controlPlane.requestsOf('checkIn').length > 0,
      );
    },
  },
  {
    name: 'a read-only root, with a volume for the work directory alone',
    needs: 'root',
    first: { id: 'data-directory', verdict: 'fail' },
    evidence: ['AGENT_DATA_DIR', 'read-only file system'],
    fix: ['mount a volume'],
    make: (ground) => {
      const work = `${ground.folder}/work`;
      ground.withMounts(`mount -o remount,ro,bind / && mount -t tmpfs -o mode=1777 tmpfs ${work}`);
    },
  },
  {
    name: 'few files may be open',
    needs: 'nothing',
    first: { id: 'descriptors', verdict: 'fail' },
    evidence: ['at most 100 open files'],
    fix: ['ulimit -n'],
    make: (ground) => {
      ground.before.push('prlimit', '--nofile=100:100', '--');
    },
  },
  {
    name: 'few processes may be started',
    needs: 'root',
    first: { id: 'processes', verdict: 'fail' },
    evidence: ['limit of processes of this user is 36'],
    fix: ['ulimit -u'],
    make: (ground) => {
      ground.before.push('prlimit', '--nproc=36:36', '--');
      // The limit counts all processes of the user, and other tests run some as nobody.
      ground.asOwner(54_322);
    },
  },
  {
    name: '/dev/shm is small',
    needs: 'root',
    isSlow: true,
    first: null,
    evidence: [],
    fix: [],
    make: (ground) => {
      ground.withMounts('mount -t tmpfs -o size=64m tmpfs /dev/shm');
    },
  },
  {
    name: '/dev/shm cannot be written',
    needs: 'root',
    isSlow: true,
    first: { id: 'browser', verdict: 'fail' },
    evidence: ['/dev/shm cannot be written'],
    fix: ['chmod 1777 /dev/shm'],
    make: (ground) => {
      ground.withMounts('mount -t tmpfs -o size=1g,mode=755 tmpfs /dev/shm');
      ground.asNobody();
    },
  },
  {
    name: 'no program may be started from the work directory (noexec)',
    needs: 'root',
    first: { id: 'work-directory', verdict: 'fail' },
    evidence: ['mounted with noexec'],
    fix: ['mount it with exec'],
    make: (ground) => {
      ground.withMounts('mount -t tmpfs -o size=4g,noexec tmpfs "$0/work"');
    },
  },
  {
    name: 'the container may use less memory than the agent needs',
    needs: 'root',
    first: { id: 'memory', verdict: 'fail' },
    evidence: ['the control group may use 128 MiB'],
    fix: ['docker --memory'],
    make: (ground) => {
      ground.withMounts(
        'mount -t tmpfs tmpfs /sys/fs/cgroup; mkdir /sys/fs/cgroup/memory; echo 134217728 > /sys/fs/cgroup/memory.max; echo 134217728 > /sys/fs/cgroup/memory/memory.limit_in_bytes',
      );
    },
  },
  {
    name: 'a control group of the kernel lets the agent have less memory than it needs',
    needs: 'root',
    isSlow: true,
    first: { id: 'memory', verdict: 'fail' },
    evidence: ['the control group may use 150 MiB'],
    fix: ['docker --memory'],
    make: (ground) => {
      const group = ground.stack.use(openControlGroup('memory'));
      group.limitMemory(150 * mebibyte);
      ground.before.push(...group.prefix);
    },
  },
  {
    name: 'a control group of the kernel lets few processes exist',
    needs: 'root',
    isSlow: true,
    first: { id: 'processes', verdict: 'fail' },
    evidence: ['pids.max of the control group is 34'],
    fix: ['docker --pids-limit'],
    make: (ground) => {
      const group = ground.stack.use(openControlGroup('pids'));
      group.limitProcesses(34);
      ground.before.push(...group.prefix);
    },
  },
  {
    name: 'a control group of the kernel lets 50 processes exist',
    from: 'W10',
    needs: 'root',
    first: { id: 'processes', verdict: 'warn' },
    evidence: ['pids.max of the control group is 50', '1 run of browsers'],
    fix: ['docker --pids-limit'],
    agent: { log: /checked in/ },
    make: (ground) => {
      const group = ground.stack.use(openControlGroup('pids'));
      group.limitProcesses(50);
      ground.before.push(...group.prefix);
    },
  },
  {
    name: 'a user id without an entry in /etc/passwd, and no HOME',
    needs: 'root',
    isSlow: true,
    first: { id: 'data-directory', verdict: 'fail' },
    evidence: ['cannot be written', 'uid 54321'],
    fix: ['set AGENT_DATA_DIR'],
    make: (ground) => {
      delete ground.settings['AGENT_DATA_DIR'];
      chownSync(`${ground.folder}/work`, 54_321, 54_321);
      ground.asUser(54_321);
    },
  },
  {
    name: 'the package for system calls is damaged',
    needs: 'root',
    isSlow: true,
    first: { id: 'icmp', verdict: 'fail' },
    evidence: ['system calls cannot be made', 'cannot be loaded'],
    fix: ['optional packages'],
    make: (ground) => {
      const native = createRequire(main).resolve(
        `@koromix/koffi-${process.platform}-${process.arch}`,
      );
      ground.withMounts(
        `for at in '${native}' $(command -v ping); do mount --bind "$0/empty" "$(readlink -f "$at")"; done`,
      );
      ground.file('empty', '');
      // The key stays readable in the environment, and more goes without system calls.
      for (const id of ['settings', 'packet-capture', 'traceroute']) ground.expected.add(id);
    },
  },
  {
    name: 'no way to send echo requests',
    needs: 'lab',
    first: { id: 'icmp', verdict: 'fail' },
    evidence: ['ping_group_range', 'no CAP_NET_RAW'],
    fix: ['net.ipv4.ping_group_range'],
    make: async (ground) => {
      const { host } = await placed(ground, 'http://cp.example:3000');
      await host.sysctl('net.ipv4.ping_group_range', '1 0');
      ground.asNobody('--bounding-set=-net_raw', '--inh-caps=-net_raw');
    },
  },
  {
    name: 'ping carries a file capability that the agent is not allowed to have',
    needs: 'lab',
    packages: { ping: 'iputils-ping', setcap: 'libcap2-bin' },
    isSlow: true,
    first: { id: 'icmp', verdict: 'fail' },
    evidence: ['ping program: may not be executed', 'cap_net_raw'],
    fix: ['setcap -r "$(command -v ping)"'],
    make: async (ground) => {
      const { host } = await placed(ground, 'http://cp.example:3000');
      await host.sysctl('net.ipv4.ping_group_range', '1 0');
      ground.withMounts(
        'at="$(readlink -f "$(command -v ping)")"; cp "$at" "$0/ping"; setcap cap_net_raw=ep "$0/ping"; mount --bind "$0/ping" "$at"',
      );
      ground.asNobody('--bounding-set=-net_raw', '--inh-caps=-net_raw');
    },
  },
  {
    name: 'a seccomp filter forbids sockets of ICMP',
    from: 'W6',
    needs: 'root',
    packages: { bwrap: 'bubblewrap' },
    isSlow: true,
    first: { id: 'icmp', verdict: 'fail' },
    evidence: ['allowed', 'but a seccomp filter is set, and forbids it'],
    fix: ['seccomp profile'],
    make: (ground) => {
      const socket = process.arch === 'arm64' ? 198 : 41;
      const [load, ifEqual, end] = [0x20, 0x15, 0x06];
      const [protocolAt, icmp, eperm, allow] = [32, 1, 0x0005_0001, 0x7fff_0000];
      const filter: readonly (readonly [code: number, yes: number, no: number, value: number])[] = [
        [load, 0, 0, 0],
        [ifEqual, 0, 3, socket],
        [load, 0, 0, protocolAt],
        [ifEqual, 0, 1, icmp],
        [end, 0, 0, eperm],
        [end, 0, 0, allow],
      ];
      const bytes = Buffer.alloc(filter.length * 8);
      for (const [index, [code, yes, no, value]] of filter.entries()) {
        bytes.writeUInt16LE(code, index * 8);
        bytes.writeUInt8(yes, index * 8 + 2);
        bytes.writeUInt8(no, index * 8 + 3);
        bytes.writeUInt32LE(value, index * 8 + 4);
      }
      writeFileSync(`${ground.folder}/filter`, bytes);
      const inFilter = 'exec bwrap --dev-bind / / --seccomp 9 -- "$@" 9<"$0/filter"';
      ground.before.push('sh', '-c', inFilter, ground.folder);
    },
  },
  {
    name: 'packets may not be captured',
    needs: 'lab',
    isSlow: true,
    first: { id: 'packet-capture', verdict: 'warn' },
    evidence: ['CAP_NET_RAW'],
    fix: ['PACKET_CAPTURE=off'],
    make: async (ground) => {
      const { host } = await placed(ground, 'http://cp.example:3000');
      await host.sysctl('net.ipv4.ping_group_range', '0 2147483647');
      ground.asNobody();
    },
  },
  {
    name: 'the browser that is set is not there',
    needs: 'nothing',
    isSlow: true,
    first: { id: 'browser', verdict: 'fail' },
    evidence: ['/opt/chromium/chrome is not there'],
    fix: ['AGENT_CHROMIUM_PATH'],
    agent: {
      log: /no browser/,
      status: /degraded": \[\s*"[^"]*\/opt\/chromium\/chrome is not there/,
    },
    make: ({ settings }) => {
      settings['AGENT_CHROMIUM_PATH'] = '/opt/chromium/chrome';
    },
  },
  {
    name: 'the browser lacks a library',
    from: 'W7',
    needs: 'nothing',
    first: { id: 'browser', verdict: 'fail' },
    evidence: ['libnss3.so'],
    fix: ['apt-get install libnss3'],
    agent: {
      log: /libnss3\.so.*no browser/,
      status: /degraded": \[\s*"[^"]* it lacks libnss3\.so/,
    },
    make: (ground) => {
      ground.settings['AGENT_CHROMIUM_PATH'] = ground.program(
        'chrome',
        '#!/bin/sh\necho "chrome: error while loading shared libraries: libnss3.so: cannot open shared object file: No such file or directory" >&2\nexit 127\n',
      );
    },
  },
  {
    name: 'half of a runtime is there',
    from: 'W9',
    needs: 'nothing',
    first: { id: 'runtimes', verdict: 'warn' },
    evidence: ['2026.04', 'was never tested, or changed since'],
    fix: ['monitor-agent runtime verify 2026.04'],
    agent: { log: /does not load node/, status: /degraded": \[\s*"2026\.04 does not load / },
    make: (ground) => {
      // Its browser only looks sound, and all steps are run here.
      delete ground.settings['AGENT_CHROMIUM_PATH'];
      for (const step of ['browser', 'fonts', 'scripts']) ground.expected.add(step);
      const folder = `${ground.folder}/runtimes/2026.04`;
      mkdirSync(folder, { recursive: true });
      const dependencies = { playwright: '1.59.0', zod: '4.0.0' };
      ground.file('runtimes/2026.04/package.json', JSON.stringify({ dependencies }));
      ground.settings['AGENT_RUNTIMES_DIR'] = `${ground.folder}/runtimes`;
    },
  },
  {
    name: 'the browser crashes when it starts',
    needs: 'nothing',
    isSlow: true,
    first: { id: 'browser', verdict: 'fail' },
    evidence: ['cannot create GPU thread'],
    fix: ['start it by hand'],
    make: (ground) => {
      ground.settings['AGENT_CHROMIUM_PATH'] = ground.program(
        'chrome',
        '#!/bin/sh\ncase "$*" in *--version*) echo "Chromium 150.0.0.0"; exit ;; esac\necho "FATAL: cannot create GPU thread" >&2\nkill -SEGV $$\n',
      );
    },
  },
  {
    name: 'another program has the health port',
    needs: 'nothing',
    first: { id: 'health-port', verdict: 'fail' },
    evidence: ['is held by'],
    fix: ['AGENT_HEALTH_PORT'],
    make: async (ground) => {
      const url = ground.settings['CONTROL_PLANE_URL'] ?? '';
      const port = await listening(ground, createServer());
      ground.settings['CONTROL_PLANE_URL'] = url;
      ground.settings['AGENT_HEALTH_HOST'] = '127.0.0.1';
      ground.settings['AGENT_HEALTH_PORT'] = String(port);
    },
  },
];
