/**
 * The packets of the last minute, of which the failing connection is cut out afterwards. The capture
 * runs ahead of time: what fails cannot be asked to fail again.
 *
 * The kernel cuts each packet at the end of its TCP header before it is kept, so there is no payload
 * in a capture, and no secret: of a TLS handshake or alert the first seven bytes stay, which say of
 * what kind it is. A process of its own (`packet-capture.pl`) holds the ring; when it ends, it is
 * started again, and no run fails for it.
 */
import { systemClock, type Clock } from '@monitor/shared/clock.ts';
import type { IpFamily } from '@monitor/shared/contract/primitives.ts';
import { AgentError } from '../../errors.ts';
import { CaptureRelay, startCaptureRelay, type RelayProblem } from './relay.ts';
import { findOnPath } from '../../system/find-program.ts';
import { pcapFile } from './pcap-file.ts';

/** One TCP connection, or the attempt at one. Instants are of the monotonic clock, in ms. */
export interface Flow {
  readonly family: IpFamily;
  readonly localAddress: string;
  readonly localPort: number;
  readonly remoteAddress: string;
  readonly remotePort: number;
  readonly from: number;
  readonly to: number;
}

export interface CutCapture {
  /** A pcap file. */
  readonly bytes: Buffer;
  readonly packets: number;
  /** Packets in the middle of a long connection that were left out. */
  readonly leftOut: number;
}

export interface PacketCapture extends AsyncDisposable {
  /** Gives the packets of a flow in one file, or says why there are none. Never rejects. */
  cut(flow: Flow, signal: AbortSignal): Promise<CutCapture | { missing: string }>;
  /** Called for temporary failures. */
  onFailure(listener: (fault: AgentError) => void): void;
}

export interface CaptureOptions {
  /** PACKET_CAPTURE_BUFFER_MB. */
  bufferMb: number;
  environment: Readonly<Record<string, string | undefined>>;
  clock?: Clock;
}

/** Between the instant of an event in Node and that of its packet in the kernel. */
const slackMs = 100;
const firstPauseMs = 1_000;
const maxPauseMs = 60_000;

function explain({ name, text }: RelayProblem): string {
  const begin = 'packets cannot be captured:';
  if (name === 'EPERM' || name === 'EACCES') {
    return `${begin} this process has no CAP_NET_RAW (start the container with --cap-add=NET_RAW as root, or give the process the ambient capability)`;
  }
  if (name === 'ENOMEM' || name === 'ENOBUFS') {
    return `${begin} the kernel has no memory for them (${text}); lower PACKET_CAPTURE_BUFFER_MB`;
  }
  return `${begin} ${text}`;
}

class RelayedCapture implements PacketCapture {
  readonly #start: () => Promise<CaptureRelay | RelayProblem>;
  readonly #clock: Clock;
  readonly #listeners: ((fault: AgentError) => void)[] = [];
  #relay: CaptureRelay | null = null;
  #isClosed = false;
  #pauseMs = firstPauseMs;
  #cancelStart: () => void = () => undefined;

  constructor(
    relay: CaptureRelay,
    start: () => Promise<CaptureRelay | RelayProblem>,
    clock: Clock,
  ) {
    this.#start = start;
    this.#clock = clock;
    this.#use(relay);
  }

  onFailure(listener: (fault: AgentError) => void): void {
    this.#listeners.push(listener);
  }

  #use(relay: CaptureRelay): void {
    this.#relay = relay;
    const startedAt = this.#clock.monotonic();
    void relay.ended.then((how) => {
      this.#relay = null;
      if (this.#clock.monotonic() - startedAt > maxPauseMs) this.#pauseMs = firstPauseMs;
      this.#startLater(`the process that keeps packets ended (${how})`);
    });
  }

  #startLater(why: string): void {
    if (this.#isClosed) return;
    const pauseMs = this.#pauseMs;
    this.#pauseMs = Math.min(pauseMs * 2, maxPauseMs);
    const message = `${why}; it is started again in ${pauseMs / 1000} s`;
    for (const listener of this.#listeners) listener(new AgentError('CAPTURE_BROKEN', message));
    this.#cancelStart = this.#clock.after(pauseMs, () => {
      void this.#start().then((started) => {
        if (!(started instanceof CaptureRelay)) this.#startLater(explain(started));
        else if (this.#isClosed) void started.end();
        else this.#use(started);
      });
    });
  }

  async cut(flow: Flow, signal: AbortSignal): Promise<CutCapture | { missing: string }> {
    const relay = this.#relay;
    if (relay === null) {
      return { missing: 'the process that keeps packets had ended and was not yet back' };
    }
    // Packets have times of the wall clock; an age would be wrong by the time the question takes.
    const epoch = this.#clock.now() - this.#clock.monotonic();
    const plain = (address: string): string => address.replace(/%.*$/, '');
    const question = [
      flow.family === 'IPv6' ? 6 : 4,
      plain(flow.localAddress),
      flow.localPort,
      plain(flow.remoteAddress),
      flow.remotePort,
      Math.floor(epoch + flow.from - slackMs),
      Math.ceil(epoch + flow.to + slackMs),
    ];
    const answer = await relay.ask(question.join(' '), signal);
    if (answer === null) return { missing: 'the process that keeps packets did not answer' };
    const { packets, leftOut, records } = answer;
    if (packets === 0) {
      return {
        missing: 'no packet of the connection was seen, or none is left of those that were',
      };
    }
    return { bytes: pcapFile(records), packets, leftOut };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    this.#cancelStart();
    await this.#relay?.end();
  }
}

/** Starts capturing, or says why that is not possible here and what would help. */
export async function openPacketCapture({
  bufferMb,
  environment,
  clock = systemClock,
}: CaptureOptions): Promise<{ capture: PacketCapture } | { capture: null; problem: string }> {
  if (process.platform !== 'linux') {
    return { capture: null, problem: 'packets cannot be captured: that needs Linux' };
  }
  const perl = findOnPath('perl', environment);
  if (perl === null) {
    const problem = 'packets cannot be captured: perl, which keeps them, is not installed';
    return { capture: null, problem };
  }
  const start = () => startCaptureRelay(perl, bufferMb);
  const started = await start();
  return started instanceof CaptureRelay
    ? { capture: new RelayedCapture(started, start, clock) }
    : { capture: null, problem: explain(started) };
}
