/** Those who use the API: people, jobs that ping, and a receiver of messages. */
import { createServer } from 'node:http';
import { SMTPServer } from 'smtp-server';
import { request, Agent } from 'undici';
import { sleep } from '@monitor/shared/clock.ts';
import { controlPlaneAddress, type Span } from './hosts.ts';
import type { ReceiverAnswer } from './events.ts';
import type { World } from './world.ts';

export interface Answer {
  status: number;
  // Bodies of every shape.
  // oxlint-disable-next-line typescript/no-explicit-any
  body: any;
}

/** Calls the API. Null when there was no answer: nobody knows whether it was done. */
export class Caller {
  readonly #world: World;
  readonly #apiKey: string;
  readonly #dispatcher: Agent;

  constructor(world: World, apiKey: string) {
    this.#world = world;
    this.#apiKey = apiKey;
    this.#dispatcher = new Agent({ headersTimeout: 0, bodyTimeout: 0, connectTimeout: 0 });
  }

  async call(method: string, path: string, body?: unknown): Promise<Answer | null> {
    const { clock } = this.#world.outside;
    const ends = new AbortController();
    const cancel = clock.after(10_000, () => ends.abort());
    try {
      const answer = await request(`http://${controlPlaneAddress}:80${path}`, {
        ...{ method: method as 'GET', dispatcher: this.#dispatcher, signal: ends.signal },
        headers: {
          authorization: `Bearer ${this.#apiKey}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await answer.body.text();
      return { status: answer.statusCode, body: text === '' ? undefined : JSON.parse(text) };
    } catch {
      return null;
    } finally {
      cancel();
    }
  }

  /** Tries again until there is an answer that is not an error of the server. */
  async insist(method: string, path: string, body?: unknown): Promise<Answer> {
    for (;;) {
      const answer = await this.call(method, path, body);
      if (answer !== null && answer.status < 500 && answer.status !== 429) return answer;
      await sleep(this.#world.outside.clock, 1_000);
    }
  }
}

export interface Delivery {
  id: string;
  at: number;
  isTaken: boolean;
  body: { type: string; check: string };
}

/** Where messages go. */
export class Receiver {
  readonly deliveries: Delivery[] = [];
  /** When it did not take every message at once. */
  readonly interruptions: Span[] = [];
  answer: ReceiverAnswer | null = null;

  constructor(world: World) {
    const server = createServer((incoming, response) => {
      let text = '';
      incoming.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      incoming.on('error', () => undefined);
      incoming.on('end', () => {
        const id = String(incoming.headers['webhook-id']);
        const isTaken = this.answer === null || this.answer === 'hangs' || this.answer === 'cuts';
        const delivery = { id, at: world.now, isTaken, body: JSON.parse(text) as Delivery['body'] };
        this.deliveries.push(delivery);
        world.note(
          'receiver',
          `${delivery.body.type}${isTaken ? '' : ' refused'} ${this.answer ?? ''}`,
        );
        if (this.answer === 'hangs') return;
        if (this.answer === 'cuts') response.destroy();
        else if (this.answer === 'busy') response.writeHead(429, { 'retry-after': '3' }).end();
        else response.writeHead(this.answer === null ? 204 : 503).end();
      });
    });
    const mails = new SMTPServer({
      ...{ authOptional: true, disabledCommands: ['AUTH', 'STARTTLS'] },
      ...{ logger: false, disableReverseLookup: true },
      onData: (stream, { envelope }, done) => {
        let text = '';
        stream.on('data', (chunk: Buffer) => (text += chunk.toString()));
        stream.on('end', () => {
          const id = /^message-id:\s*(\S+)/im.exec(text)?.[1] ?? '';
          for (const { address } of envelope.rcptTo) {
            const body = { type: 'mail', check: address };
            this.deliveries.push({ id: `${id} ${address}`, at: world.now, isTaken: true, body });
            world.note('receiver', `mail to ${address}`);
          }
          done();
        });
      },
    });
    // Who sends may be killed in the middle of a word.
    mails.on('error', () => undefined);
    world.outside.act(() => {
      server.listen(80);
      mails.listen(25);
    });
  }
}

export interface Ping {
  at: number;
  /** When the control plane had said that it has it; null when it never did. */
  answeredAt: number | null;
}

/** A job that pings: again and again until it is answered. */
export class Job {
  readonly pings: Ping[] = [];
  readonly url: string;
  readonly everyMs: number;
  isStopped = false;

  constructor(world: World, caller: Caller, path: string, everyMs: number) {
    this.url = path;
    this.everyMs = everyMs;
    const ping = async (): Promise<void> => {
      if (!this.isStopped) {
        const made: Ping = { at: world.now, answeredAt: null };
        this.pings.push(made);
        const { status } = await caller.insist('POST', path);
        if (status < 300) made.answeredAt = world.now;
      }
      world.outside.after(everyMs, () => void ping());
    };
    world.outside.act(() => void ping());
  }
}
