/**
 * The first process of a run: loads Playwright, waits for its one job on descriptor 4, and becomes
 * the test runner or the script.
 */
'use strict';
const fs = require('node:fs');
const net = require('node:net');
const path = require('node:path');
const { createRequire } = require('node:module');
const { pathToFileURL } = require('node:url');
const { emit, bounded } = require('./events.cjs');
const { instrument, watchSecrets, saveEvidence } = require('./instrument.cjs');
const { startReadyWorker } = require('./ready-worker.cjs');

const runtimeFolder = process.env.MONITOR_RUNTIME;
const inRuntime = createRequire(path.join(runtimeFolder, 'package.json'));

function folderOf(name, from = inRuntime) {
  try {
    return path.dirname(from.resolve(`${name}/package.json`));
  } catch {
    return null;
  }
}

/** Loaded now, so that the job need not wait for it; what a version lacks is loaded later. */
function loadTestRunner(folder) {
  const parts = ['lib/program', 'lib/runner/index', 'lib/runner/testRunner', 'lib/runner/runner'];
  for (const part of [...parts, 'lib/transform/babelBundle', 'lib/reporters/base', 'test']) {
    try {
      require(path.join(folder, part));
    } catch {
      // As said.
    }
  }
}

function runTests(job) {
  process.argv = [process.argv[0], 'playwright', 'test', ...job.args];
  require(path.join(folderOf('@playwright/test'), 'cli.js'));
}

async function runScript(job) {
  const settings = { runtimeFolder, ...job.settings };
  instrument(settings);
  delete process.env.MONITOR_SETTINGS;
  delete process.env.NODE_OPTIONS;
  if (settings.nodeOptions) process.env.NODE_OPTIONS = settings.nodeOptions;
  watchSecrets();
  let hasEnded = false;
  const fail = async (error) => {
    if (hasEnded) return;
    hasEnded = true;
    emit({
      type: 'error',
      message: bounded((error && error.stack && `${error.name}: ${error.message}`) || error),
      stack: error && error.stack ? bounded(error.stack) : null,
      title: null,
    });
    await saveEvidence(process.env.MONITOR_FOLDER);
    emit({ type: 'end', status: 'failed' });
    process.exit(1);
  };
  process.on('uncaughtException', (error) => void fail(error));
  process.on('unhandledRejection', (error) => void fail(error));
  process.on('exit', (code) => {
    if (!hasEnded) emit({ type: 'end', status: code === 0 ? 'passed' : 'failed' });
  });
  const file = path.resolve(job.script);
  process.argv = [process.argv[0], file];
  try {
    await import(pathToFileURL(file).href);
  } catch (error) {
    await fail(error);
  }
}

function start(job) {
  Object.assign(process.env, job.environment, {
    MONITOR_SETTINGS: JSON.stringify(job.settings),
  });
  emit({ type: 'begin', time: Date.now() });
  if (job.script) {
    discardWorker();
    void runScript(job);
  } else runTests(job);
}

let discardWorker = () => undefined;

function waitForJob() {
  const input = new net.Socket({ fd: 4, readable: true, writable: false });
  let text = '';
  input.setEncoding('utf8');
  input.on('data', (part) => {
    text += part;
    const end = text.indexOf('\n');
    if (end === -1) return;
    input.destroy();
    start(JSON.parse(text.slice(0, end)));
  });
  // The agent is gone.
  input.on('end', () => process.exit(0));
}

// Packages of the runtime are found from wherever the script is, also by `import`.
if (!fs.existsSync('node_modules')) {
  fs.symlinkSync(path.join(runtimeFolder, 'node_modules'), 'node_modules');
}
waitForJob();
const testFolder = folderOf('@playwright/test');
if (testFolder !== null) {
  const runner = folderOf('playwright', createRequire(path.join(testFolder, 'package.json')));
  const folders = [runner, testFolder].filter((folder) => folder !== null);
  discardWorker = startReadyWorker(folders);
  for (const folder of folders) loadTestRunner(folder);
}
