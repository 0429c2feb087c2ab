import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { version } from '../../agent/version.ts';

const releases = readFileSync('agent/CHANGELOG.md', 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('|'))
  .map((line) => line.split('|')[1]?.trim())
  .slice(2);

test('the newest release in the changelog is the version of the agent', () => {
  const [newest, ...older] = releases.filter((release) => release !== 'Pending');
  assert.equal(newest, version);
  assert.ok(!older.includes(version));
  assert.ok(releases.lastIndexOf('Pending') <= 0, 'Pending is on top');
});
