import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { commandsOf } from '../../../scripts/release/page.ts';

const page = readFileSync('docs/install.md', 'utf8');

test('marked commands are found below their headings, as they are written', () => {
  const text = [
    ...['# A page', '', '<!-- run -->', '', '```sh', 'one', '  two', '```', ''],
    ...[
      '```sh',
      'not marked',
      '```',
      '## Then',
      '<!-- run: in the background -->',
      '```sh',
      'three',
      '```',
    ],
  ].join('\n');
  assert.deepEqual(commandsOf(text), [
    { heading: 'A page', kind: 'once', script: 'one\n  two\n' },
    { heading: 'Then', kind: 'background', script: 'three\n' },
  ]);
});

test('a marker that means nothing is refused', () => {
  assert.throws(
    () => commandsOf('<!-- run: someday -->\n```sh\na\n```\n'),
    /"run: someday" is none of/,
  );
});

test('every command of the page on installing is run, and it names no version that a release would change', () => {
  const commands = commandsOf(page);
  assert.equal(commands.length, page.match(/^```sh$/gm)?.length);
  assert.ok(commands.length > 10);
  const { version } = JSON.parse(readFileSync('agent/package.json', 'utf8')) as { version: string };
  assert.ok(!page.includes(version));
});

test('the page names the versions of the packages for browsers that the agent is made for', () => {
  const { optionalDependencies } = JSON.parse(readFileSync('agent/package.json', 'utf8')) as {
    optionalDependencies: Record<string, string>;
  };
  for (const name of ['@playwright/test', 'tsx']) {
    assert.ok(page.includes(`${name}@${optionalDependencies[name]}`), name);
  }
});
