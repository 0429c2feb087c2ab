import assert from 'node:assert/strict';
import test from 'node:test';
import { cycleIn, folderGraph, type Import } from '../../../scripts/boundaries/folder-graph.ts';

const imports = (...pairs: readonly `${string} ${string}`[]): Import[] =>
  pairs.map((pair) => {
    const [from = '', to = ''] = pair.split(' ');
    return { from, to };
  });

test('two folders that import each other are a cycle, though no files are', () => {
  const both = imports('app/a/1.ts app/b/1.ts', 'app/b/2.ts app/a/2.ts');
  assert.deepEqual(cycleIn(folderGraph('app', both)), both);
});

test('a cycle over three folders is found, with one import for each step', () => {
  const cycle = imports('app/a/1.ts app/b/1.ts', 'app/b/1.ts app/c/1.ts', 'app/c/1.ts app/a/2.ts');
  const others = imports('app/x/1.ts app/a/1.ts', 'app/a/1.ts app/y/1.ts');
  assert.deepEqual(cycleIn(folderGraph('app', [...others, ...cycle])), cycle);
});

test('a file directly below the root is a folder of its own', () => {
  const cycle = imports('app/main.ts app/a/1.ts', 'app/a/2.ts app/main.ts');
  assert.deepEqual(cycleIn(folderGraph('app', cycle))?.length, 2);
  const line = imports('app/main.ts app/a/1.ts', 'app/a/1.ts app/errors.ts');
  assert.equal(cycleIn(folderGraph('app', line)), null);
});

test('what is inside of one folder, or outside of the root, does not count', () => {
  const inside = imports('app/a/1.ts app/a/b/2.ts', 'app/a/b/2.ts app/a/1.ts');
  const outside = imports('app/a/1.ts apple/1.ts', 'apple/1.ts app/a/1.ts');
  assert.equal(cycleIn(folderGraph('app', [...inside, ...outside])), null);
  assert.deepEqual(cycleIn(folderGraph('app/a', inside))?.length, 2);
});
