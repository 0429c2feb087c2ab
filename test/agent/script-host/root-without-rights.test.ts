import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';

const module = new URL('../../../agent/script-host/create-script-host.ts', import.meta.url).href;

const program = `
const { createScriptHost } = await import(${JSON.stringify(module)});
const limits = { memoryBytes: 1e9, diskBytes: 1e8, files: 1e4, processes: 64, outputBytes: 1e5 };
await using host = await createScriptHost({ workFolder: process.argv[1], limits, graceMs: 200 });
try {
  await using workspace = await host.open();
  console.log(workspace.isolation);
} catch (error) {
  console.log(error.code, error.message);
}
`;

/** How code is run by root with nothing but some capabilities, as in a container. */
function isolationWith(capabilities: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'root-'));
  chmodSync(folder, 0o711);
  try {
    const only = ['--no-new-privs', '--inh-caps', '-all', '--bounding-set', capabilities];
    const node = [process.execPath, '--input-type=module', '-e', program, join(folder, 'work')];
    const { stdout, stderr } = spawnSync('setpriv', [...only, ...node], { encoding: 'utf8' });
    return stdout + stderr;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const skip = process.getuid?.() === 0 ? false : 'only root can take capabilities from root';

test('root with NET_RAW alone runs no code as root, and says what it needs', { skip }, () => {
  const said = isolationWith('-all,+net_raw');
  assert.match(said, /^SCRIPTING_UNAVAILABLE .*CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_KILL/);
});

test('root with what the chart gives it runs code as users of its own', { skip }, () => {
  const rights = '+net_raw,+chown,+dac_override,+fowner,+kill,+setgid,+setuid';
  assert.equal(isolationWith(`-all,${rights}`).trim(), 'user');
});
