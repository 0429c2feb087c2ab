/**
 * Starts a browser as runs do, prints the empty page and ends. Settings in `MONITOR_BROWSER`. On an error
 * it prints the error and what the browser printed, without the arguments that the browser was given.
 */
'use strict';
const { chromium } = require('playwright');

async function main() {
  const { executablePath, args, environment, timeoutMs } = JSON.parse(process.env.MONITOR_BROWSER);
  const env = { ...process.env, ...environment };
  const browser = await chromium.launch({ executablePath, args, env, timeout: timeoutMs });
  const page = await browser.newPage();
  process.stdout.write(await page.content());
  await browser.close();
}

main().catch((error) => {
  const [first = '', ...lines] = String(error.message).split('\n');
  const printed = lines.flatMap((line) => /\[pid=\d+\]\[(?:err|out)\] (.*)/.exec(line)?.[1] ?? []);
  process.stderr.write(`${[first, ...printed].join('\n')}\n`);
  process.exitCode = 1;
});
