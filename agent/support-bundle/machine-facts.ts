/** Facts about the machine that explain how an agent fares: limits, mounts, routes, names. */
import { join } from 'node:path';
import { groupFolders } from '../control-group.ts';
import type { Machine } from '../doctor/machine.ts';

/** Kernel settings that decide what an agent can do. */
const sysctls = [
  ...['net/ipv4/ping_group_range', 'net/ipv4/ip_local_port_range'],
  ...['net/ipv4/ip_unprivileged_port_start', 'net/ipv4/tcp_syn_retries'],
  ...['net/ipv6/conf/all/disable_ipv6', 'net/ipv6/conf/default/disable_ipv6'],
  ...['kernel/unprivileged_userns_clone', 'kernel/apparmor_restrict_unprivileged_userns'],
  ...['kernel/pid_max', 'kernel/threads-max', 'user/max_user_namespaces', 'fs/file-nr'],
  ...['vm/overcommit_memory'],
];

/** Files of a control group by controller, of both versions. */
const groupFiles: Readonly<Record<string, readonly string[]>> = {
  memory: [
    ...['memory.max', 'memory.high', 'memory.current', 'memory.events'],
    ...['memory.limit_in_bytes', 'memory.usage_in_bytes', 'memory.oom_control'],
  ],
  cpu: ['cpu.max', 'cpu.stat', 'cpu.cfs_quota_us', 'cpu.cfs_period_us'],
  pids: ['pids.max', 'pids.current', 'pids.events'],
};

/** The files about the machine in the archive, with their sources. */
const sources: readonly { file: string; what: string; paths: readonly string[] }[] = [
  { file: 'limits.txt', what: 'resource limits', paths: ['/proc/self/limits'] },
  { file: 'mounts.txt', what: 'mounts', paths: ['/proc/self/mountinfo'] },
  {
    file: 'routes.txt',
    what: 'routes and addresses',
    paths: ['/proc/net/route', '/proc/net/ipv6_route', '/proc/net/if_inet6', '/proc/net/dev'],
  },
  {
    file: 'names.txt',
    what: 'how names are resolved',
    paths: ['/etc/resolv.conf', '/etc/nsswitch.conf', '/etc/gai.conf'],
  },
  {
    file: 'system.txt',
    what: 'the system',
    paths: ['/etc/os-release', '/proc/version', '/proc/loadavg', '/proc/meminfo'],
  },
  {
    file: 'sysctls.txt',
    what: 'kernel settings',
    paths: sysctls.map((name) => `/proc/sys/${name}`),
  },
];

/** The control group of this process and its parents; the limits of all of them apply. */
function groupPaths(machine: Machine): string[] {
  const found = Object.entries(groupFiles).flatMap(([controller, names]) =>
    groupFolders(machine, controller).flatMap((folder) =>
      names.map((name) => join(folder, name)).filter((path) => machine.stat(path) !== null),
    ),
  );
  return ['/proc/self/cgroup', ...found];
}

/** Texts by file, each piece under the path it was read from. */
export function machineFacts(machine: Machine): { file: string; what: string; text: string }[] {
  const groups = {
    file: 'cgroup.txt',
    what: 'control groups and their limits',
    paths: groupPaths(machine),
  };
  return [...sources, groups].map(({ file, what, paths }) => ({
    file: `machine/${file}`,
    what,
    text: paths.map((path) => `# ${path}\n${machine.read(path) ?? '(not there)\n'}`).join('\n'),
  }));
}

interface Process {
  pid: number;
  parent: number;
  line: string;
}

function processOf(machine: Machine, pid: string): Process | null {
  const status = machine.read(`/proc/${pid}/status`);
  if (status === null) return null;
  const field = (name: string): string =>
    new RegExp(`^${name}:\\s+(.*)$`, 'm').exec(status)?.[1] ?? '?';
  // Not the command line: it may contain a secret of another program.
  const line = [
    pid,
    field('PPid'),
    field('Name'),
    field('State'),
    `threads ${field('Threads')}`,
    `rss ${field('VmRSS')}`,
  ].join('\t');
  return { pid: Number(pid), parent: Number(field('PPid')), line };
}

/** A process and everything it has started, without their arguments and environments. */
export function processTree(machine: Machine, root: number): string {
  const all = machine
    .list('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => processOf(machine, pid))
    .filter((one) => one !== null);
  const tree = new Set([root]);
  // Ids do not always ascend with the start of processes: repeat until nothing is added.
  for (let before = 0; before !== tree.size;) {
    before = tree.size;
    for (const { pid, parent } of all) if (tree.has(parent)) tree.add(pid);
  }
  const lines = all.filter(({ pid }) => tree.has(pid)).map(({ line }) => line);
  return ['pid\tparent\tname\tstate\tthreads\tmemory', ...lines, ''].join('\n');
}
