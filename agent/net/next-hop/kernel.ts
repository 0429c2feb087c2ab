/**
 * Next hops from the kernel, without sending packets. A perl child, `agent/next-hop.pl`, asks the
 * kernel, because Node has no netlink. It starts with the first failure and ends when it is idle.
 * Without perl, files of /proc give IPv4 only.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { isIP } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { systemClock, type Clock } from '@monitor/shared/clock.ts';
import { findOfSystem } from '../../system/find-program.ts';
import { NextHopsFromFiles } from './files.ts';
import type { NextHop, NextHops, NeighbourState } from './next-hop.ts';

const program = fileURLToPath(new URL('../../next-hop.pl', import.meta.url));

/** The kernel answers within a millisecond; a slower child hangs. */
const answerWithinMs = 2_000;
const idleMs = 30_000;

const states = new Set(
  'incomplete reachable stale delay probe failed noarp permanent'.split(' '),
) as ReadonlySet<string | null>;

function isState(text: string | null): text is NeighbourState {
  return states.has(text);
}

/** Parses a line of `agent/next-hop.pl`; null for a line without an answer. */
export function readNextHop(line: string): NextHop | null {
  const [kind, ...words] = line.split(' ');
  if (kind === 'here') return { kind };
  if (kind === 'none') return { kind, code: words[0] ?? 'ENETUNREACH' };
  if (kind !== 'hop') return null;
  const [device = '?', up, carrier, gateway = '-', stateText = null] = words;
  const state = isState(stateText) ? stateText : null;
  return {
    ...{ kind, device, isUp: up === 'up', hasCarrier: carrier === 'carrier' },
    ...(carrier === 'no-peer' && { mayEndAtTarget: true }),
    gateway: gateway === '-' ? null : { address: gateway, state },
  };
}

type Answer = (hop: NextHop | null) => void;

class FirstHopsOfPerl implements NextHops {
  readonly #perl: string;
  readonly #clock: Clock;
  #child: ChildProcess | null = null;
  /** In the order of the answers. */
  #waiting: Answer[] = [];
  #cancelTimer: () => void = () => undefined;

  constructor(perl: string, clock: Clock) {
    this.#perl = perl;
    this.#clock = clock;
  }

  to(address: string): Promise<NextHop | null> {
    const version = isIP(address);
    if (version === 0) return Promise.resolve(null);
    let child: ChildProcess;
    try {
      child = this.#child ??= this.#start();
    } catch {
      // No descriptor is left: Node throws, or gives a child without streams.
      return Promise.resolve(null);
    }
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      // Only the oldest question has a timer, so that new ones do not extend the time of a hanging
      // child.
      if (this.#waiting.length === 1) this.#watch(child);
      child.stdin?.write(`${version} ${address}\n`);
    });
  }

  #start(): ChildProcess {
    const child = spawn(this.#perl, [program], { env: {}, stdio: ['pipe', 'pipe', 'ignore'] });
    const end = (): void => {
      this.#end(child);
    };
    child.once('error', end);
    child.once('close', end);
    child.stdin.on('error', end);
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (this.#child !== child) return;
      this.#waiting.shift()?.(readNextHop(line));
      this.#watch(child);
    });
    return child;
  }

  #watch(child: ChildProcess): void {
    this.#cancelTimer();
    const isIdle = this.#waiting.length === 0;
    this.#cancelTimer = this.#clock.after(isIdle ? idleMs : answerWithinMs, () => {
      this.#end(child);
    });
  }

  /** Rejects pending questions; the next question starts a new child. */
  #end(child: ChildProcess): void {
    child.kill('SIGKILL');
    if (this.#child !== child) return;
    this.#child = null;
    this.#cancelTimer();
    for (const answer of this.#waiting.splice(0)) answer(null);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const child = this.#child;
    if (child === null) return;
    const closed = once(child, 'close').catch(() => undefined);
    this.#end(child);
    await closed;
  }
}

/** Opens the best source of next hops on this machine. Starts nothing yet. */
export function openNextHops({
  perl = findOfSystem('perl'),
  clock = systemClock,
}: { perl?: string | null; clock?: Clock } = {}): NextHops {
  return perl === null ? new NextHopsFromFiles() : new FirstHopsOfPerl(perl, clock);
}
