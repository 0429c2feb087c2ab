import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { blocksIn, installPage } from '../../../scripts/guide/blocks.ts';

const page = readFileSync('docs/install.md', 'utf8');

test('every command of the page on installing is run, and it names no version that a release would change', () => {
  const commands = blocksIn(installPage, page).filter(({ language }) => language === 'sh');
  assert.deepEqual(
    commands.filter(({ how }) => how === 'not-run'),
    [],
  );
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
