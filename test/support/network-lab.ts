/**
 * Hosts and routers inside this machine: network namespaces with their own addresses, routes and rules,
 * joined by cables. For what only a network can show: drops, missing routes, no IPv6, far hops.
 */
import { execFile, spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { mkdir, rm, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const execute = promisify(execFile);
let made = 0;
/** `ip netns exec` puts the files in it, by host, in place of those in /etc. */
const filesOfHosts = '/etc/netns';

/** Why there can be no lab on this machine; null where there can. */
export function labProblem(): string | null {
  if (process.platform !== 'linux') return 'network namespaces need Linux';
  if (process.getuid?.() !== 0) return 'network namespaces need root';
  const isThere = ['/usr/sbin/ip', '/sbin/ip', '/usr/bin/ip'].some((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
  return isThere ? null : 'network namespaces need the program ip (iproute2)';
}

export interface LabHost {
  readonly name: string;
  /** Runs `ip` for this host, as `ip('route', 'add', 'blackhole', '10.9.0.0/16')`. */
  ip(...words: string[]): Promise<string>;
  /** Several such at once, a line for each. Quicker: every `ip` is a process. */
  ipBatch(lines: readonly string[]): Promise<void>;
  /** Writes a sysctl of this host, such as `net.ipv6.conf.all.disable_ipv6`. */
  sysctl(name: string, value: string): Promise<void>;
  /** Gives programs that start in this host from now on an /etc/resolv.conf of their own. */
  resolvConf(text: string): Promise<void>;
  sysctls(values: Readonly<Record<string, string>>): Promise<void>;
  /** The words that run a command in this host: put them before it. */
  readonly prefix: readonly string[];
  /** Starts a program in this host; it is killed with the lab. */
  spawn(program: string, words: readonly string[], options?: SpawnOptions): ChildProcess;
}

export interface NetworkLab extends AsyncDisposable {
  /** A host with a loopback interface and nothing else. Forwards packets when it is a router. */
  host(name: string, options?: { isRouter?: boolean }): Promise<LabHost>;
  /** A cable between two hosts; addresses with their prefix, such as `10.1.0.1/24` and `fd01::1/64`. */
  cable(
    one: { host: LabHost; addresses: readonly string[] },
    other: { host: LabHost; addresses: readonly string[] },
  ): Promise<{ oneInterface: string; otherInterface: string }>;
}

/** Opens a lab of its own. Disposing it removes everything. Call `labProblem` first. */
export function openNetworkLab(): NetworkLab {
  made += 1;
  const mark = `lab${process.pid}x${made}`;
  const children = new Set<ChildProcess>();
  const names: string[] = [];
  let cables = 0;

  const host = async (name: string, { isRouter = false } = {}): Promise<LabHost> => {
    const full = `${mark}-${name}`;
    await execute('ip', ['netns', 'add', full]);
    names.push(full);
    const prefix = ['ip', 'netns', 'exec', full];
    const files = join(filesOfHosts, full);
    const made: LabHost = {
      name: full,
      prefix,
      ip: async (...words) => (await execute('ip', ['-n', full, ...words])).stdout,
      async ipBatch(lines) {
        const running = execute('ip', ['-n', full, '-batch', '-']);
        running.child.stdin?.end(`${lines.join('\n')}\n`);
        await running;
      },
      sysctl: (key, value) => made.sysctls({ [key]: value }),
      async sysctls(values) {
        const words = Object.entries(values).flatMap(([key, value]) => [
          value,
          `/proc/sys/${key.replaceAll('.', '/')}`,
        ]);
        const script = 'while [ $# -gt 0 ]; do printf %s "$1" > "$2" || exit 1; shift 2; done';
        await execute('ip', [...prefix.slice(1), ...['sh', '-c', script, 'sh', ...words]]);
      },
      async resolvConf(text) {
        await mkdir(files, { recursive: true });
        await writeFile(join(files, 'resolv.conf'), text);
      },
      spawn(program, words, options = {}) {
        const [first = 'ip', ...rest] = prefix;
        const child = spawn(first, [...rest, program, ...words], options);
        children.add(child);
        child.once('exit', () => children.delete(child));
        return child;
      },
    };
    await made.sysctls({
      // Routers ask for their neighbours from link-local addresses, which must not first wait a second
      // or two to find out whether they are taken.
      'net.ipv6.conf.all.accept_dad': '0',
      'net.ipv6.conf.default.accept_dad': '0',
      ...(isRouter ? { 'net.ipv4.ip_forward': '1', 'net.ipv6.conf.all.forwarding': '1' } : {}),
    });
    await made.ip('link', 'set', 'lo', 'up');
    return made;
  };

  return {
    host,
    async cable(one, other) {
      cables += 1;
      // Interface names have at most 15 characters.
      const base = `v${process.pid % 100_000}x${made}c${cables}`;
      const [oneInterface, otherInterface] = [`${base}a`, `${base}b`];
      // Indexes that differ: the kernel takes up to a second to tell IPv6 that a cable is plugged in
      // whose ends have the same one (it then looks like a device of its own, whose news can wait).
      const [oneIndex, otherIndex] = [`${2 * cables + 100}`, `${2 * cables + 101}`];
      await execute('ip', [
        ...['link', 'add', oneInterface, 'index', oneIndex, 'netns', one.host.name],
        ...['type', 'veth', 'peer', 'name', otherInterface, 'index', otherIndex],
        ...['netns', other.host.name],
      ]);
      for (const [end, device] of [
        [one, oneInterface],
        [other, otherInterface],
      ] as const) {
        await end.host.ipBatch([
          ...end.addresses.map((address) => `addr add ${address} dev ${device}`),
          `link set ${device} up`,
        ]);
      }
      return { oneInterface, otherInterface };
    },
    async [Symbol.asyncDispose]() {
      for (const child of children) child.kill('SIGKILL');
      for (const name of names) {
        await execute('ip', ['netns', 'del', name]);
        await rm(join(filesOfHosts, name), { recursive: true, force: true });
      }
      // Gone when this lab was the last that needed it.
      await rmdir(filesOfHosts).catch(() => undefined);
    },
  };
}
