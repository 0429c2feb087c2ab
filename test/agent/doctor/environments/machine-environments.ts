/** Folders, limits, rights and programs of the machine. */
import { createServer } from 'node:net';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { anywhere, asRoot, inLab, slow, type Ground, type Making } from './environment.ts';
import { openControlGroup, type ControlGroup } from './control-group.ts';
import { placed, listening } from './places.ts';

const mebibyte = 1_048_576;
const main = resolve(import.meta.dirname, '../../../../agent/main.ts');

const mounted = (script: string, make: (ground: Ground) => void = () => undefined): Making =>
  asRoot((ground) => {
    ground.withMounts(script);
    make(ground);
  });

/** The agent is nobody, and a folder of it is not its own. */
const ofSomebodyElse = (folder: 'data' | 'work'): Making =>
  asRoot((ground) => {
    ground.asNobody();
    chownSync(`${ground.folder}/${folder}`, 0, 0);
  });

const inGroup = (
  controller: Parameters<typeof openControlGroup>[0],
  limit: (group: ControlGroup) => void,
  more: Pick<Making, 'from' | 'agent'> = {},
): Making =>
  asRoot((ground) => {
    const group = ground.stack.use(openControlGroup(controller));
    limit(group);
    ground.before.push(...group.prefix);
  }, more);

/** In a host of its own, whose users may send echo requests or not. */
const pinging = (range: string, then: (ground: Ground) => void): Making['make'] =>
  async function make(ground) {
    const { host } = await placed(ground, 'http://cp.example:3000');
    await host.sysctl('net.ipv4.ping_group_range', range);
    then(ground);
  };
const everybody = '0 2147483647';
const nobody = '1 0';
const withoutRaw = ['--bounding-set=-net_raw', '--inh-caps=-net_raw'];

const withBrowser = (script: string, more: Pick<Making, 'from' | 'agent'> = {}): Making =>
  anywhere((ground) => {
    ground.settings['AGENT_CHROMIUM_PATH'] = ground.program('chrome', `#!/bin/sh\n${script}\n`);
  }, more);

/** The bytes of a filter that answers EPERM to each socket for ICMP. */
function filterOfIcmp(): Buffer {
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
  return bytes;
}

