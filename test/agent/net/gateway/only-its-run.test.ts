import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmodSync, chownSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const program = fileURLToPath(import.meta.resolve('../../../support/two-runs-process.ts'));
const agentUser = 10_001;

interface Seen {
  isolation: string;
  first: Record<string, string>;
  second: Record<string, string>;
}

/** What two runs reach by the port of the first, in an agent of root or of an ordinary user. */
async function reachedBy(uid: number, way: object): Promise<Seen> {
  const folder = mkdtempSync(join(tmpdir(), 'two-runs-'));
  chmodSync(folder, 0o711);
  chownSync(folder, uid, uid);
  try {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [program, join(folder, 'work'), JSON.stringify(way)],
      { uid, gid: uid, encoding: 'utf8', timeout: 60_000 },
    );
    return JSON.parse(stdout) as Seen;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const everything = {
  ...{ http: '200 welcome', redirect: '302 /', challenge: '401 Basic realm="shop"' },
  ...{ login: '200 welcome', ownProxyWords: '200 undefined', targetOf407: '407 Basic of-target' },
  ...{ webSocket: 'frame', https: 'agent' },
};

const skip = process.getuid?.() === 0 ? false : 'only root can be the agents of several users';

suite(
  'the port of a run serves that run alone, and for everything',
  { skip, concurrency: 2 },
  () => {
    const cases: [string, number, object][] = [
      ['user', 0, { isolation: 'user', namespacesBy: 'util-linux' }],
      ['namespaces', agentUser, { isolation: 'namespaces', namespacesBy: 'util-linux' }],
      ['process-group', agentUser, { isolation: 'process-group', namespacesBy: null }],
    ];
    for (const [isolation, uid, way] of cases) {
      test(`where runs are kept apart by ${isolation}`, async () => {
        const seen = await reachedBy(uid, way);
        assert.equal(seen.isolation, isolation);
        assert.deepEqual(seen.first, everything);
        assert.deepEqual([...new Set(Object.values(seen.second))], ['ECONNRESET']);
        assert.deepEqual(Object.keys(seen.second), Object.keys(everything));
      });
    }
  },
);
