/**
 * Functions of the C library that Node lacks, called through an FFI package with prebuilt binaries
 * (Linux on x64 and arm64, glibc and musl). Everything that makes such a call takes a `Libc`, so that
 * tests can fake the kernel and inject errors. Where the package cannot be loaded, `openLibc` says why.
 *
 * Three rules keep native memory safe. A buffer that the kernel gets the address of is made by
 * `nativeMemory` and held in a field as long as the kernel may use it. The view of a mapping is detached
 * before it is unmapped, so that nothing can read what is gone. Only the epoll descriptor of `poller.ts`,
 * which is never closed, is given to the event loop: that ends the process over a descriptor that is not
 * open.
 */
import { createRequire } from 'node:module';
import { constants } from 'node:os';

type Pointer = bigint;

/** As the kernel does: a negative result is a negated error number. */
export interface Libc {
  socket(domain: number, type: number, protocol: number): number;
  socketpair(domain: number, type: number, protocol: number, pair: Buffer): number;
  bind(descriptor: number, address: Buffer, length: number): number;
  connect(descriptor: number, address: Buffer, length: number): number;
  getsockname(descriptor: number, address: Buffer, length: Buffer): number;
  getpeername(descriptor: number, address: Buffer, length: Buffer): number;
  setsockopt(
    descriptor: number,
    level: number,
    name: number,
    value: Buffer,
    length: number,
  ): number;
  getsockopt(
    descriptor: number,
    level: number,
    name: number,
    value: Buffer,
    length: Buffer,
  ): number;
  sendto(
    descriptor: number,
    bytes: Buffer,
    length: number,
    flags: number,
    to: Buffer | null,
    toLength: number,
  ): number;
  recvmsg(descriptor: number, message: Buffer, flags: number): number;
  ioctl(descriptor: number, request: number, argument: Buffer): number;
  epoll_create1(flags: number): number;
  epoll_ctl(epoll: number, operation: number, descriptor: number, event: Buffer): number;
  epoll_wait(epoll: number, events: Buffer, room: number, timeoutMs: number): number;
  close(descriptor: number): number;
  clock_gettime(clock: number, time: Buffer): number;
  clock_getres(clock: number, resolution: Buffer): number;
  prctl(option: number, a: number, b: number, c: number, d: number): number;
  waitpid(pid: number, status: Buffer, options: number): number;
  close_range(first: number, last: number, flags: number): number;
  /** The first byte of a variable's value where the process was given it; null when it is not set. */
  getenv(name: string): Pointer | null;
  /** A mapping of a descriptor, shared and writable, as a view that does not own it. */
  mmap(length: number, descriptor: number): Mapping | number;
  /** The address of memory that `nativeMemory` made. */
  addressOf(memory: Buffer): Pointer;
  /** Memory of others. Unchecked: the caller knows that it is there. */
  view(address: Pointer, length: number): Buffer;
  /** Calls back while an epoll descriptor has events. Hold what it gives; it does not keep the process running. */
  watchEpoll(descriptor: number, onReady: () => void): unknown;
}

export interface Mapping {
  readonly bytes: Buffer;
  /** Afterwards the view and all that was made of it are empty. */
  unmap(): void;
}

const errorNames = new Map(
  // Where a number has two names, the first is the usual one.
  Object.entries(constants.errno)
    .reverse()
    .map(([name, number]) => [number, name]),
);

/** The name of an error number, such as ENETUNREACH. */
export function errorName(number: number): string {
  return errorNames.get(Math.abs(number)) ?? `error ${Math.abs(number)}`;
}

/** It opens a socket and does nothing else: what takes longer is stopped or has no CPU. */
export const helperAnswersWithinSeconds = 2;

/** The kernel gives these for no socket: `socket-helper.ts` does. */
export const socketErrors: Readonly<Record<string, string>> = {
  ETIMEDOUT: `the helper that opens sockets did not answer within ${helperAnswersWithinSeconds} s`,
  EPIPE: 'the helper that opens sockets has ended; restart the agent',
};

/** A system call failed: `call` is its name and `code` that of the error. */
export class SystemCallError extends Error {
  readonly call: string;
  readonly code: string;

  constructor(call: string, errorNumber: number) {
    const said = call === 'socket' ? socketErrors[errorName(errorNumber)] : undefined;
    super(`${call}: ${errorName(errorNumber)}${said === undefined ? '' : ` (${said})`}`);
    this.name = 'SystemCallError';
    this.call = call;
    this.code = errorName(errorNumber);
  }
}

/** A socket could not be opened for now, and may be for the next request. */
export function isLateHelper(error: unknown): boolean {
  return error instanceof SystemCallError && error.call === 'socket' && error.code === 'ETIMEDOUT';
}

/** The result of a call; throws a SystemCallError when it is an error. */
export function checked(call: string, result: number): number {
  if (result < 0) throw new SystemCallError(call, result);
  return result;
}

/** Does what is of use and can be done without: kernels may refuse or not know a call. */
export function ifPossible(act: () => void): void {
  try {
    act();
  } catch (error) {
    if (!(error instanceof SystemCallError)) throw error;
  }
}

/** Memory whose address the kernel may keep: it never moves. */
export function nativeMemory(length: number): Buffer {
  return Buffer.from(new ArrayBuffer(length));
}