export const machineEnvironments: Readonly<Record<string, Making>> = {
  'nothing is wrong, and the agent is not root': inLab(
    pinging(everybody, (ground) => {
      ground.expected.add('packet-capture');
      ground.asNobody();
    }),
  ),
  'the data directory belongs to somebody else': slow(ofSomebodyElse('data')),
  'the work directory belongs to somebody else': slow(ofSomebodyElse('work')),
  'the disk of the data directory is full': mounted(
    'mount -t tmpfs -o size=2m tmpfs "$0/data"; head -c 3000000 /dev/zero > "$0/data/full" 2>/dev/null || true',
  ),
  'the disk of the data directory has no inode left': slow(
    mounted('mount -t tmpfs -o size=2g,nr_inodes=1 tmpfs "$0/data"'),
  ),
  'the data directory is in memory': slow(mounted('mount -t tmpfs -o size=4g tmpfs "$0/data"')),
  'an agent of another machine uses the data directory': slow(
    asRoot(async (ground) => {
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
    }),
  ),
  'a read-only root, with a volume for the work directory alone': slow(
    mounted('mount -o remount,ro,bind / && mount -t tmpfs -o mode=1777 tmpfs "$0/work"'),
  ),
  'few files may be open': anywhere((ground) => {
    ground.before.push('prlimit', '--nofile=100:100', '--');
  }),
  'few processes may be started': asRoot((ground) => {
    ground.before.push('prlimit', '--nproc=36:36', '--');
    // The limit counts all processes of the user, and other tests run some as nobody.
    ground.asOwner(54_322);
  }),
  '/dev/shm is small': slow(mounted('mount -t tmpfs -o size=64m tmpfs /dev/shm')),
  '/dev/shm cannot be written': slow(
    mounted('mount -t tmpfs -o size=1g,mode=755 tmpfs /dev/shm', (ground) => {
      ground.asNobody();
    }),
  ),
  'no program may be started from the work directory (noexec)': mounted(
    'mount -t tmpfs -o size=4g,noexec tmpfs "$0/work"',
  ),
  'the container may use less memory than the agent needs': mounted(
    'mount -t tmpfs tmpfs /sys/fs/cgroup; mkdir /sys/fs/cgroup/memory; echo 134217728 > /sys/fs/cgroup/memory.max; echo 134217728 > /sys/fs/cgroup/memory/memory.limit_in_bytes',
  ),
  'a control group of the kernel lets the agent have less memory than it needs': slow(
    inGroup('memory', (group) => {
      group.limitMemory(150 * mebibyte);
    }),
  ),
  'a control group of the kernel lets few processes exist': slow(
    inGroup('pids', (group) => {
      group.limitProcesses(34);
    }),
  ),
  'a control group of the kernel lets 50 processes exist': slow(
    inGroup(
      'pids',
      (group) => {
        group.limitProcesses(50);
      },
      { from: 'W10', agent: { log: /checked in/ } },
    ),
  ),
  'a user id without an entry in /etc/passwd, and no HOME': slow(
    asRoot((ground) => {
      delete ground.settings['AGENT_DATA_DIR'];
      chownSync(`${ground.folder}/work`, 54_321, 54_321);
      ground.asUser(54_321);
    }),
  ),
  'the package for system calls is damaged': slow(
    asRoot((ground) => {
      const { platform, arch } = process;
      const native = createRequire(main).resolve(`@koromix/koffi-${platform}-${arch}`);
      ground.withMounts(
        `for at in '${native}' $(command -v ping); do mount --bind "$0/empty" "$(readlink -f "$at")"; done`,
      );
      ground.file('empty', '');
      // The key stays readable in the environment, and more goes without system calls.
      for (const id of ['settings', 'packet-capture', 'traceroute']) ground.expected.add(id);
    }),
  ),
  'no way to send echo requests': inLab(
    pinging(nobody, (ground) => {
      ground.asNobody(...withoutRaw);
    }),
  ),
  'ping carries a file capability that the agent is not allowed to have': slow(
    inLab(
      pinging(nobody, (ground) => {
        ground.withMounts(
          'at="$(readlink -f "$(command -v ping)")"; cp "$at" "$0/ping"; setcap cap_net_raw=ep "$0/ping"; mount --bind "$0/ping" "$at"',
        );
        ground.asNobody(...withoutRaw);
      }),
      { packages: { ping: 'iputils-ping', setcap: 'libcap2-bin' } },
    ),
  ),
  'a seccomp filter forbids sockets of ICMP': slow(
    asRoot(
      (ground) => {
        writeFileSync(`${ground.folder}/filter`, filterOfIcmp());
        const inFilter = 'exec bwrap --dev-bind / / --seccomp 9 -- "$@" 9<"$0/filter"';
        ground.before.push('sh', '-c', inFilter, ground.folder);
      },
      { from: 'W6', packages: { bwrap: 'bubblewrap' } },
    ),
  ),
  'packets may not be captured': slow(
    inLab(
      pinging(everybody, (ground) => {
        ground.asNobody();
      }),
    ),
  ),
  'the browser that is set is not there': slow(
    anywhere(
      ({ settings }) => {
        settings['AGENT_CHROMIUM_PATH'] = '/opt/chromium/chrome';
      },
      {
        agent: {
          log: /no browser/,
          status: /degraded": \[\s*"[^"]*\/opt\/chromium\/chrome is not there/,
        },
      },
    ),
  ),
  'the browser lacks a library': slow(
    withBrowser(
      'echo "chrome: error while loading shared libraries: libnss3.so: cannot open shared object file: No such file or directory" >&2\nexit 127',
      {
        from: 'W7',
        agent: {
          log: /libnss3\.so.*no browser/,
          status: /degraded": \[\s*"[^"]* it lacks libnss3\.so/,
        },
      },
    ),
  ),
  'half of a runtime is there': anywhere(
    (ground) => {
      // Its browser only looks sound, and all steps are run here.
      delete ground.settings['AGENT_CHROMIUM_PATH'];
      for (const step of ['browser', 'fonts', 'scripts']) ground.expected.add(step);
      mkdirSync(`${ground.folder}/runtimes/2026.04`, { recursive: true });
      const dependencies = { playwright: '1.59.0', zod: '4.0.0' };
      ground.file('runtimes/2026.04/package.json', JSON.stringify({ dependencies }));
      ground.settings['AGENT_RUNTIMES_DIR'] = `${ground.folder}/runtimes`;
    },
    {
      from: 'W9',
      agent: { log: /does not load node/, status: /degraded": \[\s*"2026\.04 does not load / },
    },
  ),
  'the browser crashes when it starts': slow(
    withBrowser(
      'case "$*" in *--version*) echo "Chromium 150.0.0.0"; exit ;; esac\necho "FATAL: cannot create GPU thread" >&2\nkill -SEGV $$',
    ),
  ),
  'another program has the health port': anywhere(async (ground) => {
    const url = ground.settings['CONTROL_PLANE_URL'] ?? '';
    const port = await listening(ground, createServer());
    Object.assign(ground.settings, {
      ...{ CONTROL_PLANE_URL: url, AGENT_HEALTH_HOST: '127.0.0.1' },
      AGENT_HEALTH_PORT: String(port),
    });
  }),
};
