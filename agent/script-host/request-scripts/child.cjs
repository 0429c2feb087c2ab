/**
 * Runs the setup and teardown scripts of one API check, in a process of their own that lives from the
 * first script to the last, so that what a setup script changes is still there in a teardown script.
 * Plain JavaScript for the Node of any runtime, 16 and newer. Commands come as JSON lines on descriptor
 * 4, one at a time; reports leave as JSON lines on descriptor 3. The parent believes nothing it reads.
 */
'use strict';
const fs = require('fs');
const net = require('net');
const path = require('path');
const util = require('util');
const { createRequire } = require('module');
const { pathToFileURL } = require('url');
const { Writable } = require('stream');

const { stringify, parse } = JSON;
const folder = fs.realpathSync(process.cwd());
const maxResultBytes = 262144;
const maxLogBytes = 262144;
const maxMessageLength = 8192;

let logged = 0;
let original = new Map();
let secretNames = /^$/;

function report(message) {
  let rest = Buffer.from(`${stringify(message)}\n`);
  while (rest.length > 0) {
    try {
      rest = rest.subarray(fs.writeSync(3, rest));
    } catch (error) {
      if (error.code !== 'EAGAIN') return;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2);
    }
  }
}

function log(level, text) {
  if (logged > maxLogBytes) return;
  logged += text.length + 64;
  if (logged > maxLogBytes)
    report({ kind: 'log', level: 'WARN', text: 'further output is left out' });
  else report({ kind: 'log', level, text: text.slice(0, maxMessageLength) });
}

/** Console methods by the level of what they write; all others write at INFO. */
const levels = { debug: 'DEBUG', warn: 'WARN', error: 'ERROR', trace: 'ERROR', assert: 'ERROR' };

function consoleAt(level) {
  const sink = new Writable({
    decodeStrings: false,
    write(chunk, _encoding, done) {
      log(level, String(chunk).replace(/\n$/, ''));
      done();
    },
  });
  return new console.Console({ stdout: sink, stderr: sink, colorMode: false });
}

function takeOverConsole() {
  const info = consoleAt('INFO');
  for (const [name, value] of Object.entries(console)) {
    const level = levels[name];
    const target = level === undefined ? info : consoleAt(level);
    const isMethod = typeof value === 'function' && typeof target[name] === 'function';
    if (isMethod && name !== 'Console') console[name] = target[name].bind(target);
  }
}

/** Tells of secrets as soon as they are assigned: what is logged next may hold them already. */
function watchEnvironment() {
  const tell = (name, value) => {
    if (secretNames.test(String(name)) && value) report({ kind: 'secret', value: String(value) });
  };
  process.env = new Proxy(process.env, {
    set(target, name, value) {
      tell(name, value);
      target[name] = value;
      return true;
    },
    defineProperty(target, name, descriptor) {
      tell(name, descriptor.value);
      return Reflect.defineProperty(target, name, descriptor);
    },
  });
}

function begin({ environment, modules, secrets }) {
  secretNames = new RegExp(secrets);
  for (const [name, value] of environment) process.env[name] = value;
  original = new Map(Object.entries(process.env));
  watchEnvironment();
  // Modules of the runtime, for require() and for import(), which does not know NODE_PATH.
  fs.symlinkSync(modules, path.join(folder, 'node_modules'), 'dir');
  // What scripts call ./snippets/x.js has the same name from within a snippet.
  if (fs.existsSync('snippets')) fs.symlinkSync('.', path.join('snippets', 'snippets'), 'dir');
  globalThis.require = createRequire(path.join(folder, 'script.js'));
  takeOverConsole();
  report({ kind: 'ready', node: process.version });
}

function tryToBegin(command) {
  try {
    begin(command);
  } catch (error) {
    process.stderr.write(`${error.stack}\n`, () => process.exit(70));
  }
}

/** What the environment has become, as far as it differs from what it was given as. */
function environmentChanges() {
  const now = new Map(Object.entries(process.env).map(([name, value]) => [name, String(value)]));
  for (const [name, value] of now) {
    if (secretNames.test(name) && value) report({ kind: 'secret', value });
  }
  return {
    set: [...now].filter(([name, value]) => original.get(name) !== value),
    removed: [...original.keys()].filter((name) => !now.has(name)),
  };
}

function asText(value) {
  if (value === undefined || value === null) return '';
  if (typeof value === 'string') return value;
  if (Buffer.isBuffer(value) || value instanceof URL) return String(value);
  return typeof value === 'object' ? stringify(value) : String(value);
}

/** `{ a: 1, b: ['x', 'y'] }` as pairs; what is undefined or null is left out. */
function toPairs(object) {
  return Object.entries(object || {}).flatMap(([key, value]) =>
    (Array.isArray(value) ? value : [value])
      .filter((one) => one !== undefined && one !== null)
      .map((one) => [key, asText(one)]),
  );
}

