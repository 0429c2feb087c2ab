import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorLine } from '@monitor/shared/error-line.ts';

const assertion = (first: string, ...facts: string[]): string =>
  [`Error: ${first}`, '', ...facts, 'Timeout:  500ms', '', 'Call log:', '  - Expect "x"'].join(
    '\n',
  );
const buy = "getByRole('button', { name: 'Buy' })";
const log = (line: string): string => `Call log:\n  - waiting for ${line}\n`;

for (const [name, texts, line] of [
  ['no error', [], ''],
  ['no text', [''], ''],
  ['one line', ['Error: no such order'], 'Error: no such order'],
  ['further lines', ['\n\nError: no such order\nand more'], 'Error: no such order'],
  [
    'an element with another text',
    [
      assertion(
        'expect(locator).toHaveText(expected) failed',
        "Locator:  getByRole('heading')",
        'Expected: "Thank you"',
        'Received: "Not $& available"',
      ),
    ],
    `expect(getByRole('heading')).toHaveText: expected "Thank you", received "Not $& available"`,
  ],
  [
    'the words of version 1.28',
    [
      'Error: Timed out 500ms waiting for expect(received).toHaveText(expected)\n\nExpected string: "a"\nReceived string: "b"\nCall log:\n  - x',
    ],
    'Timed out 500ms waiting for expect(received).toHaveText: expected "a", received "b"',
  ],
  [
    'an element that is not there',
    [
      assertion(
        'expect(locator).toBeVisible() failed',
        "Locator: getByText('Thanks')",
        'Expected: visible',
        'Error: element(s) not found',
      ),
    ],
    "expect(getByText('Thanks')).toBeVisible(): expected visible, element(s) not found",
  ],
  [
    'values of Node',
    [
      'Error: expect(received).not.toBe(expected) // Object.is equality\n\nExpected: not 200\nReceived: 200',
    ],
    'expect(received).not.toBe: expected not 200, received 200',
  ],
  [
    'a message of its own, in a suite',
    [
      'pays: Error: status of the shop\n\nexpect(received).toBe(expected) // Object.is equality\n\nExpected: 200\nReceived: 500',
    ],
    'pays: status of the shop: expected 200, received 500',
  ],
  [
    'one line that differs',
    [
      'Error: expect(received).toEqual(expected) // deep equality\n\n- Expected  - 1\n+ Received  + 1\n\n  Object {\n-   "a": 2,\n+   "a": 1,\n  }',
    ],
    'expect(received).toEqual: expected "a": 2, received "a": 1',
  ],
  [
    'several lines that differ',
    [
      'Error: expect(received).toEqual(expected) // deep equality\n\n- Expected  - 2\n+ Received  + 2\n\n- a\n- b\n+ c\n+ d',
    ],
    'expect(received).toEqual(expected) failed',
  ],
  [
    'an answer that is not well',
    [
      'Error: expect(response).toBeOK() failed\n\nCall log:\n→ GET http://a/\n← 500 Internal Server Error\n',
    ],
    'expect(response).toBeOK(): received 500 Internal Server Error',
  ],
  [
    'a long text',
    [
      assertion(
        'expect(page).toHaveTitle(expected) failed',
        'Expected: "a"',
        `Received: "${'b'.repeat(300)}"`,
      ),
    ],
    `expect(page).toHaveTitle: expected "a", received "${'b'.repeat(199)}…`,
  ],
  [
    'an action that timed out',
    [`TimeoutError: locator.click: Timeout 800ms exceeded.\n${log(buy)}`],
    `TimeoutError: locator.click: Timeout 800ms exceeded, waiting for ${buy}`,
  ],
  [
    'a test that timed out in an action',
    [
      'Test timeout of 900ms exceeded.',
      `Error: locator.click: Test timeout of 900ms exceeded.\n${log(buy)}`,
    ],
    `Error: locator.click: Test timeout of 900ms exceeded, waiting for ${buy}`,
  ],
  [
    'a test that timed out, and something else that came of it',
    ['Test timeout of 900ms exceeded.', 'Error: page.close: Target page has been closed'],
    'Test timeout of 900ms exceeded',
  ],
  [
    'a text that only looks like one',
    ['connect ECONNREFUSED\nExpected: nothing\nReceived: less'],
    'connect ECONNREFUSED',
  ],
] as [string, string[], string][]) {
  test(`the line of ${name}`, () => {
    assert.equal(errorLine(texts), line);
  });
}
