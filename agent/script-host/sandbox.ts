/**
 * The command that runs a program kept apart: by bubblewrap, by util-linux, or by a user alone. What
 * stands before the program has an empty environment. The program itself, its environment, folder and
 * arguments come to the last shell as text on its standard input, when no right is left: so nothing of
 * the customer reaches a program that has rights (`LD_PRELOAD`), and nothing secret stands in a command
 * line that everybody can read.
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { hasRights } from '../system/shed-rights.ts';
import type { Order, ScriptLimits } from './script-host.ts';

/** How runs are kept apart: by users or namespaces, and which program makes the namespaces. */
export interface Way {
  readonly isolation: 'user' | 'namespaces' | 'process-group';
  /** Processes, mounts and shared memory of its own; null for none. */
  readonly namespacesBy: 'bubblewrap' | 'util-linux' | null;
}

export interface Sandbox {
  readonly way: Way;
  /** The folder of the run. */
  readonly folder: string;
  /** The user it runs as; null for the user of the agent. */
  readonly uid: number | null;
  /** Files and folders it must not see. */
  readonly hidden: readonly string[];
  readonly limits: ScriptLimits;
  readonly programs: SandboxPrograms;
}

/** Paths of what keeps runs apart; null for what is missing. */
export type SandboxPrograms = Readonly<Record<'bwrap' | 'setpriv' | 'unshare', string | null>>;

export interface SandboxCommand {
  readonly command: string;
  readonly args: readonly string[];
  /** How many processes stand between the agent and the program. */
  readonly wrappers: number;
}

const shell = '/bin/sh';
const nobody = '65534';
/** More than honest programs open, less than would harm the machine. */
const maxDescriptors = 8_192;
/** Threads count as processes for the kernel. */
const threadsPerProcess = 16;
const niceness = '5';
const fileBlockBytes = 512;

/** Options of setpriv. */
const diesWithParent = ['--pdeathsig', 'KILL'];
const noCapabilities = ['--inh-caps', '-all', '--ambient-caps', '-all', '--'];

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** The folders that a path is in, without the root, the outermost first. */
function parentsOf(path: string): string[] {
  const parents: string[] = [];
  for (let at = dirname(path); at !== '/'; at = dirname(at)) parents.unshift(at);
  return parents;
}

const isIn = (path: string, folders: readonly string[]): boolean =>
  folders.some((folder) => path === folder || path.startsWith(`${folder}/`));

/**
 * What is covered for the run: what it must not see, and the first folder on the way that its user may
 * not pass. There is nothing in that one for this user, so it is covered, and the way is free.
 */
function coveredFor({ way, folder, hidden }: Sandbox): string[] {
  const barrier =
    way.isolation === 'user'
      ? parentsOf(folder).find((path) => (statSync(path).mode & 1) === 0)
      : undefined;
  // A file system of the program's own could keep the agent waiting when it looks at open files.
  const devices = existsSync('/dev/fuse') ? ['/dev/fuse'] : [];
  const covered = [...(barrier === undefined ? [] : [barrier]), ...hidden, ...devices];
  return covered.filter((path) => !isIn(dirname(path), covered));
}

const isFolder = (path: string): boolean =>
  statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;

const idsInside = (): readonly string[] =>
  process.geteuid?.() === 0 ? [nobody, nobody] : [`${process.getuid?.()}`, `${process.getgid?.()}`];

function bubblewrap(sandbox: Sandbox): string[] {
  const { way, folder, limits, programs } = sandbox;
  const isUser = way.isolation === 'user';
  const [userId = nobody, groupId = nobody] = idsInside();
  const covered = coveredFor(sandbox);
  const onTheWay = parentsOf(folder).filter(
    (path) => isIn(path, covered) && !covered.includes(path),
  );
  // It refuses to start with capabilities that an ordinary user was given.
  const first = !isUser && programs.setpriv !== null ? [programs.setpriv, ...noCapabilities] : [];
  return [
    ...first,
    programs.bwrap ?? 'bwrap',
    // What is process 1 cannot be killed by the program.
    ...['--unshare-pid', '--as-pid-1', '--unshare-ipc', '--die-with-parent'],
    ...(isUser ? [] : ['--unshare-user', '--uid', userId, '--gid', groupId]),
    ...(isUser ? ['--dev-bind', '/', '/'] : ['--ro-bind', '/', '/', '--dev-bind', '/dev', '/dev']),
    ...covered.flatMap((path) =>
      isFolder(path)
        ? ['--perms', '0755', '--size', '65536', '--tmpfs', path]
        : ['--ro-bind', '/dev/null', path],
    ),
    ...onTheWay.flatMap((path) => ['--perms', '0755', '--dir', path]),
    ...['--bind', folder, folder, '--proc', '/proc'],
    ...['--perms', '1777', '--size', String(Math.floor(limits.memoryBytes / 2))],
    ...['--tmpfs', '/dev/shm', '--chdir', '/', '--'],
  ];
}

