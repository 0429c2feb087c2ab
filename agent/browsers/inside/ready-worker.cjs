/**
 * Half of the time of a short test run goes into starting the process that runs the tests. So one is
 * started ahead, with the entry point of the runtime's own test runner, and handed over when the test
 * runner asks for it. It serves that one run. Where versions differ from what is known here, the test
 * runner forks as always.
 */
'use strict';
const childProcess = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const entries = ['lib/worker/workerProcessEntry.js', 'lib/common/process.js'];

function findEntry(runnerFolders) {
  for (const folder of runnerFolders) {
    for (const entry of entries) {
      const file = path.join(folder, entry);
      if (fs.existsSync(file)) return fs.realpathSync(file);
    }
  }
  return null;
}

/** Starts it and sees to it that the test runner gets it. Gives what ends it when no tests are run. */
function startReadyWorker(runnerFolders) {
  const entry = findEntry(runnerFolders);
  if (entry === null) return () => undefined;
  const { fork } = childProcess;
  let ready = fork.call(childProcess, entry, {
    detached: false,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: process.env,
  });
  const early = [];
  const keep = (message) => early.push(message);
  ready.on('message', keep);
  ready.once('exit', () => {
    ready = null;
  });
  childProcess.fork = function (file, ...rest) {
    const options = rest.find((part) => part && !Array.isArray(part)) || {};
    const [, out, err, channel] = options.stdio || [];
    const fits = out === 'pipe' && err === 'pipe' && channel === 'ipc' && options.env;
    if (ready === null || !fits || path.resolve(String(file)) !== entry) {
      return fork.call(childProcess, file, ...rest);
    }
    const worker = ready;
    ready = null;
    worker.removeListener('message', keep);
    worker.send({ method: '__monitor_environment__', environment: options.env });
    setImmediate(() => {
      for (const message of early) worker.emit('message', message);
    });
    return worker;
  };
  return () => {
    if (ready === null) return;
    ready.removeAllListeners();
    ready.kill('SIGKILL');
    ready = null;
    childProcess.fork = fork;
  };
}

module.exports = { startReadyWorker };
