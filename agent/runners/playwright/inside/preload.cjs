/**
 * Loaded first by every Node of the suite. Where that Node is about to run Playwright's tests, they
 * are traced: an option on the command line outranks the configuration, and every Playwright has it.
 */
const [, script = '', command] = process.argv;
const isPlaywright = /[\\/](@?playwright([\\/]test|-core)?[\\/]cli(\.js)?|\.bin[\\/]playwright)$/;

if (
  command === 'test' &&
  isPlaywright.test(script) &&
  !process.argv.some((argument) => /^--(trace|list|help)\b/.test(argument))
) {
  process.argv.splice(3, 0, '--trace', 'on');
}

// Pictures of pages leave without secrets, and pages are measured; every process of the suite may start browsers.
const { measureVitals } = require(__dirname + '/vitals.cjs');
const { meterInto } = require(__dirname + '/page-meter.cjs');
const meterOf = meterInto(__dirname + '/pages.jsonl', measureVitals);
require(__dirname + '/watch-browsers.cjs').watchRun(__dirname, meterOf);

const masks = require(__dirname + '/masks.json');
if (masks.length > 0) require(__dirname + '/masks.cjs').maskSuite(masks);
