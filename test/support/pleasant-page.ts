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

/** The policy of a page lets no script in; this one comes with the browser itself. */
export async function loadAxe(page: Page): Promise<void> {
  if ((await page.evaluate('typeof axe')) === 'undefined') await page.evaluate(axeSource);
}

export async function assertPleasant(page: Page, waitsFor: string, width: number, name: string) {
  await page.getByText(waitsFor).first().waitFor();
  await page.locator('.loading').first().waitFor({ state: 'detached' });
  assert.equal(await page.evaluate('document.documentElement.scrollWidth'), width, name);
  await loadAxe(page);
  assert.deepEqual(await page.evaluate(inspect), [], name);
}
