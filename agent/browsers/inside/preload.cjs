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

function loadEarly(settings) {
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
  return settings;
}

function startWorker() {
  const { instrument, watchSecrets } = require('./instrument.cjs');
  const settings = { runtimeFolder: process.env.MONITOR_RUNTIME };
  instrument(settings);
  if (process.env.MONITOR_SETTINGS) {
    takeSettings(settings);
    watchSecrets();
    return;
  }
  // Started ahead of its run: what it would have inherited comes as the first message.
  process.prependOnceListener('message', (message) => {
    if (!message || message.method !== '__monitor_environment__') return;
    for (const name of Object.keys(process.env)) {
      if (!(name in message.environment)) delete process.env[name];
    }
    Object.assign(process.env, message.environment);
    takeSettings(settings);
    watchSecrets();
  });
  loadEarly(settings);
}

if (isWorker && process.env.MONITOR_RUNTIME) startWorker();
