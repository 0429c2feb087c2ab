// Own process: it counts what the process has open.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../support/system.ts';

const program = `
  const { createScriptHost } = await import(process.env.HOST_MODULE);
  const limits = { memoryBytes: 1e9, diskBytes: 1e8, files: 1e3, processes: 64, outputBytes: 1e6 };
  await using host = await createScriptHost({ workFolder: process.env.WORK_FOLDER, limits });
  await using workspace = await host.open();
  const list = "const fs = require('node:fs'); for (const fd of fs.readdirSync('/proc/self/fd'))" +
    " try { console.log(fs.readlinkSync('/proc/self/fd/' + fd)) } catch {}";
  const { stdout } = await workspace.start({
    command: process.execPath,
    args: ['-e', list],
    environment: {},
    timeoutMs: 20_000,
    signal: new AbortController().signal,
  }).done;
  console.log(stdout);
`;

test('a run has no descriptor that the agent was started with', () => {
  using folder = temporaryFolder();
  const host = new URL('../../../agent/script-host/create-script-host.ts', import.meta.url);
  // As where whoever starts the agent leaves a file open. Node closes low descriptors by itself.
  const said = execFileSync(
    'bash',
    [
      '-c',
      'exec 200</etc/hostname; exec "$0" --input-type=module -e "$1"',
      process.execPath,
      program,
    ],
    {
      encoding: 'utf8',
      env: { ...process.env, HOST_MODULE: host.href, WORK_FOLDER: join(folder.path, 'w') },
    },
  );
  assert.match(said, /\/dev\/null/);
  assert.doesNotMatch(said, /hostname/);
});