const protectReadWrite = 3;
const mapShared = 1;
const closeRange = 436;

/** What is used of the FFI package. */
interface Ffi {
  load(path: null): {
    func(
      name: string,
      result: string,
      parameters: readonly string[],
    ): (...given: unknown[]) => unknown;
  };
  errno(): number;
  address(memory: Buffer): Pointer;
  view(address: Pointer, length: number): ArrayBuffer;
  node: {
    poll(descriptor: number, wanted: { readable: true }, onReady: () => void): { unref(): void };
  };
}

function bindLibc(ffi: Ffi): Libc {
  const library = ffi.load(null);
  const define = (name: string, ...parameters: string[]) => {
    const call = library.func(name, 'int64_t', parameters) as (...given: unknown[]) => number;
    return (...given: unknown[]): number => {
      const result = call(...given);
      return result === -1 ? -ffi.errno() : result;
    };
  };
  // A function of C that returns an int leaves the upper half of the result undefined.
  const defineInt = (name: string, ...parameters: string[]) => {
    const call = library.func(name, 'int', parameters) as (...given: unknown[]) => number;
    return (...given: unknown[]): number => {
      const result = call(...given);
      return result < 0 ? -ffi.errno() : result;
    };
  };
  const address = ['int', 'void *', 'uint32_t'];
  const addressOut = ['int', 'void *', 'void *'];
  const map = library.func('mmap', 'intptr_t', [
    ...['void *', 'size_t', 'int', 'int', 'int', 'int64_t'],
  ]) as (...given: unknown[]) => number | bigint;
  const munmap = library.func('munmap', 'int', ['intptr_t', 'size_t']);
  const getenv = library.func('getenv', 'void *', ['str']) as (name: string) => Pointer | null;
  const systemCall = define('syscall', 'long', 'long', 'long', 'long');
  return {
    socket: defineInt('socket', 'int', 'int', 'int'),
    socketpair: defineInt('socketpair', 'int', 'int', 'int', 'void *'),
    bind: defineInt('bind', ...address),
    connect: defineInt('connect', ...address),
    getsockname: defineInt('getsockname', ...addressOut),
    getpeername: defineInt('getpeername', ...addressOut),
    setsockopt: defineInt('setsockopt', 'int', 'int', 'int', 'void *', 'uint32_t'),
    getsockopt: defineInt('getsockopt', 'int', 'int', 'int', 'void *', 'void *'),
    sendto: define('sendto', 'int', 'void *', 'size_t', 'int', 'void *', 'uint32_t'),
    recvmsg: define('recvmsg', 'int', 'void *', 'int'),
    ioctl: defineInt('ioctl', 'int', 'unsigned long', 'void *'),
    epoll_create1: defineInt('epoll_create1', 'int'),
    epoll_ctl: defineInt('epoll_ctl', 'int', 'int', 'int', 'void *'),
    epoll_wait: defineInt('epoll_wait', 'int', 'void *', 'int', 'int'),
    close: defineInt('close', 'int'),
    clock_gettime: defineInt('clock_gettime', 'int', 'void *'),
    clock_getres: defineInt('clock_getres', 'int', 'void *'),
    prctl: defineInt('prctl', 'int', ...['long', 'long', 'long', 'long']),
    waitpid: defineInt('waitpid', 'int', 'void *', 'int'),
    // The C libraries of some distributions are older than the call.
    close_range: (first, last, flags) => systemCall(closeRange, first, last, flags),
    getenv,
    mmap(length, descriptor) {
      const at = BigInt(map(null, length, protectReadWrite, mapShared, descriptor, 0));
      if (at === -1n) return -ffi.errno();
      const memory = ffi.view(at, length);
      const unmap = (): void => {
        if (memory.detached) return;
        memory.transfer(0);
        munmap(at, length);
      };
      return { bytes: Buffer.from(memory), unmap };
    },
    addressOf: (memory) => ffi.address(memory),
    view: (at, length) => Buffer.from(ffi.view(at, length)),
    watchEpoll(descriptor, onReady) {
      const handle = ffi.node.poll(descriptor, { readable: true }, onReady);
      handle.unref();
      return handle;
    },
  };
}

/** Where the structures of the kernel have the layout that is used here. */
const packages: Readonly<Record<string, string>> = {
  'linux x64': '@koromix/koffi-linux-x64',
  'linux arm64': '@koromix/koffi-linux-arm64',
};

export type OpenedLibc = { libc: Libc } | { libc: null; problem: string };

/** Loads the FFI package for a platform. */
export function loadLibc(platform: string, architecture: string): OpenedLibc {
  const name = packages[`${platform} ${architecture}`];
  if (name === undefined) {
    const problem = `system calls are made on Linux (x64, arm64) only; this is ${platform} ${architecture}`;
    return { libc: null, problem };
  }
  try {
    return { libc: bindLibc(createRequire(import.meta.url)(name) as Ffi) };
  } catch (error) {
    const [why] = (error instanceof Error ? error.message : String(error)).split('\n');
    return {
      libc: null,
      problem: `system calls cannot be made: the package ${name} cannot be loaded (${why}); install the agent again, with its optional packages`,
    };
  }
}

let opened: OpenedLibc | null = null;

/** The C library of this process, loaded once. */
export function openLibc(): OpenedLibc {
  return (opened ??= loadLibc(process.platform, process.arch));
}
