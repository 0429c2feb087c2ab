/**
 * The browser of an agentic check: a program of its own in the script host. It reads commands as
 * JSON lines from descriptor 4 and answers on descriptor 3, one at a time and in order. It decides
 * nothing: what to do comes from a model or from a learned script, whom to believe is decided by
 * the agent. Plain CommonJS for Node 18 and later, so that any installed runtime can run it.
 */
'use strict';
const { createReadStream, writeSync } = require('node:fs');
const { createRequire } = require('node:module');
const path = require('node:path');
const { createInterface } = require('node:readline');
const { openBrowser } = require('./browser.cjs');
const { createTools } = require('./tools.cjs');
const { watchBrowsers } = require('../../../browsers/inside/pictures/watch-browsers.cjs');

const runtimeFolder = process.argv[2];

function answer(message) {
  const line = Buffer.from(`${JSON.stringify(message)}\n`);
  let written = 0;
  while (written < line.length) {
    try {
      written += writeSync(3, line, written);
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error;
    }
  }
}

async function main() {
  const { chromium } = createRequire(path.join(runtimeFolder, 'package.json'))('playwright');
  let browser;
  let tools;
  for await (const line of createInterface({ input: createReadStream('', { fd: 4 }) })) {
    const { id, tool, input } = JSON.parse(line);
    const startedAt = performance.now();
    try {
      let output = {};
      if (tool === 'open') {
        watchBrowsers(
          () => input.pictures,
          () => undefined,
        );
        browser = await openBrowser(chromium, input);
        tools = createTools(browser);
      } else if (tool === 'close') {
        output = await browser.close(input);
      } else {
        output = await tools[tool](input);
      }
      answer({ id, ok: true, output, tookMs: performance.now() - startedAt });
    } catch (error) {
      const problem = String(error?.message ?? error)
        // eslint-disable-next-line no-control-regex
        .replace(/\u001b\[[0-9;]*m/g, '')
        .slice(0, 20_000);
      const code = browser?.deathCode() ?? error?.problemCode ?? 'FAILED';
      answer({ id, ok: false, code, problem, tookMs: performance.now() - startedAt });
    }
    if (tool === 'close') break;
  }
}

main().then(
  () => process.exit(0),
  (error) => {
    answer({ id: 0, ok: false, code: 'BROKEN', problem: String(error?.stack ?? error), tookMs: 0 });
    process.exit(1);
  },
);
