import assert from 'node:assert/strict';
import { test } from 'node:test';
import { takesEscapes } from '@monitor/shared/command-output.ts';

test('escape sequences go to a terminal that takes them and is to show them, alone', () => {
  for (const [isTTY, environment, takes] of [
    [true, { TERM: 'xterm' }, true],
    [true, {}, true],
    [true, { NO_COLOR: '' }, true],
    [true, { TERM: 'dumb' }, false],
    [true, { TERM: 'xterm', NO_COLOR: '1' }, false],
    [false, { TERM: 'xterm' }, false],
    [undefined, { TERM: 'xterm', CI: 'true', FORCE_COLOR: '1' }, false],
  ] as const) {
    assert.equal(takesEscapes({ isTTY }, environment), takes, JSON.stringify([isTTY, environment]));
  }
});
