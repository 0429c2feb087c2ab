import { ok, warn, type Finding } from '../finding.ts';
import type { Machine } from '../machine.ts';
import type { Step } from '../step.ts';

interface UserFacts {
  uid: number;
  gid: number;
  /** The name in /etc/passwd. */
  name: string | null;
  home: string | undefined;
  isHomeWritable: boolean;
  /** AGENT_DATA_DIR is not below HOME. */
  hasOwnDataFolder: boolean;
}

/** The name of a user id, as far as /etc/passwd knows. */
export function userName(machine: Machine, uid: number): string | null {
  for (const line of (machine.read('/etc/passwd') ?? '').split('\n')) {
    const [name, , id] = line.split(':');
    if (id === String(uid) && name !== undefined) return name;
  }
  return null;
}

/** Any user will do; a HOME that is none only matters where the data would be in it. */
export function judgeUser(facts: UserFacts): Finding[] {
  const { uid, gid, name, home, isHomeWritable, hasOwnDataFolder } = facts;
  const entry = name === null ? 'no entry in /etc/passwd, which is fine' : name;
  const who = uid === 0 ? 'root: each run of code gets a user of its own' : entry;
  const evidence = `uid ${uid}, gid ${gid} (${who})`;
  if (hasOwnDataFolder || isHomeWritable) return [ok(evidence)];
  return [
    warn(
      `${evidence}; HOME is ${home === undefined ? 'not set' : `${home}, which cannot be written`}`,
      'set AGENT_DATA_DIR to a folder of this user; the default lies in HOME',
    ),
  ];
}

export const user: Step = {
  id: 'user',
  name: 'user',
  needs: [],
  limitMs: 1_000,
  check({ machine, environment }) {
    const uid = process.getuid?.();
    if (uid === undefined) return [ok('this platform has no user ids')];
    const home = environment['HOME'];
    return judgeUser({
      uid,
      gid: process.getgid?.() ?? 0,
      name: userName(machine, uid),
      home,
      isHomeWritable: home !== undefined && machine.may(home, 'write'),
      hasOwnDataFolder: Boolean(environment['AGENT_DATA_DIR'] ?? environment['XDG_STATE_HOME']),
    });
  },
};
