/** Own process: it starts programs. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { completedShell } from '../support/completed-shell.ts';
import { temporaryFolder } from '../support/system.ts';

const folder = temporaryFolder();
test.after(() => {
  folder[Symbol.dispose]();
});
let run: (lines: string) => Promise<string[]>;
before(async () => {
  run = await completedShell('bash', folder.path);
});

/** What bash offers in the place of the last word. */
function offered(words: readonly string[]): Promise<string[]> {
  const quoted = words.map((word) => `'${word}'`).join(' ');
  const name = `_${(words[0] ?? '').replaceAll('-', '_')}`;
  return run(
    `COMP_WORDS=(${quoted}); COMP_CWORD=${words.length - 1}; ${name}; printf '%s\\n' "\${COMPREPLY[@]}"`,
  );
}

test('commands, subcommands, options and the values of options are offered', async () => {
  assert.deepEqual(await offered(['monitor-agent', 'st']), ['start', 'status']);
  assert.deepEqual(await offered(['control-plane', 'accounts', 'cr']), ['create']);
  assert.deepEqual(await offered(['monitor-agent', 'version', '--']), ['--json', '--help']);
  assert.deepEqual(await offered(['control-plane', 'keys', 'create', '--role', 'OW']), ['OWNER']);
});

test('the value of an option is not taken for a command', async () => {
  assert.deepEqual(await offered(['control-plane', 'keys', 'create', '--name', 'list', '--js']), [
    '--json',
  ]);
});

test('where nothing can be offered, names of files are left to the shell', async () => {
  assert.deepEqual(await offered(['monitor-agent', 'run', '']), []);
  assert.deepEqual(await offered(['monitor-agent', 'nosuch', 'x']), []);
});

test('nothing that was typed is evaluated', async () => {
  const file = join(folder.path, 'evaluated');
  assert.deepEqual(await offered(['monitor-agent', 'run', `$(touch ${file})`, '--wa']), [
    '--watch',
  ]);
  assert.equal(existsSync(file), false);
});
