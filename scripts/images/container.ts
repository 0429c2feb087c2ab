/**
 * Runs an image without an engine: namespaces of its own for processes, files, names and semaphores, a
 * read-only root, the rights of one user, and the process of the image as process 1. What an engine
 * does, in as much as the image can tell.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { buildah } from './buildah.ts';

export interface ContainerOptions {
  image: string;
  /** `uid:gid`; by default the image's own. */
  user?: string | undefined;
  /** By name, as `net_raw`; a user other than root has them as ambient capabilities. */
  capabilities?: readonly string[];
  /** As Docker and Kubernetes do it by default: the user has none of them, and files may. */
  areOfFiles?: boolean | undefined;
  /** Of the control group; without it there is no limit. */
  memoryBytes?: number;
  environment?: Readonly<Record<string, string>>;
  /** Folder of the container that is writable besides `/tmp`. */
  dataFolder: string;
  /** Programs may be started from `/tmp`. */
  isTmpExec?: boolean;
  /** Where the container may make user namespaces; Docker's own profile forbids it. */
  hasUserNamespaces?: boolean;
}

interface ImageConfig {
  User: string;
  Env: string[];
  Entrypoint: string[];
  Cmd: string[];
  Labels: Record<string, string>;
  ExposedPorts: Record<string, unknown>;
  Volumes: Record<string, unknown>;
  WorkingDir: string;
  StopSignal: string;
  Healthcheck?: { Test: string[] };
}

/** What root has in a container of Docker's. */
export const dockerCapabilities = [
  ...['chown', 'dac_override', 'fowner', 'fsetid', 'kill', 'setgid', 'setuid', 'setpcap'],
  ...['net_bind_service', 'net_raw', 'sys_chroot', 'mknod', 'audit_write', 'setfcap'],
];

const programs = '/usr/sbin:/usr/bin:/sbin:/bin';
const prepareScript = fileURLToPath(new URL('become-container.sh', import.meta.url));

/** The settings of an image. */
export async function configOf(image: string): Promise<ImageConfig> {
  const facts = JSON.parse(await buildah('inspect', '--type', 'image', image)) as {
    Docker: { config: ImageConfig };
  };
  return facts.Docker.config;
}

function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return text === '' ? [] : text.split(' ').map(Number);
}

function statusField(pid: number, name: string): string {
  const line = new RegExp(`^${name}:\\s*(.+)$`, 'm').exec(
    readFileSync(`/proc/${pid}/status`, 'utf8'),
  );
  return line?.[1] ?? '';
}

export class Container implements AsyncDisposable {
  readonly lines: string[] = [];
  readonly ended: Promise<number | null>;
  readonly config: ImageConfig;
  readonly #outer: ChildProcess;
  readonly #rights: readonly string[];
  readonly #environment: readonly string[];
  readonly #mounted: string;

  private constructor(
    outer: ChildProcess,
    config: ImageConfig,
    rights: readonly string[],
    environment: readonly string[],
    mounted: string,
  ) {
    this.#outer = outer;
    this.config = config;
    this.#rights = rights;
    this.#environment = environment;
    this.#mounted = mounted;
    for (const stream of [outer.stdout, outer.stderr]) {
      if (stream !== null) createInterface({ input: stream }).on('line', (l) => this.lines.push(l));
    }
    this.ended = once(outer, 'close').then(([code]) => code as number | null);
  }

  static async start(options: ContainerOptions): Promise<Container> {
    const { image, capabilities = [], dataFolder, hasUserNamespaces = true } = options;
    const { isTmpExec = false } = options;
    const config = await configOf(image);
    const [uid = '0', gid = '0'] = (options.user ?? config.User).split(':');
    const granted = ['-all', ...capabilities.map((name) => `+${name}`)].join(',');
    const ofUser = options.areOfFiles === true ? '-all' : granted;
    const rights = [
      ...['setpriv', '--reuid', uid, '--regid', gid, '--clear-groups'],
      ...(options.areOfFiles === true ? [] : ['--no-new-privs']),
      ...['--bounding-set', granted, '--inh-caps', ofUser, '--ambient-caps', ofUser],
    ];
    const environment = [
      ...config.Env.filter((entry) => !entry.startsWith('HOME=')),
      ...Object.entries(options.environment ?? {}).map(([name, value]) => `${name}=${value}`),
    ];
    const working = await buildah('from', '--pull-never', image);
    const root = await buildah('mount', working);
    const way = hasUserNamespaces ? 'pivot' : 'chroot';
    const outer = spawn(
      'unshare',
      [
        ...['--mount', '--pid', '--ipc', '--uts', '--fork', 'sh', prepareScript, way],
        ...[isTmpExec ? 'exec' : 'noexec', root, dataFolder, String(options.memoryBytes ?? 0)],
        ...[...rights, 'env', '-i', `--chdir=${config.WorkingDir}`, ...environment],
        ...[...config.Entrypoint, ...config.Cmd],
      ],
      { stdio: ['ignore', 'pipe', 'pipe'], env: { PATH: programs } },
    );
    return new Container(outer, config, rights, environment, working);
  }

  /** Process 1 of the container, as this machine numbers it. */
  get pid(): number {
    const [first] = childrenOf(this.#outer.pid ?? 0);
    if (first === undefined) throw new Error(`it has ended:\n${this.lines.slice(-20).join('\n')}`);
    return first;
  }

  /** Runs a command inside, with the same rights. */
  async exec(words: readonly string[]): Promise<{ code: number | null; output: string }> {
    const child = spawn(
      'nsenter',
      [
        ...['--target', String(this.pid), '--mount', '--pid', '--ipc', '--uts', '--root'],
        ...[...this.#rights, 'env', '-i', '--chdir=/', ...this.#environment, ...words],
      ],
      { stdio: ['ignore', 'pipe', 'pipe'], env: { PATH: programs } },
    );
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
    let problems = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (problems += text));
    const [code] = (await once(child, 'close')) as [number | null];
    return { code, output: output === '' ? problems : output };
  }

  /** The processes inside, as this machine numbers them. */
  processes(): { pid: number; name: string; state: string; rssBytes: number }[] {
    const space = statusField(this.pid, 'NSpid').split(/\s+/).length;
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .flatMap((name) => {
        const pid = Number(name);
        try {
          if (!this.#isInside(pid, space)) return [];
          const rss = /(\d+) kB/.exec(statusField(pid, 'VmRSS'))?.[1] ?? '0';
          const [name, state] = [statusField(pid, 'Name'), statusField(pid, 'State')];
          return [{ pid, name, state, rssBytes: Number(rss) * 1024 }];
        } catch {
          return [];
        }
      });
  }

  #isInside(pid: number, depth: number): boolean {
    if (statusField(pid, 'NSpid').split(/\s+/).length < depth) return false;
    let parent = pid;
    while (parent > 1 && parent !== this.pid) parent = Number(statusField(parent, 'PPid'));
    return parent === this.pid;
  }

  /** Asks process 1 to stop, and gives the exit code of the container. */
  async stop(): Promise<number | null> {
    process.kill(this.pid, 'SIGTERM');
    return this.ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#outer.exitCode === null && this.#outer.signalCode === null) {
      // With its process 1 the whole container ends; `unshare` alone would leave it behind.
      for (const pid of childrenOf(this.#outer.pid ?? 0)) process.kill(pid, 'SIGKILL');
      await this.ended;
    }
    await buildah('umount', this.#mounted);
    await buildah('rm', this.#mounted);
  }
}
