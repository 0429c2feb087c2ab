import assert from 'node:assert/strict';
import test from 'node:test';
import { namedCommands, withVersionCommand } from '@monitor/shared/named-commands.ts';

const commands = { start: 1, stop: 2 };

test('the command that is named is loaded alone', () => {
  assert.deepEqual(namedCommands(commands, 'stop'), [2]);
});

test('help, and what is no command, needs all of them', () => {
  for (const name of [undefined, '--help', 'Stop', 'toString']) {
    assert.deepEqual(namedCommands(commands, name), [1, 2]);
  }
});

test('--version is the command of that name, and only where a command stands', () => {
  assert.deepEqual(withVersionCommand(['--version']), ['version']);
  assert.deepEqual(withVersionCommand(['-V', '--json']), ['version', '--json']);
  for (const given of [[], ['start'], ['run', '--version'], ['version']]) {
    assert.deepEqual(withVersionCommand(given), given);
  }
});
