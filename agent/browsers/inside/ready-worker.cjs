/**
 * Half of the time of a short test run goes into starting the process that runs the tests. So one is
 * started ahead, with the entry point of the runtime's own test runner, and handed over when the test
 * runner asks for it. Where versions differ from what is known here, it serves that one run, or the test
 * runner forks as always.
 */
'use strict';
const childProcess = require('node:child_process');
const { EventEmitter } = require('node:events');
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

/** What the test runner sees of the process during one run: it ends with the run. */
class LentWorker extends EventEmitter {
  constructor(child) {
    super();
    this.child = child;
    this.pid = child.pid;
    this.stdout = child.stdout;
    this.stderr = child.stderr;
    this.streams = [child.stdout, child.stderr].map((stream) => [
      stream,
      stream.rawListeners('data'),
    ]);
  }

  send(...args) {
    return this.child.send(...args);
  }

  kill(signal) {
    return this.child.kill(signal);
  }

  leave(code, signal) {
    for (const [stream, known] of this.streams) {
      for (const listener of stream.rawListeners('data')) {
        if (!known.includes(listener)) stream.off('data', listener);
      }
    }
    this.emit('exit', code, signal);
    this.emit('close', code, signal);
  }
}

/** The worker of this process: started ahead of the run that it serves, or kept after one. */
class ReadyWorker {
  #entry;
  #fork = childProcess.fork;
  #child = null;
  #early = [];
  /** The run that has it; null while it waits. */
  #lent = null;
  #again = null;

  constructor(entry) {
    this.#entry = entry;
    const child = this.#fork.call(childProcess, entry, {
      detached: false,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      env: process.env,
    });
    this.#child = child;
    // Between runs nobody listens.
    for (const stream of [child.stdout, child.stderr]) stream.resume();
    child.on('message', (message) => this.#receive(message));
    child.once('exit', (code, signal) => {
      this.#child = null;
      this.#again?.resolve(null);
      this.#lent?.leave(code, signal);
    });
    childProcess.fork = (file, ...rest) => this.#lend(file, rest);
  }

  /** True when its run is over and it can be asked to make itself ready again. */
  hasLeft = false;

  #receive(message) {
    if (message.method === '__monitor_left__') {
      this.hasLeft = true;
      const lent = this.#lent;
      this.#lent = null;
      // What it wrote may be on its way yet.
      setImmediate(() => lent.leave(message.params.code, null));
    } else if (message.method === '__monitor_again__') this.#again?.resolve(message.params.bytes);
    else if (this.#lent === null) this.#early.push(message);
    else this.#lent.emit('message', message);
  }

  #lend(file, rest) {
    const options = rest.find((part) => part && !Array.isArray(part)) || {};
    const [, out, err, channel] = options.stdio || [];
    const fits = out === 'pipe' && err === 'pipe' && channel === 'ipc' && options.env;
    const isReady = this.#child !== null && this.#lent === null && !this.hasLeft;
    if (!isReady || !fits || path.resolve(String(file)) !== this.#entry) {
      return this.#fork.call(childProcess, file, ...rest);
    }
    const lent = new LentWorker(this.#child);
    this.#lent = lent;
    this.#child.send({ method: '__monitor_environment__', environment: options.env });
    setImmediate(() => {
      for (const message of this.#early.splice(0)) lent.emit('message', message);
    });
    return lent;
  }

  /** Resolves with the memory that it uses when it can serve another run, or with null. */
  again() {
    if (this.#child === null || !this.hasLeft) return Promise.resolve(null);
    this.hasLeft = false;
    this.#again = Promise.withResolvers();
    this.#child.send({ method: '__monitor_again__' });
    return this.#again.promise;
  }

  /** Ends it when no tests are run. */
  discard() {
    childProcess.fork = this.#fork;
    this.#child?.removeAllListeners();
    this.#child?.kill('SIGKILL');
    this.#child = null;
  }
}

/** Starts it; null when the test runner has no entry point that is known. */
function startReadyWorker(runnerFolders) {
  const entry = findEntry(runnerFolders);
  return entry === null ? null : new ReadyWorker(entry);
}

module.exports = { startReadyWorker };
