/** Masks for every screenshot that tests compare, beside those of the tests themselves. */
'use strict';

const marked = Symbol('masks of the check');

function maskPage(page, selectors) {
  const compare = page._expectScreenshot;
  if (page[marked] || typeof compare !== 'function') return;
  page[marked] = true;
  const withMasks = (options) => ({
    ...options,
    mask: [
      ...((options && options.mask) || []),
      ...selectors.map((selector) => page.locator(`css=${selector}`)),
    ],
  });
  page._expectScreenshot = (options) =>
    compare.call(
      page,
      // Of versions before 1.35.
      options && options.screenshotOptions
        ? { ...options, screenshotOptions: withMasks(options.screenshotOptions) }
        : withMasks(options),
    );
}

/** Of a context that has just been made. */
function maskContext(context, selectors) {
  if (!selectors || selectors.length === 0) return;
  for (const page of context.pages()) maskPage(page, selectors);
  context.on('page', (page) => maskPage(page, selectors));
}

/** In the processes of a suite: contexts of every Playwright that it loads. */
function maskSuite(selectors) {
  const Module = require('node:module');
  const load = Module._load;
  const watch = (browser) => {
    const prototype = Object.getPrototypeOf(browser);
    if (prototype[marked]) return;
    prototype[marked] = true;
    const { newContext } = prototype;
    prototype.newContext = async function (...args) {
      const context = await newContext.apply(this, args);
      maskContext(context, selectors);
      return context;
    };
  };
  const instrument = (type) => {
    if (!type || type[marked]) return;
    type[marked] = true;
    for (const name of ['launch', 'connect', 'connectOverCDP']) {
      const open = type[name];
      type[name] = async (...args) => {
        const browser = await open.apply(type, args);
        watch(browser);
        return browser;
      };
    }
    const persistent = type.launchPersistentContext;
    type.launchPersistentContext = async (...args) => {
      const context = await persistent.apply(type, args);
      maskContext(context, selectors);
      return context;
    };
  };
  Module._load = function (...args) {
    const loaded = Reflect.apply(load, this, args);
    if (/playwright/.test(String(args[0])) && loaded && loaded.chromium && loaded.webkit) {
      for (const name of ['chromium', 'firefox', 'webkit']) instrument(loaded[name]);
    }
    return loaded;
  };
}

module.exports = { maskContext, maskSuite };
