import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { suite, test } from 'node:test';
import { rightsIn } from '../../../agent/system/shed-rights.ts';

const programOf = (name: string): string =>
  fileURLToPath(new URL(`../../../agent/${name}`, import.meta.url));
const user = 10_001;

/** Started by a user with NET_RAW and nothing else, in a network where datagram sockets are not for ICMP. */
const asUser = [
  ...['--net', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh', 'setpriv'],
  ...['--reuid', String(user), '--regid', String(user), '--clear-groups'],
  ...['--inh-caps', '+net_raw', '--ambient-caps', '+net_raw'],
];

const statusOf = (pid: string): string => {
  try {
    return readFileSync(`/proc/${pid}/status`, 'latin1');
  } catch {
    return '';
  }
};

/** The process itself or a child of it, as soon as it has given up everything. */
async function statusWithoutRights(isMeant: (pid: string, status: string) => boolean) {
  for (const deadline = performance.now() + 60_000; performance.now() < deadline;) {
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      const status = statusOf(pid);
      if (isMeant(pid, status) && /^NoNewPrivs:\s*1$/m.test(status)) return { pid, status };
    }
    await pause(20);
  }
  throw new Error('it has not given up its rights within a minute');
}

function assertGuarded({ pid, status }: { pid: string; status: string }): void {
  assert.deepEqual(rightsIn(status), []);
  const as = ['--reuid', String(user), '--regid', String(user), '--clear-groups'];
  const { stderr } = spawnSync('setpriv', [...as, 'ls', `/proc/${pid}/fd`], { encoding: 'utf8' });
  assert.match(stderr, /Permission denied/, 'code of the same user could take its sockets');
}

const skip = process.getuid?.() === 0 ? false : 'only root can give capabilities';

suite(
  'what holds a raw socket keeps no right, and what shares its user cannot have it',
  { skip },
  () => {
    test('the relay of echo requests', async () => {
      const launcher = ['/usr/bin/perl', programOf('icmp-launcher.pl'), '/bin/cat'];
      const child = spawn('unshare', [...asUser, ...launcher], {
        stdio: ['pipe', 'ignore', 'inherit'],
      });
      try {
        const parent = new RegExp(`^PPid:\\s*${child.pid}$`, 'm');
        assertGuarded(await statusWithoutRights((_pid, status) => parent.test(status)));
      } finally {
        child.kill();
      }
    });
  },
);
