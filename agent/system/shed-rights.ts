/**
 * Rights of the agent, taken from the programs that it starts without the supervisor, which does it by
 * itself: NET_RAW, that an agent of an ordinary user has as an ambient capability, is passed on to all
 * that is started, and would let code read every packet of the machine.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const none = /^0+$/;

/** The sets that are not empty, as `CapAmb 0000000000002000`, of a status file of /proc. */
export function rightsIn(status: string): string[] {
  return [...status.matchAll(/^(Cap(?:Prm|Eff|Amb)):\s*([0-9a-f]+)$/gm)]
    .filter(([, , bits = '']) => !none.test(bits))
    .map(([, name, bits]) => `${name} ${bits}`);
}

function ownStatus(): string {
  try {
    return readFileSync('/proc/self/status', 'latin1');
  } catch {
    // Not Linux: there are no such rights.
    return '';
  }
}

const inherited = ['--inh-caps', '-all', '--ambient-caps', '-all', '--no-new-privs'];
/** Root has all rights of the bounding set whenever it starts a program. */
const ofRoot = ['--bounding-set', '-all'];

/**
 * What has to stand before a command so that it has no rights: nothing where the agent has none itself,
 * null where they cannot be taken away. `setpriv` is the program of that name, if there is one.
 */
export function sheddingRights(setpriv: string | null): readonly string[] | null {
  if (rightsIn(ownStatus()).length === 0) return [];
  if (setpriv === null) return null;
  const flags = process.geteuid?.() === 0 ? [...ofRoot, ...inherited] : inherited;
  const prefix = [setpriv, ...flags, '--'];
  const [command = '', ...args] = [...prefix, 'cat', '/proc/self/status'];
  // There are several programs of this name, which differ in what they can do: this one shows it.
  const { status, stdout } = spawnSync(command, args, { encoding: 'latin1', timeout: 5_000 });
  return status === 0 && stdout.includes('Cap') && rightsIn(stdout).length === 0 ? prefix : null;
}

/**
 * The same for the programs of an installation: npm, and packages that are loaded to test them. What
 * cannot be taken away stays: they run none of the customers' code. Root keeps its rights, since
 * without them it may not write what belongs to others.
 */
export function sheddingRightsOfInstallations(setpriv: string | null): readonly string[] {
  return process.geteuid?.() === 0 ? [] : (sheddingRights(setpriv) ?? []);
}
