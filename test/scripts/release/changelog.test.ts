import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { changesOf } from '../../../scripts/release/version.ts';
import { version } from '../../../agent/version.ts';

const text = readFileSync('CHANGELOG.md', 'utf8');
const releases = [...text.matchAll(/^## (.+)$/gm)].map(([, name]) => name);

test('the newest release in the changelog is the version of the product', () => {
  const [newest, ...older] = releases.filter((release) => release !== 'Pending');
  assert.equal(newest, version);
  assert.ok(!older.includes(version));
  assert.ok(releases.lastIndexOf('Pending') <= 0, 'Pending is on top');
});

test('each release has a list of changes, one a line that people can read', () => {
  for (const release of releases) {
    const changes = changesOf(text, release ?? '') ?? '';
    const lines = changes.trimEnd().split('\n');
    assert.ok(lines.length > 0);
    for (const line of lines) assert.match(line, /^(?:- |### |$)/, release);
    for (const line of lines) assert.ok(line.length < 600, line);
  }
});
