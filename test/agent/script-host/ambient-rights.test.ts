import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmodSync, chownSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { promisify } from 'node:util';
import { needsBubblewrap } from '../../support/bubblewrap.ts';
import { rightsIn } from '../../../agent/system/shed-rights.ts';

const module = new URL('../../../agent/script-host/create-script-host.ts', import.meta.url).href;
const user = 10_001;

const program = `
const { createScriptHost } = await import(${JSON.stringify(module)});
const limits = { memoryBytes: 1e9, diskBytes: 1e8, files: 1e4, processes: 64, outputBytes: 1e5 };
const options = JSON.parse(process.argv[2]);
await using host = await createScriptHost({ workFolder: process.argv[1], limits, ...options, graceMs: 200 });
try {
  await using workspace = await host.open();
  const run = workspace.start({
    command: '/bin/cat',
    args: ['/proc/self/status'],
    environment: {},
    timeoutMs: 10_000,
    signal: new AbortController().signal,
  });
  const end = await run.done;
  console.log(workspace.isolation, end.explanation ?? '', end.stdout);
} catch (error) {
  console.log(error.code, error.message);
}
`;

/** What an agent that has NET_RAW says of code that it runs: how it is kept apart, and its status. */
async function statusOfCode(uid: number, options: object): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'ambient-'));
  chmodSync(folder, 0o711);
  chownSync(folder, uid, uid);
  try {
    const rights = ['--inh-caps', '+net_raw', '--ambient-caps', '+net_raw'];
    const as = ['--reuid', String(uid), '--regid', String(uid), '--clear-groups', ...rights];
    const words = [
      '--input-type=module',
      '-e',
      program,
      join(folder, 'w'),
      JSON.stringify(options),
    ];
    const given = [...as, process.execPath, ...words];
    return (await promisify(execFile)('setpriv', given, { encoding: 'utf8' })).stdout;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const skip = process.getuid?.() === 0 ? false : 'only root can give capabilities';

suite('code never has a right of its agent', { skip, concurrency: 2 }, () => {
  const ways: [isolation: string, uid: number, options: object][] = [
    ['user', 0, { ways: [{ isolation: 'user', namespacesBy: 'bubblewrap' }] }],
    ['user', 0, { ways: [{ isolation: 'user', namespacesBy: 'util-linux' }] }],
    ['user', 0, { ways: [{ isolation: 'user', namespacesBy: null }] }],
    ['namespaces', user, { ways: [{ isolation: 'namespaces', namespacesBy: 'bubblewrap' }] }],
    ['namespaces', user, { ways: [{ isolation: 'namespaces', namespacesBy: 'util-linux' }] }],
    ['process-group', user, { ways: [{ isolation: 'process-group', namespacesBy: null }] }],
    // Root in a container where users can be neither changed nor separated by namespaces.
    ['process-group', 0, { ways: [{ isolation: 'process-group', namespacesBy: null }] }],
  ];
  for (const [isolation, uid, options] of ways) {
    const by = JSON.stringify(options);
    test(`of user ${uid}: ${by}`, by.includes('bubblewrap') ? needsBubblewrap : {}, async () => {
      const said = await statusOfCode(uid, options);
      assert.match(said, new RegExp(`^${isolation} `), said);
      assert.match(said, /^CapAmb:\s*0+$/m);
      // An ordinary user outside of a namespace may not change this set, and gets nothing out of it.
      const mayChange = uid === 0 || isolation === 'namespaces';
      if (mayChange) assert.match(said, /^CapBnd:\s*0+$/m);
      assert.match(said, /^NoNewPrivs:\s*1$/m);
      assert.deepEqual(rightsIn(said), []);
    });
  }

  for (const uid of [0, user]) {
    test(`and is not run where nothing can take them from it, by user ${uid}`, async () => {
      const alone = [{ isolation: 'process-group', namespacesBy: null }];
      for (const setpriv of [null, '/bin/true']) {
        const said = await statusOfCode(uid, { ways: alone, programs: { setpriv } });
        assert.match(said, /^SCRIPTING_UNAVAILABLE no program could be run/);
        if (setpriv === null) assert.match(said, /which setpriv of util-linux takes away/);
      }
    });
  }
});

test('rights are read from what the kernel says', () => {
  const status =
    'CapInh:\t0000000000002000\nCapPrm:\t0000000000000000\nCapAmb:\t0000000000002000\n';
  assert.deepEqual(rightsIn(status), ['CapAmb 0000000000002000']);
});
