import assert from 'node:assert/strict';
import test from 'node:test';
import { commands, newProgram } from '../../../../control-plane/app/program.ts';
import { testHelpOf } from '../../../support/help-pages.ts';

const pages = await testHelpOf('control-plane/control-plane.js', commands, newProgram);

test('serve tells of each setting below its name', () => {
  assert.match(pages.get('serve') ?? '', /^ {2}ARTIFACTS_S3_SECRET_ACCESS_KEY\n {6}Its secret$/m);
});