function fromPairs(pairs) {
  const object = {};
  for (const [key, value] of pairs) {
    const before = Object.prototype.hasOwnProperty.call(object, key) ? object[key] : undefined;
    const both = before === undefined ? value : [].concat(before, value);
    Object.defineProperty(object, key, {
      value: both,
      enumerable: true,
      writable: true,
      configurable: true,
    });
  }
  return object;
}

function deepFreeze(value) {
  if (typeof value === 'object' && value !== null) Object.values(value).forEach(deepFreeze);
  return Object.freeze(value);
}

function toRequest({ headers, queryParameters, ...rest }) {
  return { ...rest, headers: fromPairs(headers), queryParameters: fromPairs(queryParameters) };
}

function readRequest(request) {
  return {
    method: asText(request.method),
    url: asText(request.url),
    body: asText(request.body),
    headers: toPairs(request.headers),
    queryParameters: toPairs(request.queryParameters),
  };
}

function toResponse({ body, ...rest }) {
  const response = {};
  for (const [key, value] of Object.entries(rest)) {
    Object.defineProperty(response, key, { value: deepFreeze(value), enumerable: true });
  }
  Object.defineProperty(response, 'body', { value: body, enumerable: true, writable: true });
  return Object.preventExtensions(response);
}

/**
 * A script is the body of an async function in a CommonJS module. One with import statements is no such
 * body: it is loaded as an ES module instead, from a second file with the same text.
 */
async function execute(file) {
  let main;
  try {
    main = require(path.join(folder, `${file}.js`));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    try {
      await import(pathToFileURL(path.join(folder, `${file}.mjs`)).href);
      return;
    } catch (second) {
      const isModule = /import statement|import\.meta|'export'/.test(error.message);
      throw isModule || !(second instanceof SyntaxError) ? second : error;
    }
  }
  await main();
}

/** The first place of a stack that is in a file of the customer. */
function placeOf(stack) {
  for (const line of String(stack).split('\n')) {
    const at = line.indexOf(`${folder}/`);
    if (at < 0) continue;
    const [, file, number] =
      /^((?:setup|teardown)-\d+\.m?js|snippets\/.+?\.js):(\d+)/.exec(
        line.slice(at + folder.length + 1),
      ) || [];
    if (file !== undefined)
      return { file: file.replace(/^(snippets\/)+/, 'snippets/'), line: Number(number) };
  }
  return { file: null, line: null };
}

function describe(error) {
  let text;
  let stack = '';
  try {
    const isError = error instanceof Error || (error && typeof error.message === 'string');
    text = isError
      ? `${error.name && error.name !== 'Error' ? `${error.name}: ` : ''}${error.message}`
      : util.inspect(error);
    stack = isError ? error.stack : '';
  } catch {
    text = 'an error that cannot be shown';
  }
  return { message: String(text).slice(0, maxMessageLength), ...placeOf(stack) };
}

let isRunning = false;

function fail(error) {
  isRunning = false;
  let environment = { set: [], removed: [] };
  try {
    environment = environmentChanges();
  } catch {
    // The script has made its environment unreadable; its own error is more useful.
  }
  report({ kind: 'failed', ...describe(error), environment });
}

function finish(result) {
  isRunning = false;
  const message = { kind: 'done', ...result, environment: environmentChanges() };
  const size = Buffer.byteLength(stringify(message));
  if (size > maxResultBytes) {
    throw new Error(
      `what the script leaves behind has ${size} bytes; at most ${maxResultBytes} are possible`,
    );
  }
  report(message);
}

async function runScript(command) {
  isRunning = true;
  try {
    if (command.kind === 'setup') {
      globalThis.request = toRequest(command.request);
      await execute(command.file);
      if (isRunning) finish({ request: readRequest(globalThis.request), body: null });
    } else {
      globalThis.request = deepFreeze(toRequest(command.request));
      globalThis.response = toResponse(command.response);
      await execute(command.file);
      const body = asText(globalThis.response.body);
      if (isRunning) finish({ request: null, body: body === command.response.body ? null : body });
    }
  } catch (error) {
    fail(error);
  }
}

function onStrayError(error) {
  if (isRunning) fail(error);
  else log('ERROR', `after the script had ended: ${describe(error).message}`);
}
process.on('uncaughtException', onStrayError);
process.on('unhandledRejection', onStrayError);

let pending = [];
// A socket and not a file: reading a pipe as a file would hold a thread of the pool for ever.
new net.Socket({ fd: 4, readable: true, writable: false })
  .on('data', (chunk) => {
    const end = chunk.lastIndexOf(10);
    if (end < 0) {
      pending.push(chunk);
      return;
    }
    const lines = Buffer.concat([...pending, chunk.subarray(0, end)]).toString();
    pending = [chunk.subarray(end + 1)];
    for (const line of lines.split('\n')) {
      const command = parse(line);
      if (command.kind === 'begin') tryToBegin(command);
      else void runScript(command);
    }
  })
  .on('error', () => process.exit(0))
  .on('close', () => process.exit(0));
