import assert from 'node:assert/strict';
import test from 'node:test';
import { commands, newProgram } from '../../../control-plane/program.ts';
import { assertFitting, helpPages } from '../../support/help-pages.ts';

const program = newProgram();
for (const load of Object.values(commands)) (await load())(program);
const pages = helpPages(program);

test('no line of a help page is longer than 80 columns', () => {
  assert.ok(pages.size > Object.keys(commands).length);
  assertFitting(pages);
});

test('serve tells of each setting below its name', () => {
  assert.match(pages.get('serve') ?? '', /^ {2}ARTIFACTS_S3_SECRET_ACCESS_KEY\n {6}Its secret$/m);
});
