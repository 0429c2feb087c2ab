import assert from 'node:assert/strict';
import { test } from 'node:test';
import { codeFrame, describeScriptError } from '../../../../agent/commands/run/script-error.ts';

const text = [
  "import { test } from 'x';",
  '',
  "test('adds', () => {",
  '  expect(2).toBe(3);',
  '});',
].join('\n');
const message = 'Error: expect(received).toBe(expected)';
const frame = [
  '  2 |',
  "  3 | test('adds', () => {",
  '> 4 |   expect(2).toBe(3);',
  '    |             ^',
  '  5 | });',
].join('\n');

test('the line of a script is shown with its neighbours and a mark', () => {
  assert.equal(codeFrame(text, 4, 13), frame);
});

test('an error shows its message once, the lines of the script, and where they stand', () => {
  const stack = `${message}\n    at script.spec.js:4:13`;
  const shown = describeScriptError({ message, stack }, [{ path: null, text }]);
  assert.equal(shown, `${message}\n\n${frame}\n\n    at script.spec.js:4:13`);
});

test('the first line of the script itself is shown, not that of a library', () => {
  const stack = `${message}\n    at helper (node_modules/a/b.js:9:9)\n    at add (checks/a.spec.ts:4:13)`;
  const shown = describeScriptError({ message, stack }, [{ path: 'checks/a.spec.ts', text }]);
  assert.ok(shown.includes(frame));
  assert.ok(
    shown.endsWith('    at helper (node_modules/a/b.js:9:9)\n    at add (checks/a.spec.ts:4:13)'),
  );
});

test('without a script at hand, or a stack, the rest is shown', () => {
  const stack = `${message}\n    at tests/a.spec.ts:4:13`;
  assert.equal(
    describeScriptError({ message, stack }, []),
    `${message}\n\n    at tests/a.spec.ts:4:13`,
  );
  assert.equal(describeScriptError({ message, stack: null }, []), message);
});