/** Options of a mount that must stay when it becomes read-only in a user namespace. */
const keptOptions = new Set(['nosuid', 'nodev', 'noexec', 'noatime', 'nodiratime', 'relatime']);

/** File systems of the kernel, where rights decide alone. Some cannot be made read-only. */
const ofKernel =
  /^(?:proc|sysfs|cgroup2?|devpts|mqueue|debugfs|tracefs|securityfs|bpf|pstore|configfs|fusectl|hugetlbfs|autofs|binfmt_misc|efivarfs|nsfs)$/;

/** Mount points that can be written to, with the options to keep. `line` is as the kernel writes it. */
function writableMounts(): { path: string; options: string[]; line: string }[] {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .flatMap((line) => {
      const [, , , , path = '', options = ''] = line.split(' ');
      const type = / - (\S+)/.exec(line)?.[1] ?? '';
      const given = options.split(',');
      if (!given.includes('rw') || ofKernel.test(type)) return [];
      // Blanks and the like are written in octal.
      const plain = path.replace(/\\(\d{3})/g, (_all, octal: string) =>
        String.fromCharCode(Number.parseInt(octal, 8)),
      );
      const kept = given.filter((option) => keptOptions.has(option));
      return [{ path: plain, options: kept, line: path }];
    });
}

/** The mounts of a run, as lines of a shell. */
function mountLines(sandbox: Sandbox): string[] {
  const { way, folder, limits } = sandbox;
  const covered = coveredFor(sandbox);
  const readOnly =
    way.isolation === 'user' ? [] : writableMounts().filter(({ path }) => !isIn(path, covered));
  return [
    'set -e',
    // The folder is held by being in it while what is around it is covered; its path would lead to another.
    `cd ${quoted(folder)}`,
    ...covered.map((path) =>
      isFolder(path)
        ? `mount -t tmpfs -o nosuid,nodev,size=64k,mode=0755 none ${quoted(path)}`
        : `mount --bind /dev/null ${quoted(path)}`,
    ),
    `mkdir -p ${quoted(folder)}`,
    `mount --no-canonicalize --bind . ${quoted(folder)}`,
    // One that fails may be gone by now, or lie where this user cannot go: those of containers do.
    'read_only() { said=$(mount -o "$1" "$2" 2>&1) || ! [ -e "$2" ] || ! grep -qF " $3 " /proc/self/mountinfo || { echo "$said" >&2; return 1; }; }',
    ...readOnly.map(({ path, options, line }) =>
      ['read_only', ['remount', 'bind', 'ro', ...options].join(), quoted(path), quoted(line)].join(
        ' ',
      ),
    ),
    `mount -t tmpfs -o nosuid,nodev,size=${Math.floor(limits.memoryBytes / 2)},mode=1777 none /dev/shm`,
    'mount -t proc -o nosuid,nodev,noexec proc /proc',
    'cd /',
    'set +e',
  ];
}

/** What runs after it ends when the agent does, and what hangs on that as well. */
const dyingWithAgent = ({ setpriv }: SandboxPrograms): string[] =>
  setpriv === null ? [] : [setpriv, ...diesWithParent, '--'];

function unshare({ way, programs }: Sandbox): string[] {
  const [userId = nobody, groupId = nobody] = idsInside();
  return [
    ...dyingWithAgent(programs),
    programs.unshare ?? 'unshare',
    ...['--mount', '--pid', '--ipc', '--fork', '--kill-child', '--propagation', 'private'],
    ...(way.isolation === 'user'
      ? []
      : ['--user', `--map-user=${userId}`, `--map-group=${groupId}`, '--keep-caps']),
    '--',
  ];
}

/** Whether the program is a child of the agent itself, which then sees how it ends. */
const hasNoWrapper = ({ isolation, namespacesBy }: Way): boolean =>
  isolation === 'user' && namespacesBy === null;

/** Runs the command that follows within limits. Through a wrapper, a signal that ends it is an exit code, with 128 added. */
function outerScript(sandbox: Sandbox): string {
  const { way, uid, limits } = sandbox;
  const processes = limits.processes * threadsPerProcess;
  // Counted by user, so only where the user is the run's own.
  const isCounted = uid !== null || way.isolation === 'namespaces';
  return [
    'umask 022',
    ...(way.namespacesBy === 'util-linux' ? mountLines(sandbox) : []),
    // Whatever runs out of memory, it is the program that goes rather than the agent.
    'echo 1000 2>/dev/null >/proc/self/oom_score_adj',
    'ulimit -c 0',
    `ulimit -f ${Math.floor(limits.diskBytes / fileBlockBytes)}`,
    `ulimit -n ${maxDescriptors} 2>/dev/null`,
    // The option has two names in the shells of this world.
    ...(isCounted ? [`ulimit -u ${processes} 2>/dev/null || ulimit -p ${processes}`] : []),
    'umask 077',
    // Process 1 of a namespace must not be the program, nor its parent an agent that it may end.
    ...(hasNoWrapper(way) ? ['exec "$@"'] : ['"$@"', 'exit $?']),
  ].join('\n');
}

