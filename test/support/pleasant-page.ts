/** Holds a page to the rules of accessibility, and to its width. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const require = createRequire(import.meta.url);
const axeSource = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

const inspect = `axe.run(document, {
  runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
}).then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes[0].html))`;

export async function assertPleasant(page: Page, waitsFor: string, width: number, name: string) {
  await page.getByText(waitsFor).first().waitFor();
  await page.locator('.loading').first().waitFor({ state: 'detached' });
  assert.equal(await page.evaluate('document.documentElement.scrollWidth'), width, name);
  // The policy of the page lets no script in; this comes with the browser itself.
  if ((await page.evaluate('typeof axe')) === 'undefined') await page.evaluate(axeSource);
  assert.deepEqual(await page.evaluate(inspect), [], name);
}
