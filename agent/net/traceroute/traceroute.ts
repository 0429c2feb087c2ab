/**
 * Traces the route to a target without privileges: TCP to its port, UDP, or echo requests, each of
 * which may travel only so many hops. The routers that send them back are read from error queues.
 */
import { isIP } from 'node:net';
import { sleep, systemClock, type Clock } from '@monitor/shared/clock.ts';
import type { TracerouteReport } from '@monitor/shared/contract/check-result.ts';
import type { IpFamily } from '@monitor/shared/contract/primitives.ts';
import { AgentError } from '../../errors.ts';
import { openLibc, SystemCallError, type OpenedLibc } from '../../native/libc.ts';
import {
  AF_INET,
  interfaceIndex,
  KernelClock,
  NativeSocket,
  readSocketAddress,
  SOCK_DGRAM,
  socketAddress,
} from '../../native/sockets.ts';
import { TracerouteLog } from './log.ts';
import { isUnreachable } from './notes.ts';
import { Probe, type ProbeTools } from './probe.ts';
import { cannotReadErrors, refuseWithoutScope, tracerFailure, traceStopped } from './problem.ts';
import { TraceSchedule } from './schedule.ts';

export interface TracedTarget {
  /** A link-local address includes its interface, as `fe80::1%eth0`. */
  readonly address: string;
  readonly family: IpFamily;
  /** The TCP port; null uses UDP. */
  readonly port: number | null;
}

/** Probe settings of a check. Such a trace is not shared. */
export interface TracePlan {
  readonly method: 'tcp' | 'udp' | 'icmp';
  readonly maxHops: number;
  /** Silent hops shown after the last answer. */
  readonly shownSilent: number;
}

export interface TraceOptions {
  /** A trace needs about one second, 3.4 with a silent target. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** By default the method depends on the target, with up to 30 hops. */
  readonly plan?: TracePlan;
}

export interface Traceroute extends AsyncDisposable {
  /**
   * Ends at `timeoutMs` or when the signal aborts, with the results so far. Rejects with an
   * AgentError when the tracer fails, or when this machine lets no packet out.
   */
  trace(target: TracedTarget, options: TraceOptions): Promise<TracerouteReport>;
}

const defaultMaxHops = 30;
const firstUdpPort = 33_434;

/** Errors of the socket of echo requests where nobody may open one. */
const forbidden = new Set(['EACCES', 'EPERM', 'EPROTONOSUPPORT']);

/** One trace. Everything happens in timers and in callbacks of its sockets, a little at a time. */
class Trace {
  readonly #target: TracedTarget;
  readonly #plan: TracePlan | undefined;
  readonly #log: TracerouteLog;
  readonly #tools: ProbeTools;
  readonly #deadline: number;
  readonly #probes = new Set<Probe>();
  readonly #ended = Promise.withResolvers<undefined>();
  #scope = 0;
  #method: TracerouteReport['method'];
  #schedule: TraceSchedule;
  #udpPort = firstUdpPort;
  /** The method that something was sent by. */
  #sentBy: TracerouteReport['method'] | null = null;
  #isOver = false;
  #cancelTimer: () => void = () => undefined;

