import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, chownSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';

const module = new URL('../../../agent/script-host/create-script-host.ts', import.meta.url).href;
const user = 10_001;

const program = `
const { createScriptHost } = await import(${JSON.stringify(module)});
const limits = { memoryBytes: 1e9, diskBytes: 1e8, files: 1e4, processes: 64, outputBytes: 1e5 };
const ways = [JSON.parse(process.argv[2])];
await using host = await createScriptHost({ workFolder: process.argv[1], limits, ways, graceMs: 200 });
await using workspace = await host.open();
const run = workspace.start({
  command: '/bin/sh',
  args: ['-c', 'grep -E "^Cap(Inh|Prm|Eff|Amb)" /proc/self/status'],
  environment: {},
  timeoutMs: 10_000,
  signal: new AbortController().signal,
});
console.log((await run.done).stdout);
`;

/** The rights that code has, run by an agent that has NET_RAW as an ambient capability. */
function rightsOfCode(way: object): string {
  const folder = mkdtempSync(join(tmpdir(), 'ambient-'));
  chownSync(folder, user, user);
  try {
    const rights = ['--inh-caps', '+net_raw', '--ambient-caps', '+net_raw'];
    const as = ['--reuid', String(user), '--regid', String(user), '--clear-groups', ...rights];
    const words = ['--input-type=module', '-e', program, join(folder, 'work'), JSON.stringify(way)];
    const { stdout, stderr } = spawnSync('setpriv', [...as, process.execPath, ...words], {
      encoding: 'utf8',
    });
    return stdout + stderr;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const skip = process.getuid?.() === 0 ? false : 'only root can give capabilities';

test(
  'code never has the right to read the packets of the machine that its agent has',
  { skip },
  () => {
    const said = rightsOfCode({ isolation: 'process-group', hasNamespaces: false });
    const sets = [...said.matchAll(/^Cap(\w+):\s+(\w+)$/gm)].map(([, name, bits]) => [name, bits]);
    const none = '0'.repeat(16);
    assert.deepEqual(
      Object.fromEntries(sets.filter(([name]) => name !== 'Inh')),
      { Prm: none, Eff: none, Amb: none },
      said,
    );
  },
);
