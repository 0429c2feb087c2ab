/**
 * Makes a process that has run code of a check as it was before, so that it can run the same check
 * again: modules are loaded anew, everything that is reachable from the global object and from the
 * modules of Node gets its properties back, listeners, variables and the working folder too. What
 * cannot be put back, or not be seen, is a reason to end the process instead: modules of the newer
 * system, compiled modules, settings of Node that it does not show, handles that stay open.
 */
'use strict';
const fs = require('node:fs');
const { types } = require('node:util');
const Module = require('node:module');
const { pathToFileURL } = require('node:url');

/** Modules of Node that code may use without leaving what cannot be seen; all are looked at. */
const seen = [
  ...['assert', 'assert/strict', 'buffer', 'child_process', 'console', 'constants', 'crypto'],
  ...['dgram', 'dns', 'dns/promises', 'events', 'fs', 'fs/promises', 'http', 'http2', 'https'],
  ...['net', 'os', 'path', 'path/posix', 'perf_hooks', 'process', 'querystring', 'readline'],
  ...['stream', 'stream/promises', 'string_decoder', 'timers', 'timers/promises', 'tls', 'tty'],
  ...['url', 'util', 'util/types', 'zlib'],
];

/** Functions that change what Node does not show. */
const hiddenSetters = {
  crypto: ['setEngine', 'setFips'],
  dns: ['setDefaultResultOrder', 'setServers'],
  events: ['setMaxListeners'],
  http: ['setGlobalProxyFromEnv', 'setMaxIdleHTTPParsers'],
  net: ['setDefaultAutoSelectFamily', 'setDefaultAutoSelectFamilyAttemptTimeout'],
  process: [
    ...['_linkedBinding', 'addUncaughtExceptionCaptureCallback', 'binding', 'dlopen'],
    ...['getBuiltinModule', 'setSourceMapsEnabled', 'setUncaughtExceptionCaptureCallback'],
  ],
  stream: ['setDefaultHighWaterMark'],
  tls: ['setDefaultCACertificates'],
  util: ['setTraceSigInt'],
};

/** Of Node itself. */
const inEveryProcess = new Set(['async', 'check', 'idle', 'loop', 'prepare', 'timer']);
const handlesCloseWithinMs = 1_000;

function* samplesOfIntrinsics() {
  yield globalThis;
  yield async () => undefined;
  yield function* () {};
  yield async function* () {};
  for (const iterable of [[], '', new Map(), new Set(), 'x'.matchAll(/x/g)]) {
    yield iterable[Symbol.iterator]();
  }
  yield Object.getPrototypeOf(Uint8Array);
}

const isObject = (value) =>
  (typeof value === 'object' && value !== null) || typeof value === 'function';

/** What has a state of its own that goes on, such as a stream: only what it shares with others is looked at. */
function isInstance(value) {
  if (typeof value === 'function' || Array.isArray(value) || types.isMap(value)) return false;
  if (types.isSet(value) || value === process || value === globalThis) return false;
  const prototype = Reflect.getPrototypeOf(value);
  if (prototype === null || prototype === Object.prototype) return false;
  return !Object.hasOwn(value, 'constructor');
}

/** Listeners are put back one by one: a signal is watched as long as it has one. */
const keysOf = (value) =>
  Reflect.ownKeys(value).filter(
    (key) => value !== process || (key !== '_events' && key !== '_eventsCount'),
  );

/** Handles and requests by what they are; also handles that would not keep the process alive. */
function open() {
  const handles = process.report
    .getReport()
    .libuv.filter(({ type, is_active: isActive }) => isActive && !inEveryProcess.has(type))
    .map(({ type }) => type);
  return [...handles, ...process.getActiveResourcesInfo()];
}

const entriesOf = (value) =>
  types.isMap(value)
    ? [...Map.prototype.entries.call(value)]
    : [...Set.prototype.values.call(value)];

const hasEntries = (value) => types.isMap(value) || types.isSet(value);

