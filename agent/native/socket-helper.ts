/**
 * Raw sockets for an agent without CAP_NET_RAW: `open-socket.c`, which has it as a file capability, opens them and
 * hands their descriptors over. Docker and Kubernetes give capabilities to root alone, but let a file have them.
 *
 * The helper is started once. Then this process and all that it starts may gain no right from a file any more, so
 * that code of customers cannot use the helper.
 */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { helperPath } from '../system/shed-rights.ts';
import {
  checked,
  helperAnswersWithinSeconds,
  ifPossible,
  nativeMemory,
  SystemCallError,
  type Libc,
} from './libc.ts';
import { refuseNewRights } from './process.ts';
import {
  AF_INET,
  MSG_DONTWAIT,
  receiveMessage,
  SOCK_CLOEXEC,
  SOCK_RAW,
  SOCK_SEQPACKET,
  SOL_SOCKET,
} from './sockets.ts';

const AF_UNIX = 1;
const IPPROTO_ICMP = 1;
const SO_RCVTIMEO = 20;
const SCM_RIGHTS = 1;
const MSG_NOSIGNAL = 0x4000;
const MSG_CMSG_CLOEXEC = 0x4000_0000;
const { EAGAIN, EINTR, EMFILE, EPERM, EPIPE, ETIMEDOUT } = constants.errno;
const requestBytes = 16;
const answerBytes = 8;

/**
 * The agent's end. `open` is `socket` of the C library, and gives what that would, or ETIMEDOUT where the helper
 * does not answer in time, and EPIPE where it has ended.
 */
export class HelperChannel {
  readonly #libc: Libc;
  #descriptor: number | null;
  /** The numbers of the last request, and of the last one that was answered. */
  #asked = 0;
  #answered = 0;

  /** Owns the descriptor. */
  constructor(libc: Libc, descriptor: number) {
    this.#libc = libc;
    this.#descriptor = descriptor;
    const timeout = Buffer.alloc(16);
    timeout.writeBigInt64LE(BigInt(helperAnswersWithinSeconds), 0);
    libc.setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, timeout, timeout.length);
  }

  readonly open = (domain: number, type: number, protocol: number): number => {
    // The whole agent stands still while it waits: a helper that owes an answer is not waited for again.
    if (this.#answered !== this.#asked) {
      const late = this.#answer(MSG_DONTWAIT);
      if (late >= 0) this.#libc.close(late);
      if (this.#descriptor !== null && this.#answered !== this.#asked) return -ETIMEDOUT;
    }
    if (this.#descriptor === null) return this.#ended;
    const sequence = (this.#asked + 1) | 0;
    const request = Buffer.from(Int32Array.of(sequence, domain, type, protocol).buffer);
    const flags = MSG_DONTWAIT | MSG_NOSIGNAL;
    const sent = this.#libc.sendto(this.#descriptor, request, requestBytes, flags, null, 0);
    if (sent !== requestBytes) return this.close();
    this.#asked = sequence;
    return this.#answer(0);
  };

  /** What the helper answers to the last request. Answers to others are dropped, with their descriptors. */
  #answer(flags: number): number {
    while (this.#descriptor !== null) {
      const received = receiveMessage(this.#libc, this.#descriptor, MSG_CMSG_CLOEXEC | flags);
      if (received === -EINTR) continue;
      if (received === -EAGAIN) return -ETIMEDOUT;
      if (typeof received === 'number' || received.bytes.length !== answerBytes) break;
      const [sequence, result] = [received.bytes.readInt32LE(0), received.bytes.readInt32LE(4)];
      const rights = received.control.find(
        ({ level, type: kind, data }) =>
          level === SOL_SOCKET && kind === SCM_RIGHTS && data.length >= 4,
      );
      const descriptor = rights?.data.readInt32LE(0);
      if (sequence === this.#asked) {
        this.#answered = sequence;
        // At the limit of descriptors the kernel leaves it out, and reports no error.
        return result < 0 ? result : (descriptor ?? -EMFILE);
      }
      if (descriptor !== undefined) this.#libc.close(descriptor);
    }
    return this.close();
  }

  /** What never answered was not allowed to start. */
  get #ended(): number {
    return this.#answered === 0 ? -EPERM : -EPIPE;
  }

  /** The helper ends with its channel. Gives the error of all calls from now on. */
  close(): number {
    if (this.#descriptor !== null) this.#libc.close(this.#descriptor);
    this.#descriptor = null;
    return this.#ended;
  }
}

/** Starts the helper, which gets its end of a pair. Throws a SystemCallError. */
function startHelper(libc: Libc, path: string): HelperChannel {
  const pair = nativeMemory(8);
  checked('socketpair', libc.socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair));
  const [own, other] = [pair.readInt32LE(0), pair.readInt32LE(4)];
  const channel = new HelperChannel(libc, own);
  try {
    const child = spawn(path, [], { stdio: ['ignore', 'ignore', 'ignore', other], env: {} });
    child.on('error', () => undefined);
    child.unref();
  } catch {
    // Where a container may not have the right at all, the kernel starts no file that has it: nobody answers then.
  }
  libc.close(other);
  return channel;
}

function explain(error: number): string {
  if (error === -ETIMEDOUT) {
    return `${new SystemCallError('socket', error).message}; it is asked again for the next socket`;
  }
  const status = readFileSync('/proc/self/status', 'latin1');
  if (error !== -EPERM) return 'the helper that opens sockets does not work here';
  return /^NoNewPrivs:\s*1$/m.test(status)
    ? 'the helper that opens sockets gets no right under no-new-privileges (allowPrivilegeEscalation: false of Kubernetes): allow that'
    : 'the helper that opens sockets gets no right here: allow this container NET_RAW (docker --cap-add, capabilities.add of Kubernetes)';
}

/**
 * From now on `libc.socket` asks the helper where this process itself may not, if there is a helper. Gives why that
 * does not work, for now or at all; null where it does, or is not needed.
 */
export function openByHelper(libc: Libc, path: string = helperPath): string | null {
  if (!existsSync(path)) return null;
  const { socket } = libc;
  const probe = [AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP] as const;
  try {
    const own = socket(...probe);
    if (own >= 0) {
      libc.close(own);
      return null;
    }
    const channel = startHelper(libc, path);
    const opened = channel.open(...probe);
    const problem = opened < 0 ? explain(opened) : null;
    if (opened >= 0) libc.close(opened);
    else if (opened !== -ETIMEDOUT) {
      channel.close();
      return problem;
    }
    libc.socket = (...given) => {
      const result = socket(...given);
      return result === -EPERM ? channel.open(...given) : result;
    };
    return problem;
  } catch (error) {
    if (!(error instanceof SystemCallError)) throw error;
    return `the helper that opens sockets cannot be started (${error.message})`;
  } finally {
    ifPossible(() => {
      refuseNewRights(libc);
    });
  }
}
