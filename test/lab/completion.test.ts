/** The scripts for shells that a machine need not have: zsh and fish. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { completedShell } from '../support/completed-shell.ts';
import { temporaryFolder } from '../support/system.ts';

test('fish offers commands with their descriptions, and files where there is nothing else', async () => {
  using folder = temporaryFolder();
  const run = await completedShell('fish', folder.path);
  assert.deepEqual(await run('complete -C "monitor-agent vers"'), [
    'version\tprint the version of the agent',
  ]);
  assert.deepEqual(await run('complete -C "control-plane keys create --role OW"'), ['OWNER']);
  assert.ok(
    (await run('complete -C "monitor-agent run b"')).some((each) => each.startsWith('bin')),
  );
});

test('zsh offers commands with their descriptions, and files where there is nothing else', async () => {
  using folder = temporaryFolder();
  const run = await completedShell('zsh', folder.path).catch((error: unknown) => {
    throw new Error('apt-get install zsh', { cause: error });
  });
  // What the line editor of zsh would show.
  const shown = '_describe() { print -rl -- "${(@P)2}" }; _files() { print files };';
  const offered = (words: string) =>
    run(`${shown} words=(${words}); CURRENT=$#words; _${name(words)}`);
  assert.deepEqual(await offered('monitor-agent vers'), ['version:print the version of the agent']);
  assert.deepEqual(await offered('control-plane keys create --role OW'), ['OWNER:']);
  assert.deepEqual(await offered("monitor-agent run ''"), ['files']);
});

function name(words: string): string {
  return (words.split(' ')[0] ?? '').replaceAll('-', '_');
}