class Baseline {
  #objects = new Map();
  #modules;
  #environment = { ...process.env };
  #variables = process.env;
  #listeners = new Map();
  #folder = process.cwd();
  #mask = process.umask();
  #open = [];
  #timers = [];
  #reason = null;
  #agents;
  /** Instances that are looked at as a whole. */
  #whole;
  /** What is written by them; Playwright takes their place. */
  #streams = [process.stdout, process.stderr].map((stream) => [
    stream,
    Reflect.getOwnPropertyDescriptor(stream, 'write'),
  ]);
  #hooks = [];

  /** `ownFolders`: code in them may use all of Node. */
  constructor(ownFolders) {
    // What takes time to gather.
    process.report.excludeNetwork = true;
    const modules = seen.map((name) => require(`node:${name}`));
    this.#agents = [require('node:http').globalAgent, require('node:https').globalAgent];
    this.#whole = new Set([...this.#agents, console, performance]);
    for (const [name, setters] of Object.entries(hiddenSetters)) this.#guard(name, setters);
    for (const name of ['setImmediate', 'setInterval', 'setTimeout']) this.#watchTimers(name);
    this.#watchImports(ownFolders);
    // Caches by path, of the same files.
    const skipped = new Set([process.env, require.cache, Module._pathCache]);
    this.#record([...samplesOfIntrinsics(), ...modules, ...this.#whole], skipped);
    for (const name of process.eventNames()) this.#listeners.set(name, process.rawListeners(name));
    this.#modules = new Set(Object.keys(require.cache));
  }

  /** To be called when a run begins: what is open by then is not of the run. */
  enter() {
    this.#open = open();
    this.#timers = [];
  }

  #note(reason) {
    this.#reason ??= reason;
  }

  #guard(name, setters) {
    const owner = name === 'process' ? process : require(`node:${name}`);
    for (const setter of setters) {
      const own = owner[setter];
      if (typeof own !== 'function') continue;
      const note = () => this.#note(`${name}.${setter} was called`);
      const watched = {
        [setter](...args) {
          note();
          return Reflect.apply(own, this, args);
        },
      };
      owner[setter] = watched[setter];
    }
  }

  /** Node lists only timers that keep the process alive. */
  #watchTimers(name) {
    const own = globalThis[name];
    const watched = (...args) => {
      const timer = own(...args);
      this.#timers.push(new WeakRef(timer));
      return timer;
    };
    Object.defineProperties(watched, Object.getOwnPropertyDescriptors(own));
    globalThis[name] = watched;
    require('node:timers')[name] = watched;
  }

  #watchImports(ownFolders) {
    const own = ownFolders.map((folder) => pathToFileURL(folder).href);
    const { registerHooks } = Module;
    // The test runner sets its hooks each time it is loaded.
    Module.registerHooks = (hooks) => {
      const registered = registerHooks(hooks);
      this.#hooks.push(registered);
      return registered;
    };
    registerHooks({
      resolve: (specifier, context, next) => {
        const found = next(specifier, context);
        if (own.some((folder) => context.parentURL?.startsWith(folder))) return found;
        const name = /^node:(.*)$/.exec(found.url)?.[1];
        if (name === undefined) {
          if (context.conditions.includes('import')) this.#note(`${found.url} was imported`);
        } else if (!seen.includes(name)) this.#note(`node:${name} was used`);
        return found;
      },
    });
  }

  #record(roots, skipped) {
    const queue = [...roots];
    while (queue.length > 0) {
      const value = queue.pop();
      if (!isObject(value) || this.#objects.has(value) || skipped.has(value)) continue;
      const prototype = Reflect.getPrototypeOf(value);
      queue.push(prototype ?? Object.prototype);
      if (isInstance(value) && !this.#whole.has(value)) continue;
      const properties = new Map();
      for (const key of keysOf(value)) {
        const property = Reflect.getOwnPropertyDescriptor(value, key);
        properties.set(key, property);
        for (const part of [property.value, property.get, property.set]) {
          if (isObject(part)) queue.push(part);
        }
      }
      const entries = hasEntries(value) ? entriesOf(value) : null;
      this.#objects.set(value, {
        ...{ prototype, properties, entries },
        isExtensible: Reflect.isExtensible(value),
      });
    }
  }

  #restoreProperties() {
    for (const [value, known] of this.#objects) {
      const isRestored = restore(value, known);
      if (!isRestored) this.#note('something global was made unchangeable');
    }
  }

  #restoreListeners() {
    for (const name of process.eventNames()) {
      const known = this.#listeners.get(name) ?? [];
      for (const listener of process.rawListeners(name)) {
        if (!known.includes(listener)) process.removeListener(name, listener);
      }
    }
    for (const [name, known] of this.#listeners) {
      const current = process.rawListeners(name);
      if (known.some((listener, index) => current[index] !== listener)) {
        this.#note(`a listener of ${String(name)} was removed`);
      }
    }
  }

  #restoreVariables() {
    process.env = this.#variables;
    for (const name of Object.keys(process.env)) {
      if (!(name in this.#environment)) delete process.env[name];
    }
    Object.assign(process.env, this.#environment);
  }

  #unload() {
    for (const [file, module] of Object.entries(require.cache)) {
      if (this.#modules.has(file)) {
        module.children = module.children.filter(({ filename }) => this.#modules.has(filename));
        continue;
      }
      if (file.endsWith('.node')) this.#note('a compiled module was loaded');
      if (types.isModuleNamespaceObject(module.exports)) this.#note(`${file} was imported`);
      delete require.cache[file];
    }
  }

  /** What was not open when the run began; it closes on its own or not at all. */
  #leftOpen() {
    const left = [...this.#open];
    return open().filter((name) => {
      const index = left.indexOf(name);
      if (index !== -1) left.splice(index, 1);
      return index === -1;
    });
  }

  async #closeHandles() {
    for (const agent of this.#agents) agent.destroy();
    for (const timer of this.#timers.splice(0)) clearTimeout(timer.deref());
    const until = performance.now() + handlesCloseWithinMs;
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve));
      const [left] = this.#leftOpen();
      if (left === undefined) return;
      if (performance.now() > until) {
        this.#note(`a ${left} was left open`);
        return;
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  /** Puts everything back; null, or why this process must not be used again. */
  async restore() {
    // First, so that what follows is done with the functions of Node itself.
    this.#restoreProperties();
    this.#restoreListeners();
    await this.#closeHandles();
    this.#restoreListeners();
    this.#restoreProperties();
    this.#restoreVariables();
    for (const hooks of this.#hooks.splice(0)) hooks.deregister();
    this.#unload();
    for (const [stream, write] of this.#streams) {
      if (write === undefined) delete stream.write;
      else Object.defineProperty(stream, 'write', write);
    }
    performance.clearMarks();
    performance.clearMeasures();
    process.umask(this.#mask);
    process.exitCode = undefined;
    process.chdir(this.#folder);
    return this.#reason;
  }
}

const isSame = (one, other) =>
  one !== undefined &&
  other !== undefined &&
  Object.is(one.value, other.value) &&
  one.get === other.get &&
  one.set === other.set &&
  one.writable === other.writable &&
  one.enumerable === other.enumerable &&
  one.configurable === other.configurable;

function restore(value, { prototype, properties, entries, isExtensible }) {
  if (Reflect.isExtensible(value) !== isExtensible) return false;
  if (Reflect.getPrototypeOf(value) !== prototype && !Reflect.setPrototypeOf(value, prototype)) {
    return false;
  }
  for (const key of keysOf(value)) {
    if (!properties.has(key) && !Reflect.deleteProperty(value, key)) return false;
  }
  for (const [key, known] of properties) {
    if (isSame(Reflect.getOwnPropertyDescriptor(value, key), known)) continue;
    if (!Reflect.defineProperty(value, key, known)) return false;
  }
  if (entries === null) return true;
  value.clear();
  for (const entry of entries) {
    if (types.isMap(value)) value.set(...entry);
    else value.add(entry);
  }
  return true;
}

const pageBytes = 4096;

/** The memory that only this process has: without the pages of the program, which all share. */
function ownBytes() {
  const [, resident, shared] = fs.readFileSync('/proc/self/statm', 'latin1').split(' ').map(Number);
  return (resident - shared) * pageBytes;
}

module.exports = { Baseline, ownBytes };
