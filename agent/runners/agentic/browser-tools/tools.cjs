/**
 * What can be done with the browser. An element is given by `ref` (of the last snapshot) or by
 * `target` (of a learned script). Whatever acts on an element answers with the target it acted on.
 */
'use strict';
const path = require('node:path');
const { requireAllowed } = require('./addresses.cjs');
const { evaluate } = require('./assertions.cjs');
const { elementOf, findTarget, snapshotOf } = require('./elements.cjs');
const { problem } = require('./problem.cjs');

function createTools(browser) {
  let snapshot = '';
  let pictures = 0;

  async function element(input, options) {
    const page = browser.page();
    if (input.target != null) {
      const found = await findTarget(page, input.target, input.timeoutMs);
      if (found === null) {
        throw problem('MISSING', `the page has no ${input.target.title || 'such element'}`);
      }
      return { ...found, target: input.target };
    }
    return { ...(await elementOf(page, snapshot, input.ref, options)), isSure: true };
  }

  async function acted(extra = {}) {
    await browser.settle();
    return { ...extra, url: browser.page().url(), notes: browser.takeNotes() };
  }

  return {
    async snapshot() {
      const page = await browser.reopen();
      snapshot = await snapshotOf(page);
      return {
        url: page.url(),
        title: await page.title(),
        windows: browser.windows,
        notes: browser.takeNotes(),
        snapshot,
      };
    },
    async navigate({ url }) {
      await requireAllowed(url);
      const page = await browser.reopen();
      const response = await page.goto(url, { waitUntil: 'load' });
      return acted({ status: response?.status() ?? null });
    },
    async back() {
      const page = browser.page();
      const response = await page.goBack();
      if (response === null && browser.windows > 1) await page.close();
      return acted();
    },
    async click(input) {
      const { locator, target } = await element(input);
      await locator.click();
      return acted({ target });
    },
    async hover(input) {
      const { locator, target } = await element(input);
      await locator.hover();
      return acted({ target });
    },
    /** In which page or frame an element stands. */
    async where(input) {
      const { locator } = await element(input);
      const handle = await locator.elementHandle();
      const frame = (await handle.ownerFrame()) ?? browser.page().mainFrame();
      await handle.dispose();
      return { url: frame.url() === 'about:srcdoc' ? browser.page().url() : frame.url() };
    },
    async type(input) {
      const { locator, target } = await element(input);
      if (input.slowly) {
        await locator.fill('');
        await locator.pressSequentially(input.text, { delay: 20 });
      } else {
        await locator.fill(input.text);
      }
      if (input.submit) await locator.press('Enter');
      return acted({ target });
    },
    async press(input) {
      if (input.ref == null && input.target == null) {
        await browser.page().keyboard.press(input.key);
        return acted({ target: null });
      }
      const { locator, target } = await element(input);
      await locator.press(input.key);
      return acted({ target });
    },
    async select(input) {
      const { locator, target } = await element(input);
      await locator.selectOption(input.values.map((label) => ({ label }))).catch(async () => {
        await locator.selectOption(input.values);
      });
      return acted({ target });
    },
    async wait_for({ text, gone, timeoutMs = 10_000 }) {
      const place = browser.page().getByText(text).first();
      await place.waitFor({ state: gone ? 'hidden' : 'visible', timeout: timeoutMs });
      return acted();
    },
    async screenshot() {
      pictures += 1;
      const file = path.resolve(`screenshot-${pictures}.png`);
      await browser.page().screenshot({ path: file, animations: 'disabled', timeout: 5_000 });
      return { file, notes: browser.takeNotes() };
    },
    async assert(input) {
      const page = browser.page();
      const needsElement = input.check === 'value' || input.check === 'state';
      if (input.ref == null && input.target == null) {
        if (needsElement) throw problem('INVALID', `check "${input.check}" needs a ref`);
        return { ...(await evaluate(page, null, input)), target: null, isSure: true };
      }
      if (input.target != null && input.check === 'state' && input.expected === 'hidden') {
        const found = await findTarget(page, input.target, 0);
        if (found === null)
          return { passed: true, actual: 'hidden', target: input.target, isSure: true };
      }
      const isRead = ['text', 'no_text'].includes(input.check);
      const { locator, target, isSure } = await element(input, { isRead });
      return { ...(await evaluate(page, locator, input)), target, isSure };
    },
  };
}

module.exports = { createTools };
