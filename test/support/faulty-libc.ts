/** The real system calls, of which some fail as a test says, with a list of the descriptors that are open. */
import assert from 'node:assert/strict';
import { openLibc, type Libc } from '../../agent/native/libc.ts';

/** The system calls of this machine. */
export function realLibc(): Libc {
  const { libc } = openLibc();
  assert.ok(libc !== null);
  return libc;
}

export interface FaultyLibc {
  readonly libc: Libc;
  /** Descriptors that were opened with it and not closed, but for those of `epoll_create1`. */
  readonly open: ReadonlySet<number>;
  /** How often each call was made. */
  readonly made: Readonly<Partial<Record<keyof Libc, number>>>;
}

/**
 * `fail` gets the name of a call, how often it was made before, and what it is called with. A number
 * that it gives is the result of the call; with null the real one is made.
 */
export function faultyLibc(
  fail: (call: keyof Libc, before: number, given: readonly unknown[]) => number | null,
  real: Libc = realLibc(),
): FaultyLibc {
  const open = new Set<number>();
  const made: Partial<Record<keyof Libc, number>> = {};
  const wrap = (call: keyof Libc) => {
    const real_ = real[call] as (...given: unknown[]) => unknown;
    return (...given: unknown[]): unknown => {
      const before = made[call] ?? 0;
      made[call] = before + 1;
      const failed = fail(call, before, given);
      // A descriptor is gone after `close`, whatever it says.
      const result = failed === null || call === 'close' ? real_(...given) : failed;
      if (call === 'socket' && typeof result === 'number' && result >= 0) open.add(result);
      if (call === 'close') open.delete(given[0] as number);
      return failed ?? result;
    };
  };
  const entries = (Object.keys(real) as (keyof Libc)[]).map((call) => [call, wrap(call)]);
  return { libc: Object.fromEntries(entries) as unknown as Libc, open, made };
}

/** Writes bytes to where a `msghdr` wants them, as `recvmsg` does; gives their length. */
export function fillMessage(real: Libc, header: Buffer, bytes: Buffer): number {
  const vector = real.view(header.readBigUInt64LE(16), 16);
  const room = real.view(vector.readBigUInt64LE(0), Number(vector.readBigUInt64LE(8)));
  return bytes.copy(room);
}

export interface MadeCall {
  readonly call: keyof Libc;
  /** How often it was made before. */
  readonly before: number;
}

/** The system calls that a piece of work makes, to let each of them fail in turn. */
export function callsOf(work: (libc: Libc) => void): MadeCall[] {
  const calls: MadeCall[] = [];
  const { libc } = faultyLibc((call, before) => {
    if (!['addressOf', 'view', 'watchEpoll', 'close'].includes(call)) calls.push({ call, before });
    return null;
  });
  work(libc);
  return calls;
}

/** A library in which every call that is not given succeeds and does nothing, on any platform. */
export function stubbedLibc(calls: Partial<Libc>): Libc {
  const given: Partial<Libc> = { addressOf: () => 0n, watchEpoll: () => null, ...calls };
  return new Proxy(given, {
    get: (target, name) => (Reflect.get(target, name) as unknown) ?? (() => 0),
  }) as Libc;
}

/** A library whose mappings are memory that the test writes to. */
export function mappedLibc(calls: Partial<Libc> = {}): { libc: Libc; memory: () => Buffer } {
  let memory: Buffer = Buffer.alloc(0);
  const libc = stubbedLibc({
    mmap(length) {
      const buffer = new ArrayBuffer(length);
      memory = Buffer.from(buffer);
      return { bytes: memory, unmap: () => void buffer.transfer(0) };
    },
    ...calls,
  });
  return { libc, memory: () => memory };
}
