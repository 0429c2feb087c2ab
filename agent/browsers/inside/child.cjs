/**
 * The first process of a run: loads Playwright, waits for a job on descriptor 4, and becomes the test
 * runner or the script. As the test runner it can serve the next run of the same check, when all tests
 * have passed and nothing is left of the run: see fresh-state.cjs.
 */
'use strict';
const fs = require('node:fs');
const net = require('node:net');
const path = require('node:path');
const { createRequire } = require('node:module');
const { pathToFileURL } = require('node:url');
const { Baseline, ownBytes } = require('./fresh-state.cjs');
const { startReadyWorker } = require('./ready-worker.cjs');
const { folderOf, knownParts } = require('./test-runner.cjs');

const runtimeFolder = process.env.MONITOR_RUNTIME;
const testFolder = folderOf('@playwright/test', runtimeFolder);
const sharedMemory = '/dev/shm';

const say = (message) => fs.writeSync(3, `${JSON.stringify(message)}\n`);

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
  process.argv = [process.argv[0], 'playwright', 'test', '--config', job.config];
  require(path.join(testFolder, 'cli.js'));
}

async function runScript(job) {
  const { emit, bounded } = require('./events.cjs');
  const { instrument, watchSecrets, saveEvidence } = require('./instrument.cjs');
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
      time: Date.now(),
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

/** Null when the file is gone. */
function ownerOf(file) {
  return fs.lstatSync(file, { throwIfNoEntry: false })?.uid ?? null;
}

function enterRun(job) {
  Object.assign(process.env, job.environment, {
    MONITOR_SETTINGS: JSON.stringify(job.settings),
  });
  require('./events.cjs').emit({ type: 'begin', time: Date.now() });
}

/** Packages of the runtime are found from wherever the script is, also by `import`. */
function linkPackages() {
  if (fs.existsSync('node_modules')) return;
  fs.symlinkSync(path.join(runtimeFolder, 'node_modules'), 'node_modules');
}

/** Serves one run, with what every version of the test runner has. */
function serveOnce(runnerFolders, worker) {
  for (const folder of runnerFolders) loadTestRunner(folder);
  return (job, stopWaiting) => {
    stopWaiting();
    enterRun(job);
    if (job.script) {
      worker?.discard();
      void runScript(job);
    } else runTests(job);
  };
}

/** Serves run after run of a check whose tests pass. */
function serveRuns(parts, worker) {
  for (const library of parts.libraries) require(library);
  const baseline = new Baseline([__dirname, ...parts.folders]);
  const shared = () =>
    fs
      .readdirSync(sharedMemory)
      .filter((name) => ownerOf(path.join(sharedMemory, name)) === process.getuid())
      .join();
  const sharedBefore = shared();
  const load = () => [parts.common, parts.runner].map((file) => require(file));

  const run = async (job) => {
    baseline.enter();
    enterRun(job);
    process.argv = [process.argv[0], 'playwright', 'test', '--config', job.config];
    const [{ configLoader }, { projectUtils, testRunner }] = load();
    const config = await configLoader.loadConfigFromFile(job.config, { argv: process.argv });
    projectUtils.filterProjects(config.projects);
    return testRunner.runAllTestsWithConfig(config, {});
  };
  const again = async () => {
    const workerIsReady = worker.again();
    const reason = await baseline.restore();
    const isClean = reason === null && shared() === sharedBefore;
    const bytes = isClean ? await workerIsReady : null;
    if (bytes === null) process.exit(0);
    linkPackages();
    load();
    say({ type: 'ready', bytes: bytes + ownBytes() });
  };
  load();
  return (job, stopWaiting) => {
    if (job.type === 'again') void again();
    else if (job.script) {
      stopWaiting();
      worker.discard();
      enterRun(job);
      void runScript(job);
    } else {
      run(job).then(
        (status) => {
          process.emit('exit', 0);
          if (status === 'passed' && worker.hasLeft) say({ type: 'passed' });
          else process.exit(status === 'passed' ? 0 : status === 'interrupted' ? 130 : 1);
        },
        (error) => {
          console.error(error);
          process.exit(1);
        },
      );
    }
  };
}

/** `serve` gets each job, and what it calls to get no more: a script ends when nothing is open. */
function waitForJobs(serve) {
  const input = new net.Socket({ fd: 4, readable: true, writable: false });
  let text = '';
  input.setEncoding('utf8');
  input.on('data', (part) => {
    text += part;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n')) {
      const line = text.slice(0, end);
      text = text.slice(end + 1);
      const job = JSON.parse(line);
      if (job.type === 'leave') process.exit(0);
      serve(job, () => input.destroy());
    }
  });
  // The agent is gone.
  input.on('end', () => process.exit(0));
}

linkPackages();
if (testFolder === null) waitForJobs(serveOnce([], null));
else {
  const runner = folderOf('playwright', testFolder);
  const folders = [runner, testFolder].filter((folder) => folder !== null);
  const worker = startReadyWorker(folders);
  const parts = worker === null ? null : knownParts(runtimeFolder);
  waitForJobs(parts === null ? serveOnce(folders, worker) : serveRuns(parts, worker));
}
