/**
 * Makes this process a simulated machine: import it before anything else. Time, chance and the network belong to the
 * world of the running host, and what Node does in threads is done at once or waited for.
 */
import crypto from 'node:crypto';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';
import perfHooks from 'node:perf_hooks';
import timers from 'node:timers';
import timersPromises from 'node:timers/promises';
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { flushed } from './files.ts';
import './network.ts';
import { epoch, pending, runningHost, type Host } from './world.ts';

type Callback = (...given: unknown[]) => void;
/** Parts of Node that have other types each are put in the place of others. */
// oxlint-disable-next-line typescript/no-explicit-any
type Any = any;

// --- time

const realSetImmediate = setImmediate;

class Timeout {
  readonly #host: Host | undefined;
  readonly #everyMs: number | null;
  readonly #callback: () => void;
  #cancel: () => void = () => undefined;

  constructor(callback: () => void, delayMs: number, isRepeated: boolean) {
    this.#host = runningHost();
    this.#callback = callback;
    this.#everyMs = isRepeated ? Math.max(1, delayMs) : null;
    this.#arm(Math.max(1, Math.trunc(delayMs) || 1));
  }

  #arm(delayMs: number): void {
    this.#cancel =
      this.#host?.after(delayMs, () => {
        if (this.#everyMs !== null) this.#arm(this.#everyMs);
        this.#callback();
      }) ?? (() => undefined);
  }

  close(): void {
    this.#cancel();
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  hasRef(): boolean {
    return false;
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

const setTimer =
  (isRepeated: boolean) =>
  (callback: Callback, delayMs = 1, ...given: unknown[]) =>
    new Timeout(() => callback(...given), delayMs, isRepeated);

function clearTimer(timer: unknown): void {
  if (timer instanceof Timeout) timer.close();
}

const wait = (delayMs?: number, value?: unknown): Promise<unknown> =>
  new Promise((resolve) => setTimeout(() => resolve(value), delayMs));

/** One turn of the event loop, in which the world stands still. */
function nextTurn(callback: Callback, ...given: unknown[]) {
  pending.count += 1;
  const turn = realSetImmediate(() => {
    pending.count -= 1;
    open.delete(turn);
    callback(...given);
  });
  open.add(turn);
  return turn;
}
const open = new Set<NodeJS.Immediate>();
const realClearImmediate = clearImmediate;
function clearTurn(turn: NodeJS.Immediate): void {
  if (open.delete(turn)) pending.count -= 1;
  realClearImmediate(turn);
}
const turnLater = (value?: unknown): Promise<unknown> =>
  new Promise((resolve) => nextTurn(() => resolve(value)));

const ofTime = {
  ...{ setTimeout: setTimer(false), setInterval: setTimer(true), setImmediate: nextTurn },
  ...{ clearTimeout: clearTimer, clearInterval: clearTimer, clearImmediate: clearTurn },
};
Object.defineProperty(ofTime.setTimeout, promisify.custom, { value: wait });
Object.defineProperty(ofTime.setImmediate, promisify.custom, { value: turnLater });
Object.assign(globalThis, ofTime);
Object.assign(timers, ofTime);
Object.assign(timersPromises as Any, { setTimeout: wait, setImmediate: turnLater });

Date.now = () => runningHost()?.clock.now() ?? epoch;
globalThis.Date = new Proxy(Date, {
  construct: (real, given: unknown[], made: typeof Date) =>
    Reflect.construct(real, given.length === 0 ? [real.now()] : given, made) as Date,
  apply: (real) => new real(real.now()).toString(),
});
perfHooks.performance.now = () => runningHost()?.clock.monotonic() ?? 0;
Object.assign(process, { uptime: () => (runningHost()?.clock.monotonic() ?? 0) / 1_000 });
os.uptime = () => (runningHost()?.bootMs() ?? 0) / 1_000;
AbortSignal.timeout = (ms) => {
  const ends = new AbortController();
  setTimeout(() => ends.abort(new DOMException('too late', 'TimeoutError')), ms);
  return ends.signal;
};
// How busy the real machine is does not count.
Object.assign(process, {
  threadCpuUsage: () => ({ user: 0, system: 0 }),
  cpuUsage: () => ({ user: 0, system: 0 }),
});
const noHistogram = { ...{ min: 0, max: 0, mean: 0, stddev: 0 }, percentile: () => 0 };
Object.assign(perfHooks as Any, {
  monitorEventLoopDelay: () => ({
    ...noHistogram,
    ...{ enable: () => true, disable: () => true, reset: () => undefined },
  }),
  PerformanceObserver: class {
    observe(): void {}
    disconnect(): void {}
  },
});

// --- chance

let spare = 0;
const chance = (): number => runningHost()?.random() ?? ((spare += 1) % 1_000) / 1_000;

function fill<T extends NodeJS.ArrayBufferView>(view: T): T {
  const bytes = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = Math.floor(chance() * 256);
  return view;
}
const bytesOf = (size: number): Buffer => fill(Buffer.alloc(size));
const uuid = (version: number, bytes = bytesOf(16)): string => {
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | (version << 4);
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
};
Math.random = chance;
Object.assign(crypto as Any, {
  randomUUID: () => uuid(4),
  randomUUIDv7() {
    const bytes = bytesOf(16);
    bytes.writeUIntBE(Date.now(), 0, 6);
    return uuid(7, bytes);
  },
  randomBytes(size: number, callback?: (error: null, bytes: Buffer) => void) {
    const bytes = bytesOf(size);
    if (callback === undefined) return bytes;
    process.nextTick(callback, null, bytes);
    return undefined;
  },
  randomInt: (from: number, to?: number) =>
    to === undefined ? Math.floor(chance() * from) : from + Math.floor(chance() * (to - from)),
  randomFillSync: fill,
});
Object.defineProperty(crypto.webcrypto, 'getRandomValues', { value: fill });

// --- what Node does in threads

/** The way with a callback, done at once. */
const atOnce =
  (work: Callback) =>
  (...given: unknown[]) => {
    const callback = given.pop() as Callback;
    try {
      const result = work(...given) as unknown;
      process.nextTick(callback, null, result);
    } catch (error) {
      process.nextTick(callback, error);
    }
  };
const codecs = {
  ...{ Gzip: 'gzip', Gunzip: 'gunzip', Deflate: 'deflate', Inflate: 'inflate' },
  ...{ DeflateRaw: 'deflateRaw', InflateRaw: 'inflateRaw', Unzip: 'unzip' },
  ...{ BrotliCompress: 'brotliCompress', BrotliDecompress: 'brotliDecompress' },
};
for (const [name, codec] of Object.entries(codecs)) {
  const sync = (zlib as Any)[`${codec}Sync`] as Callback;
  (zlib as Any)[codec] = atOnce(sync);
  const { prototype } = (zlib as Any)[name];
  // As a stream: all of it at its end.
  prototype._transform = function (this: Any, chunk: Buffer, _: string, done: Callback) {
    (this.whole ??= []).push(chunk);
    done();
  };
  prototype._flush = function (this: Any, done: Callback) {
    try {
      this.push(sync(Buffer.concat(this.whole ?? [])));
      done();
    } catch (error) {
      done(error);
    }
  };
}
for (const name of ['scrypt', 'pbkdf2', 'hkdf', 'argon2']) {
  const sync = (crypto as Any)[`${name}Sync`] as Callback | undefined;
  if (sync !== undefined) (crypto as Any)[name] = atOnce(sync);
}

/** One after the other, so that they end in the order in which they began. */
let last: Promise<unknown> = Promise.resolve();
const waitedFor =
  (work: (...given: unknown[]) => unknown) =>
  (...given: unknown[]): Promise<unknown> => {
    pending.count += 1;
    const result = last.then(() => work(...given) as unknown);
    last = result.then(
      () => (pending.count -= 1),
      () => (pending.count -= 1),
    );
    return result;
  };
const files = fs.promises as Any;
for (const name of Object.keys(files)) {
  if (typeof files[name] !== 'function') continue;
  const real = files[name].bind(files) as (...given: unknown[]) => Promise<Any>;
  files[name] = waitedFor(name === 'open' ? (...given) => openFile(real, given) : real);
}
const counted = new WeakSet<object>();
/** Methods of a file that the world waits for. Those of all files stand in the prototype; each has its own `close`. */
function count(owner: Any, names: readonly string[]): void {
  for (const name of names) {
    const of = owner[name] as (...given: unknown[]) => Promise<unknown>;
    owner[name] = function (this: unknown, ...rest: unknown[]) {
      pending.count += 1;
      return of.apply(this, rest).finally(() => (pending.count -= 1));
    };
  }
}
async function openFile(
  real: (...given: unknown[]) => Promise<Any>,
  given: unknown[],
): Promise<unknown> {
  const handle = await real(...given);
  count(handle, ['close']);
  const prototype = Object.getPrototypeOf(handle);
  if (counted.has(prototype)) return handle;
  counted.add(prototype);
  count(prototype, ['read', 'write', 'writeFile', 'readFile', 'sync', 'datasync', 'stat']);
  return handle;
}

/** The kernel of a host: what it says of the time that its process waited for a CPU. */
const schedstat = '/proc/self/schedstat';
const schedstatFd = 1_000_000_000;
const { openSync, readSync, closeSync, readFileSync } = fs;
const missing = (path: string): Error =>
  Object.assign(new Error(`ENOENT: no such file or directory, open '${path}'`), { code: 'ENOENT' });
const isOfKernel = (path: unknown): path is string =>
  typeof path === 'string' && /^\/(proc|sys)\//.test(path);
fs.openSync = (path, ...rest) => {
  if (path === schedstat) return schedstatFd;
  if (isOfKernel(path)) throw missing(path);
  return openSync(path, ...rest);
};
(fs as Any).readSync = (fd: number, buffer: Buffer, ...rest: unknown[]) => {
  if (fd !== schedstatFd) return (readSync as Any)(fd, buffer, ...rest);
  const waitedNs = Math.round((runningHost()?.waitedMs ?? 0) * 1e6);
  return buffer.write(`0 ${waitedNs} 0\n`, 'latin1');
};
fs.closeSync = (fd) => {
  if (fd !== schedstatFd) closeSync(fd);
};
(fs as Any).readFileSync = (path: unknown, ...rest: unknown[]) => {
  if (isOfKernel(path)) throw missing(path);
  return (readFileSync as Any)(path, ...rest);
};
const { writeFileSync, renameSync } = fs;
fs.writeFileSync = (path, data, options) => {
  writeFileSync(path, data, options);
  const isFlushed = typeof options === 'object' && options?.flush === true;
  flushed[isFlushed ? 'add' : 'delete'](String(path));
};
fs.renameSync = (from, to) => {
  renameSync(from, to);
  flushed[flushed.delete(String(from)) ? 'add' : 'delete'](String(to));
};
// What a host writes is in memory: these would only take time.
for (const name of ['fsyncSync', 'fdatasyncSync'] as const) fs[name] = () => undefined;

syncBuiltinESMExports();
