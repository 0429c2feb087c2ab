/** What must be true of a page, judged by the browser and never by the model. */
'use strict';
const { problem } = require('./problem.cjs');

const holdMs = 5_000;
const pollMs = 100;
/** The agent removes secrets before it cuts, so that none is cut in half. */
const maxActualChars = 100_000;

const collapse = (text) => text.replace(/\s+/g, ' ').trim();

const escape = (text) => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');

/** `12 €` is not part of `112 €`, nor `12` of `12,50`: numbers are whole. */
function containing(expected) {
  const before = /^\d/.test(expected) ? '(?<![\\d]|\\d[.,])' : '';
  const after = /\d$/.test(expected) ? '(?!\\d|[.,]\\d)' : '';
  return `${before}${escape(expected)}${after}`;
}

/** Case does not count in texts: style sheets change it. */
function matches(actual, { check, expected, match }) {
  if (match === 'regex') return new RegExp(expected, 'u').test(actual);
  const flags = check === 'text' || check === 'no_text' ? 'ui' : 'u';
  const pattern = containing(collapse(expected));
  const whole = match === 'equals' ? `^${escape(collapse(expected))}$` : pattern;
  return new RegExp(whole, flags).test(collapse(actual));
}

async function stateOf(locator, wanted) {
  if (wanted === 'visible' || wanted === 'hidden') {
    return (await locator.isVisible()) ? 'visible' : 'hidden';
  }
  if (wanted === 'enabled' || wanted === 'disabled') {
    return (await locator.isEnabled({ timeout: 1_000 })) ? 'enabled' : 'disabled';
  }
  if (wanted === 'checked' || wanted === 'unchecked') {
    return (await locator.isChecked({ timeout: 1_000 })) ? 'checked' : 'unchecked';
  }
  throw problem(
    'INVALID',
    `"${wanted}" is not a state; use visible, hidden, enabled, disabled, checked or unchecked`,
  );
}

async function observe(page, locator, { check, expected }) {
  if (check === 'url') return page.url();
  if (check === 'title') return page.title();
  if (check === 'state') return stateOf(locator, expected);
  if (check === 'value') return locator.inputValue({ timeout: 1_000 });
  if (locator !== null) return locator.innerText({ timeout: 1_000 });
  const texts = page.frames().map((frame) =>
    frame
      .locator('body')
      .innerText({ timeout: 1_000 })
      .catch(() => ''),
  );
  return (await Promise.all(texts)).join('\n');
}

function holds(actual, assertion) {
  if (assertion.check === 'state') return actual === assertion.expected;
  if (assertion.check === 'no_text')
    return !matches(actual, {
      ...assertion,
      match: assertion.match === 'regex' ? 'regex' : 'contains',
    });
  return matches(actual, assertion);
}

/** Waits a moment for it to become true, as a person would. */
async function evaluate(page, locator, assertion, timeoutMs = holdMs) {
  if (assertion.match === 'regex') {
    try {
      new RegExp(assertion.expected, 'u');
    } catch (error) {
      throw problem('INVALID', `the regular expression cannot be used: ${error.message}`);
    }
  }
  const startedAt = performance.now();
  for (;;) {
    let actual;
    try {
      actual = await observe(page, locator, assertion);
    } catch (error) {
      if (error.problemCode !== undefined || performance.now() - startedAt > timeoutMs) throw error;
      actual = null;
    }
    const passed = actual !== null && holds(actual, assertion);
    if (passed || (actual !== null && performance.now() - startedAt > timeoutMs)) {
      return { passed, actual: collapse(actual).slice(0, maxActualChars) };
    }
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}

module.exports = { evaluate };
