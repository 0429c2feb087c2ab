/**
 * The part of a customer's Playwright configuration that applies to a check. What decides about
 * processes, files and browsers is the agent's. Spec: Browser check.
 */
'use strict';
const { emit } = require('./events.cjs');

const allowed = ['timeout', 'use', 'expect'];
const allowedUse = [
  ...['baseURL', 'colorScheme', 'geolocation', 'locale', 'permissions', 'timezoneId'],
  ...['viewport', 'deviceScaleFactor', 'hasTouch', 'isMobile', 'javaScriptEnabled'],
  ...['extraHTTPHeaders', 'httpCredentials', 'ignoreHTTPSErrors', 'offline', 'actionTimeout'],
  ...['navigationTimeout', 'testIdAttribute', 'connectOptions', 'contextOptions', 'bypassCSP'],
  ...['proxy', 'clientCertificates', 'userAgent'],
];
const allowedExpect = ['timeout', 'toHaveScreenshot', 'toMatchSnapshot'];

function pick(given, names, where, ignored) {
  const kept = {};
  for (const [name, value] of Object.entries(given || {})) {
    if (names.includes(name)) kept[name] = value;
    else ignored.push(`${where}${name}`);
  }
  return kept;
}

/** The agent's configuration with what the customer's may add to it. */
function mergeConfig(own, given) {
  const ignored = [];
  const kept = pick(given, allowed, '', ignored);
  const use = pick(kept.use, allowedUse, 'use.', ignored);
  const expect = pick(kept.expect, allowedExpect, 'expect.', ignored);
  // The configuration is loaded by several processes; one of them says it.
  if (ignored.length > 0 && process.env.TEST_WORKER_INDEX === undefined && !process.send) {
    emit({
      type: 'warning',
      message: `the Playwright configuration of the check sets what the agent decides: ${ignored.join(', ')} (ignored)`,
    });
  }
  const merged = { ...own.use, ...use };
  // A remote browser cannot reach the gateway of the agent.
  if (use.connectOptions && !use.proxy) delete merged.proxy;
  return { ...own, ...kept, use: merged, expect };
}

/** `exports.default` of a module that was compiled from ES syntax. */
function defaultOf(module) {
  return module && module.default !== undefined ? module.default : module;
}

module.exports = { mergeConfig, defaultOf };
