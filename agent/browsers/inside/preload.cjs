/**
 * Loaded by every Node process of a run (NODE_OPTIONS). In the processes that Playwright's test runner
 * forks to run tests it instruments; everywhere else it does nothing.
 */
'use strict';
const path = require('node:path');

const entry = process.argv[1] || '';
const isWorker =
  /playwright[^/]*[\\/]lib[\\/].*(workerProcessEntry|common[\\/]process)\.js$/.test(entry) ||
  /@playwright[\\/]test[\\/]lib[\\/].*process\.js$/.test(entry);

/** Settings travel as a variable and are taken out of the sight of scripts. */
function takeSettings(settings) {
  Object.assign(settings, JSON.parse(process.env.MONITOR_SETTINGS || '{}'));
  delete process.env.MONITOR_SETTINGS;
  delete process.env.NODE_OPTIONS;
  if (settings.nodeOptions) process.env.NODE_OPTIONS = settings.nodeOptions;
}

function loadEarly() {
  const folder = path.dirname(entry);
  for (const module of [
    'workerMain.js',
    '../worker/workerMain.js',
    '../transform/babelBundle.js',
  ]) {
    try {
      require(path.join(folder, module));
    } catch {
      // Versions differ in what they have; the worker loads it later then.
    }
  }
}

/** Started ahead of its run: what it would have inherited comes as the first message. */
function takeEnvironment(settings, watchSecrets, enter = () => undefined) {
  process.prependOnceListener('message', (message) => {
    if (!message || message.method !== '__monitor_environment__') return;
    enter();
    for (const name of Object.keys(process.env)) {
      if (!(name in message.environment)) delete process.env[name];
    }
    Object.assign(process.env, message.environment);
    takeSettings(settings);
    watchSecrets();
  });
}

/**
 * A worker that serves one run after the other of the same check. When the test runner lets it go it
 * says so instead of ending, and waits until it is told to make itself ready again.
 */
function serveRuns(parts) {
  const { Baseline, ownBytes } = require('./fresh-state.cjs');
  const { leaveBy } = require('./test-runner.cjs');
  for (const library of parts.libraries) require(library);
  const baseline = new Baseline([__dirname, ...parts.folders]);
  let isLeaving = false;
  const begin = () => {
    isLeaving = false;
    leaveBy(parts, (code) => {
      if (code !== 0) process.exit(code);
      if (isLeaving) return;
      isLeaving = true;
      process.emit('exit', code);
      process.once('message', (message) => {
        if (message && message.method === '__monitor_again__') void again();
      });
      process.send({ method: '__monitor_left__', params: { code } });
    });
    const { instrument, watchSecrets } = require('./instrument.cjs');
    const settings = { runtimeFolder: process.env.MONITOR_RUNTIME };
    instrument(settings);
    takeEnvironment(settings, watchSecrets, () => baseline.enter());
    loadEarly();
  };
  const again = async () => {
    if ((await baseline.restore()) !== null) process.exit(0);
    begin();
    require(entry);
    process.send({ method: '__monitor_again__', params: { bytes: ownBytes() } });
  };
  begin();
}

function startWorker() {
  const settings = { runtimeFolder: process.env.MONITOR_RUNTIME };
  if (process.env.MONITOR_SETTINGS) {
    const { instrument, watchSecrets } = require('./instrument.cjs');
    instrument(settings);
    takeSettings(settings);
    watchSecrets();
    return;
  }
  const { knownParts } = require('./test-runner.cjs');
  const parts = knownParts(settings.runtimeFolder);
  if (parts !== null) {
    serveRuns(parts);
    return;
  }
  const { instrument, watchSecrets } = require('./instrument.cjs');
  instrument(settings);
  takeEnvironment(settings, watchSecrets);
  loadEarly();
}

if (isWorker && process.env.MONITOR_RUNTIME) startWorker();
