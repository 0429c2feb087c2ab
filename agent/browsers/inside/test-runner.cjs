/**
 * The parts of Playwright's test runner that a process keeps while it serves run after run, and those
 * that are loaded anew. Only versions with these files are known; the others serve one run.
 */
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const Module = require('node:module');

/** The real folder of a package as another finds it; null when it is missing. */
function folderOf(name, from) {
  try {
    const find = Module.createRequire(path.join(from, 'package.json'));
    return fs.realpathSync(path.dirname(find.resolve(`${name}/package.json`)));
  } catch {
    return null;
  }
}

function fileIn(folder, ...steps) {
  const file = path.join(folder, 'lib', ...steps);
  return fs.existsSync(file) ? file : null;
}

/** The folders of the test runner of a runtime; null when it has none. */
function runnerOf(runtimeFolder) {
  const test = folderOf('@playwright/test', runtimeFolder);
  const runner = test && folderOf('playwright', test);
  const core = runner && folderOf('playwright-core', runner);
  return core === null ? null : { test, runner, core };
}

/** Null for a version that is not known. */
function knownParts(runtimeFolder) {
  const found = runnerOf(runtimeFolder);
  if (found === null || typeof Module.registerHooks !== 'function') return null;
  const { test, runner, core } = found;
  const parts = {
    folders: [test, runner, core].map((folder) => folder + path.sep),
    // Code of others that has no state of its own; half of the time to load is theirs.
    libraries: [fileIn(core, 'utilsBundle.js'), fileIn(runner, 'transform', 'babelBundle.js')],
    exit: fileIn(core, 'bootstrap.js'),
    common: fileIn(runner, 'common', 'index.js'),
    runner: fileIn(runner, 'runner', 'index.js'),
    worker: fileIn(runner, 'worker', 'workerProcessEntry.js'),
  };
  return Object.values(parts).flat().includes(null) ? null : parts;
}

/** To be called before the test runner is loaded: it then calls `leave` in place of `process.exit`. */
function leaveBy({ exit }, leave) {
  const own = require(exit);
  require.cache[exit].exports = { ...own, processExit: leave };
}

module.exports = { folderOf, knownParts, leaveBy };
