import assert from 'node:assert/strict';
import test from 'node:test';
import { commands, newProgram } from '../../../agent/program.ts';
import { assertFitting, helpPages } from '../../support/help-pages.ts';

const program = newProgram();
for (const load of Object.values(commands)) (await load())(program);
const pages = helpPages(program);

test('no line of a help page is longer than 80 columns', () => {
  assert.ok(pages.size > Object.keys(commands).length);
  assertFitting(pages);
});

test('start tells of each setting below its name', () => {
  assert.match(
    pages.get('start') ?? '',
    /^ {2}--agent-health-port <value>\n {6}Port of .+; 0 takes a free one\n {6}\(default: 8081\)$/m,
  );
});
