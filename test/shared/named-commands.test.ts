import assert from 'node:assert/strict';
import test from 'node:test';
import {
  registerNamed,
  withVersionCommand,
  type NamedCommand,
} from '@monitor/shared/named-commands.ts';
import { newProgram } from '../../agent/program.ts';

type Command = ReturnType<typeof newProgram>;

function entry(name: string, takes: string): NamedCommand<Command> {
  const load = (program: Command) =>
    program.command(`${name} ${takes}`.trim()).description(`${name}s`).option('--loaded');
  return { takes, hasOptions: true, summary: `${name}s`, load: () => Promise.resolve(load) };
}
const commands = { start: entry('start', ''), stop: entry('stop', '<what>') };

async function registered(given: string[]): Promise<string[]> {
  const program = newProgram();
  await registerNamed(program, commands, given);
  return program.commands.map(
    (command) => `${command.name()} ${command.options.map(({ long }) => long).join()}`,
  );
}

test('the command that is named is loaded alone', async () => {
  for (const given of [['stop'], ['stop', 'start'], ['help', 'stop'], ['--', 'stop']]) {
    assert.deepEqual(await registered(given), ['stop --loaded'], given.join(' '));
  }
});

test('help, and what is no command, gets an outline of all of them', async () => {
  for (const given of [[], ['--help'], ['help'], ['Stop'], ['toString'], ['--help', 'stop']]) {
    assert.deepEqual(await registered(given), ['start --any', 'stop --any'], given.join(' '));
  }
});

test('--version is the command of that name, and only where a command stands', () => {
  assert.deepEqual(withVersionCommand(['--version']), ['version']);
  assert.deepEqual(withVersionCommand(['-V', '--json']), ['version', '--json']);
  for (const given of [[], ['start'], ['run', '--version'], ['version']]) {
    assert.deepEqual(withVersionCommand(given), given);
  }
});
