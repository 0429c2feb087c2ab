import assert from 'node:assert/strict';
import test from 'node:test';
import { commands, newProgram } from '../../../../control-plane/app/program.ts';
import { registerNamed } from '@monitor/shared/named-commands.ts';
import { assertFitting, helpPages, modulesLoadedBy } from '../../../support/help-pages.ts';

const program = newProgram();
for (const { load } of Object.values(commands)) (await load())(program);
const pages = helpPages(program);

test('no line of a help page is longer than 80 columns', () => {
  assert.ok(pages.size > Object.keys(commands).length);
  assertFitting(pages);
});

test('serve tells of each setting below its name', () => {
  assert.match(pages.get('serve') ?? '', /^ {2}ARTIFACTS_S3_SECRET_ACCESS_KEY\n {6}Its secret$/m);
});

test('the overview says of each command what the command says of itself', async () => {
  const outline = newProgram();
  await registerNamed(outline, commands, ['--help']);
  assert.equal(helpPages(outline).get(''), pages.get(''));
});

test('the overview loads nothing that a command needs', async () => {
  const loaded = await modulesLoadedBy('control-plane/control-plane.js', '--help');
  const packages = loaded.flatMap(
    (url) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? [],
  );
  assert.deepEqual([...new Set(packages)], ['commander']);
  assert.deepEqual(
    loaded.filter((url) => url.includes('/commands/')),
    [],
  );
});
