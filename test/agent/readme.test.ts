// Own process: it starts many programs.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { settingsTable } from '../../agent/config.ts';

/** A table without the padding that formatting adds. */
function cells(markdown: string): string[][] {
  return markdown
    .trim()
    .split('\n')
    .filter((line) => !/^\|[\s|:-]+\|$/.test(line))
    .map((line) => line.split('|').map((cell) => cell.trim()));
}

test('the README lists the settings as they are', () => {
  const readme = readFileSync('agent/README.md', 'utf8');
  const [, table = ''] =
    /<!-- settings: begin -->\n([\s\S]*?)<!-- settings: end -->/.exec(readme) ?? [];
  assert.deepEqual(cells(table), cells(settingsTable()));
});
