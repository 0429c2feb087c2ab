import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { breaks } from '../../simulation/breaks.ts';

const root = join(import.meta.dirname, '../..');

for (const { name, file, from, to } of breaks) {
  test(`the break ${name} still fits its source`, () => {
    const places = readFileSync(join(root, file), 'utf8').split(from).length - 1;
    assert.equal(places, 1, `${file} has its text ${places} times`);
    assert.notEqual(from, to);
  });
}
