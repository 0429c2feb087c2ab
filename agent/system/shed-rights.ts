/**
 * Takes the rights of the agent from programs that it starts. An agent of an ordinary user may have NET_RAW as an ambient capability, which every
 * child inherits, and which would let code read every packet of the machine.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';

/** Where images have the helper that opens raw sockets; other installations have no such file. */
export const helperPath = '/usr/local/libexec/monitor-agent/open-socket';

const none = /^0+$/;

/**
 * The non-empty capability sets of a status file of /proc, such as `CapAmb 0000000000002000`. Beside the helper that
 * opens sockets, who may gain rights from files has its right.
 */
export function rightsIn(status: string, hasHelper = existsSync(helperPath)): string[] {
  const sets = [...status.matchAll(/^(Cap(?:Prm|Eff|Amb)):\s*([0-9a-f]+)$/gm)]
    .filter(([, , bits = '']) => !none.test(bits))
    .map(([, name, bits]) => `${name} ${bits}`);
  return hasHelper && /^NoNewPrivs:\s*0$/m.test(status) ? [...sets, 'NoNewPrivs 0'] : sets;
}

function ownStatus(): string {
  try {
    return readFileSync('/proc/self/status', 'latin1');
  } catch {
    // Not Linux: there are no capabilities.
    return '';
  }
}

const inherited = ['--inh-caps', '-all', '--ambient-caps', '-all', '--no-new-privs'];
/** Root gets all capabilities of the bounding set whenever it starts a program. */
const ofRoot = ['--bounding-set', '-all'];

/** Whether a program that the agent starts as it is would have capabilities. */
export const hasRights = (): boolean => rightsIn(ownStatus()).length > 0;

/**
 * The prefix of a command that drops its rights: empty when the agent has none itself, null when
 * they cannot be dropped. `setpriv` is the path of that program, if it exists.
 */
export function sheddingRights(setpriv: string | null): readonly string[] | null {
  if (!hasRights()) return [];
  if (setpriv === null) return null;
  const flags = process.geteuid?.() === 0 ? [...ofRoot, ...inherited] : inherited;
  const prefix = [setpriv, ...flags, '--'];
  const [command = '', ...args] = [...prefix, 'cat', '/proc/self/status'];
  // Several programs have this name and differ in their options; this one is recognised by its
  // output.
  const { status, stdout } = spawnSync(command, args, { encoding: 'latin1', timeout: 5_000 });
  return status === 0 && stdout.includes('Cap') && rightsIn(stdout).length === 0 ? prefix : null;
}

/**
 * The same for the programs of an installation: npm, and packages that are loaded for tests. Rights
 * that cannot be dropped stay, because these programs run no customer code. Root keeps its rights:
 * without them it may not write files of other users.
 */
export function sheddingRightsOfInstallations(setpriv: string | null): readonly string[] {
  return process.geteuid?.() === 0 ? [] : (sheddingRights(setpriv) ?? []);
}
