/**
 * Loaded first by every Node of the suite. Where that Node is about to run Playwright's tests, they
 * are traced, and where they are shared it runs its shard: an option on the command line outranks the
 * configuration, and every Playwright has these.
 */
const [, script = '', command] = process.argv;
const isPlaywright = /[\\/](@?playwright([\\/]test|-core)?[\\/]cli(\.js)?|\.bin[\\/]playwright)$/;

if (command === 'test' && isPlaywright.test(script)) {
  const names = (option) => process.argv.some((argument) => option.test(argument));
  if (!names(/^--(trace|list|help)\b/)) process.argv.splice(3, 0, '--trace', 'on');
  const shard = process.env.MONITOR_SHARD;
  if (shard && !names(/^--(shard|list|help)\b/)) process.argv.splice(3, 0, '--shard=' + shard);
}

// Pictures of pages leave without secrets, and pages are measured; every process of the suite may start browsers.
const { measureVitals } = require(__dirname + '/vitals.cjs');
const { meterInto } = require(__dirname + '/page-meter.cjs');
const meterOf = meterInto(__dirname + '/pages.jsonl', measureVitals);
require(__dirname + '/watch-browsers.cjs').watchRun(__dirname, meterOf);

const masks = require(__dirname + '/masks.json');
if (masks.length > 0) require(__dirname + '/masks.cjs').maskSuite(masks);
