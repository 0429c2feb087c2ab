import assert from 'node:assert/strict';
import test from 'node:test';
import { commands, newProgram } from '../../../agent/program.ts';
import { testHelpOf } from '../../support/help-pages.ts';

const pages = await testHelpOf('agent/monitor-agent.js', commands, newProgram);

test('start tells of each setting below its name', () => {
  assert.match(
    pages.get('start') ?? '',
    /^ {2}--agent-health-port <value>\n {6}Port of .+; 0 takes a free one\n {6}\(default: 8081\)$/m,
  );
});
