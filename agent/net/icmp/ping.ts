/** Sends echo requests with the system's `ping`: portable, at the cost of a process per check. */
import { Worker } from 'node:worker_threads';
import type { Clock } from '@monitor/shared/clock.ts';
import { AgentError } from '../../errors.ts';
import type { EchoReply, EchoRequest, IcmpTransport } from './icmp.ts';
import { payloadBytes } from './packet.ts';
import { readPingOutput } from './ping-output.ts';
import type { PingOrder, PingReport } from './ping-worker.ts';

/** Time for starting `ping` on a busy machine. */
const graceMs = 3_000;

function unusable(why: string): AgentError {
  return new AgentError('ICMP_UNAVAILABLE', `ping could not be used: ${why}`);
}

/** Advice when `ping` cannot be started, by the end of Node's message. */
const advice: readonly [RegExp, string][] = [
  [
    /\bEPERM$/,
    'the system forbids to start it, since its file asks for a capability that this container or user does ' +
      'not have: allow NET_RAW, or the group of the agent in net.ipv4.ping_group_range',
  ],
  [
    /\bEACCES$/,
    'this user may not start it; "monitor-agent doctor --only icmp" says what is missing',
  ],
  [/\bENOENT$/, 'it is not installed (Debian: iputils-ping)'],
];

/** Why `ping` did not start, with advice. */
export function startProblem(problem: string): string {
  const known = advice.find(([pattern]) => pattern.test(problem));
  return known === undefined ? problem : `${known[1]} (${problem})`;
}

function orderOf(id: number, request: EchoRequest): PingOrder {
  const { address, family, count, intervalMs, timeoutMs } = request;
  const config = {
    numeric: true,
    // The family as a flag: the package would use a program named ping6, which may be missing.
    v6: false,
    min_reply: count,
    packetSize: payloadBytes,
    timeout: Math.max(1, Math.round(timeoutMs / 1000)),
    extra: [...(family === 'IPv6' ? ['-6'] : []), '-i', String(intervalMs / 1000)],
  };
  return { id, address, config };
}

type Settle = (outcome: { output: string } | { error: Error }) => void;

export class PingIcmp implements IcmpTransport {
  readonly way = 'ping';
  readonly packetSize = payloadBytes;
  readonly #path: string;
  readonly #clock: Clock;
  readonly #waiting = new Map<number, Settle>();
  #worker: Worker | null = null;
  #lastId = 0;

  /** `path` is where `ping` is looked for, and all it gets to know of our environment. */
  constructor(path: string, clock: Clock) {
    this.#path = path;
    this.#clock = clock;
  }

  async echo(request: EchoRequest): Promise<EchoReply[]> {
    const output = await this.#ping(request);
    const outcome = readPingOutput(output, request.count, request.family);
    switch (outcome.kind) {
      case 'replies':
        return outcome.replies;
      case 'no-route':
        throw new AgentError(
          'NETWORK_UNAVAILABLE',
          `this machine cannot send echo requests to ${request.address} (${outcome.line}); check its routes`,
        );
      case 'forbidden':
        throw unusable(`${outcome.line}; grant the agent the capability NET_RAW`);
      case 'unreadable':
        throw unusable(`it printed "${outcome.line}"`);
    }
  }

  /** The whole output of `ping`. */
  #ping(request: EchoRequest): Promise<string> {
    const { count, intervalMs, timeoutMs, signal } = request;
    const id = (this.#lastId += 1);
    const limitMs = (count - 1) * intervalMs + timeoutMs + graceMs;
    return new Promise((resolve, reject) => {
      const settle: Settle = (outcome) => {
        if (!this.#waiting.delete(id)) return;
        cancelTimer();
        signal.removeEventListener('abort', onAbort);
        if ('output' in outcome) resolve(outcome.output);
        else reject(outcome.error);
      };
      const onAbort = (): void => {
        settle({ error: new Error('the run was cancelled', { cause: signal.reason }) });
      };
      const cancelTimer = this.#clock.after(limitMs, () => {
        settle({ error: unusable(`it did not end within ${limitMs} ms`) });
      });
      this.#waiting.set(id, settle);
      signal.addEventListener('abort', onAbort);
      if (signal.aborted) onAbort();
      else (this.#worker ??= this.#start()).postMessage(orderOf(id, request));
    });
  }

  #start(): Worker {
    const worker = new Worker(new URL('ping-worker.ts', import.meta.url), {
      env: { PATH: this.#path, LC_ALL: 'C' },
    });
    // A running echo has a timer; an idle thread must not keep the process alive.
    worker.unref();
    worker.on('message', (report: PingReport) => {
      const settle = this.#waiting.get(report.id);
      settle?.('output' in report ? report : { error: unusable(startProblem(report.problem)) });
    });
    worker.on('error', (error) => {
      this.#end(error instanceof Error ? error.message : String(error));
    });
    worker.on('exit', () => {
      if (this.#worker === worker) this.#end('its thread has ended');
    });
    return worker;
  }

  /** Rejects pending requests; the next request starts a new thread. */
  #end(why: string): void {
    this.#worker = null;
    for (const settle of [...this.#waiting.values()]) settle({ error: unusable(why) });
  }

  close(): void {
    const worker = this.#worker;
    this.#end('the agent is stopping');
    void worker?.terminate();
  }
}