  constructor(
    target: TracedTarget,
    { plan, timeoutMs }: TraceOptions,
    log: TracerouteLog,
    tools: ProbeTools,
  ) {
    this.#target = target;
    this.#plan = plan;
    this.#log = log;
    this.#tools = tools;
    const now = tools.clock.monotonic();
    this.#deadline = now + timeoutMs;
    this.#method = plan?.method ?? (target.port === null ? 'udp' : 'tcp');
    const mayFallBack = plan === undefined && this.#method === 'tcp';
    this.#schedule = new TraceSchedule(
      { maxHops: plan?.maxHops ?? defaultMaxHops, mayFallBack },
      now,
    );
  }

  /** Resolves at its end. Rejects with an AgentError when a system call fails. */
  run(): Promise<undefined> {
    this.#guarded(() => {
      const [, scope] = this.#target.address.split('%');
      if (scope !== undefined) this.#scope = interfaceIndex(this.#tools.libc, scope);
      this.#advance();
    });
    return this.#ended.promise;
  }

  /** Closes all sockets; with an error the trace rejects. */
  end(error?: unknown): void {
    this.#isOver = true;
    this.#cancelTimer();
    for (const probe of this.#probes) this.#forget(probe);
    if (error === undefined) this.#ended.resolve(undefined);
    else this.#ended.reject(error);
  }

  /** A callback of the event loop must not throw. */
  #guarded(work: () => void): void {
    if (this.#isOver) return;
    try {
      work();
    } catch (error) {
      this.end(error instanceof SystemCallError ? this.#problemOf(error) : error);
    }
  }

  #problemOf({ call, code }: SystemCallError): AgentError {
    const isPing = call === 'socket' && this.#method === 'icmp' && forbidden.has(code);
    return tracerFailure(this.#target, { call: isPing ? 'ping' : call, code });
  }

  #advance(): void {
    while (!this.#isOver) {
      const now = this.#tools.clock.monotonic();
      const decision =
        now >= this.#deadline ? ({ do: 'end' } as const) : this.#schedule.decide(now, this.#probes);
      if (decision.do === 'wait') {
        this.#wait(Math.min(decision.until, this.#deadline) - now);
        return;
      }
      if (decision.do === 'send') this.#send(decision.hop);
      // The timer of a late process comes before what waits in its sockets.
      else if (this.#settleAll()) continue;
      else if (decision.do === 'fall back') this.#fallBack(now);
      else if (decision.do === 'give up') for (const probe of decision.probes) this.#forget(probe);
      else this.end();
    }
  }

  #wait(ms: number): void {
    this.#cancelTimer();
    this.#cancelTimer = this.#tools.clock.after(Math.ceil(ms), () => {
      this.#guarded(() => this.#advance());
    });
  }

  #fallBack(now: number): void {
    for (const probe of this.#probes) this.#forget(probe);
    this.#method = 'udp';
    this.#schedule = this.#schedule.fallBack(now);
  }

  #nextPort(): number {
    const { port } = this.#target;
    if (this.#method === 'icmp') return 0;
    if (this.#method === 'tcp' || this.#plan !== undefined) return port ?? firstUdpPort;
    return this.#udpPort++;
  }

  #send(hop: number): void {
    const { address, family } = this.#target;
    let probe: Probe | null = null;
    let isAnswered: boolean;
    try {
      const to = { address, family, scope: this.#scope, port: this.#nextPort() };
      const made = (probe = new Probe(this.#method, hop, to, this.#tools));
      made.watch(() => {
        this.#guarded(() => {
          this.#settle(made);
          this.#advance();
        });
      });
      isAnswered = made.send();
    } catch (error) {
      probe?.[Symbol.dispose]();
      const isLimit = error instanceof SystemCallError && error.call !== 'setsockopt';
      if (this.#sentBy === null || !isLimit) throw error;
      // What was sent until now is worth more than the reason why no more can be.
      this.#schedule.stop();
      return;
    }
    this.#probes.add(probe);
    if (this.#sentBy !== this.#method) this.#log.begin(this.#method, probe.localAddress);
    this.#sentBy = this.#method;
    this.#log.sent(hop);
    if (isAnswered) this.#settle(probe);
  }

  /** True when there was an answer. */
  #settleAll(): boolean {
    return [...this.#probes].map((probe) => this.#settle(probe)).includes(true);
  }

  #settle(probe: Probe): boolean {
    const outcome = this.#probes.has(probe) ? probe.outcome() : null;
    if (outcome === null) return false;
    this.#forget(probe);
    if (outcome === 'lost') return true;
    // All but "too far" ends the way.
    const isEnd = outcome.by === 'target' || isUnreachable(this.#target.family, outcome.type);
    if (this.#schedule.answered(probe.hop, outcome.ms, isEnd)) {
      this.#log.answered(probe.hop, outcome);
    }
    return true;
  }

  #forget(probe: Probe): void {
    this.#probes.delete(probe);
    probe[Symbol.dispose]();
  }
}

class NativeTraceroute implements Traceroute {
  readonly #tools: ProbeTools;
  readonly #running = new Set<Trace>();

  constructor(tools: ProbeTools) {
    this.#tools = tools;
  }

  async trace(target: TracedTarget, options: TraceOptions): Promise<TracerouteReport> {
    if (isIP(target.address) !== (target.family === 'IPv6' ? 6 : 4)) {
      throw new AgentError(
        'CONFIG_INVALID',
        `${target.address} is not an ${target.family} address`,
      );
    }
    refuseWithoutScope(target);
    const { clock } = this.#tools;
    const { signal, plan } = options;
    const startedAt = clock.now();
    const begun = clock.monotonic();
    const log = new TracerouteLog(target, plan);
    if (!signal.aborted) {
      const trace = new Trace(target, options, log, this.#tools);
      const abort = (): void => trace.end();
      signal.addEventListener('abort', abort, { once: true });
      this.#running.add(trace);
      try {
        await trace.run();
      } finally {
        signal.removeEventListener('abort', abort);
        this.#running.delete(trace);
      }
    }
    return log.report(startedAt, clock.monotonic() - begun);
  }

  [Symbol.asyncDispose](): Promise<void> {
    for (const trace of this.#running) trace.end(traceStopped());
    return Promise.resolve();
  }
}

/** What fails without a loopback interface: there is nothing to find out then. */
const loopback = new Set(['bind', 'connect', 'send']);

/** Has this machine refuse a datagram, and reads who refused it. Gives what does not work; null if all does. */
async function findProblem(tools: ProbeTools): Promise<string | null> {
  const address = '127.0.0.1';
  try {
    const other = new NativeSocket(tools.libc, AF_INET, SOCK_DGRAM);
    let port: number;
    try {
      other.bind(socketAddress(address));
      port = readSocketAddress(other.localAddress ?? Buffer.alloc(0))?.port ?? firstUdpPort;
    } finally {
      // Nobody listens on its port from now on.
      other[Symbol.dispose]();
    }
    using probe = new Probe('udp', 64, { address, family: 'IPv4', scope: 0, port }, tools);
    probe.send();
    let answer = probe.outcome();
    for (let wait = 0; wait < 10 && answer === null; wait += 1) {
      await sleep(tools.clock, 50);
      answer = probe.outcome();
    }
    const author = typeof answer === 'object' && answer?.by === 'icmp' ? answer.from : null;
    return author === address ? null : cannotReadErrors('recvmsg', 'ENOMSG');
  } catch (error) {
    if (!(error instanceof SystemCallError)) throw error;
    return loopback.has(error.call) ? null : cannotReadErrors(error.call, error.code);
  }
}

/** Opens the tracer, or explains why it is not available. */
export async function openTraceroute(
  opened: OpenedLibc = openLibc(),
  clock: Clock = systemClock,
): Promise<{ traceroute: Traceroute } | { traceroute: null; problem: string }> {
  const { libc } = opened;
  if (libc === null) {
    return { traceroute: null, problem: `the way to a target cannot be traced: ${opened.problem}` };
  }
  const tools = { libc, clock, kernelClock: new KernelClock(libc) };
  const problem = await findProblem(tools);
  return problem === null
    ? { traceroute: new NativeTraceroute(tools) }
    : { traceroute: null, problem };
}