/** Takes from the program what it has of the agent: its user, and its rights. */
function shedding({ way, uid, programs: { setpriv } }: Sandbox): string[] {
  const hasOwnUser = way.isolation === 'user';
  // bubblewrap does it itself in a user namespace.
  if (setpriv === null || (way.isolation === 'namespaces' && way.namespacesBy === 'bubblewrap')) {
    return [];
  }
  // Only who has the right to it may change this set, and nobody else gets anything out of it.
  const mayBound = (process.geteuid?.() === 0 && hasRights()) || way.namespacesBy === 'util-linux';
  return [
    setpriv,
    ...(hasOwnUser ? ['--reuid', `${uid}`, '--regid', `${uid}`, '--clear-groups'] : []),
    ...(mayBound ? ['--bounding-set', '-all'] : []),
    ...['--no-new-privs', ...diesWithParent, ...noCapabilities],
  ];
}

/** The command that waits for a program on its standard input: see `startText`. */
export function sandboxCommand(sandbox: Sandbox): SandboxCommand {
  const { way, programs } = sandbox;
  const by = way.namespacesBy;
  const outermost = hasNoWrapper(way) ? [] : dyingWithAgent(programs);
  const enter =
    by === null ? outermost : by === 'bubblewrap' ? bubblewrap(sandbox) : unshare(sandbox);
  const inner = [...shedding(sandbox), shell, '-s'];
  return {
    command: 'nice',
    args: ['-n', niceness, ...enter, shell, '-c', outerScript(sandbox), 'sh', ...inner],
    wrappers: hasNoWrapper(way) ? 0 : by === null ? 1 : 2,
  };
}

/** What a shell takes for itself, or refuses to change. */
const shellNames = new Set([
  ...['BASHOPTS', 'BASH_VERSINFO', 'EUID', 'LINENO', 'OPTIND', 'PPID', 'SHELLOPTS', 'UID', '_'],
  // Bash computes these, and gives the program what it has computed.
  ...['BASHPID', 'BASH_ALIASES', 'BASH_ARGC', 'BASH_ARGV', 'BASH_ARGV0', 'BASH_CMDS'],
  ...['BASH_COMMAND', 'BASH_LINENO', 'BASH_SOURCE', 'BASH_SUBSHELL', 'COMP_WORDBREAKS', 'DIRSTACK'],
  ...['EPOCHREALTIME', 'EPOCHSECONDS', 'FUNCNAME', 'GROUPS', 'HISTCMD', 'PIPESTATUS', 'RANDOM'],
  ...['SECONDS', 'SRANDOM'],
]);
const isPlainName = (name: string): boolean =>
  /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !shellNames.has(name);

/** The line that says that the program takes over, and the one that says that it could not. */
export const startedLine = 'started';
export const failedLine = 'failed';

/** What the last shell reads: it becomes the program, whose error output is descriptor 5 until then. */
export function startText({ command, args, environment, cwd }: Order): string {
  const variables = Object.entries(environment);
  const odd = variables.filter(([name]) => !isPlainName(name));
  const words = [...odd.map(([name, value]) => `${name}=${value}`), command, ...args].map(quoted);
  const fail = (text: string): string => `{ echo ${quoted(text)} >&2; exit 126; }`;
  if ([cwd, ...words, ...variables.flat()].some((text) => text.includes('\0'))) {
    // Shells leave it out.
    return `${fail('an argument or a variable of the program has a NUL byte')}\n`;
  }
  return [
    `cd ${quoted(cwd)} 2>/dev/null || ${fail(`the folder ${cwd} cannot be used`)}`,
    'unset PWD OLDPWD SHLVL',
    ...variables
      .filter(([name]) => isPlainName(name))
      .map(([name, value]) => `export ${name}=${quoted(value)}`),
    `command -v ${quoted(command)} >/dev/null || ${fail(`${command} could not be started: there is no such program, or it must not be run`)}`,
    // Some shells end when the program cannot be executed, and bash is made to go on: both come to the trap.
    `trap 'echo ${failedLine} >&2' EXIT`,
    '[ -z "$BASH_VERSION" ] || shopt -s execfail </dev/null 2>&1',
    `echo ${startedLine} >&2`,
    `{ exec ${odd.length === 0 ? '' : 'env -- '}${words.join(' ')}; } </dev/null 2>&5 5>&-`,
    'exit 126',
    '',
  ].join('\n');
}
