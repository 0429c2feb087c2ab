/**
 * Tells this process at once, and other replicas within milliseconds, what changed. Call it after
 * the commit. Nothing depends on a message arriving: what waits for one also asks the database
 * once a second.
 */
import type { Logger } from 'pino';
import type { Clock } from '@monitor/shared/clock.ts';
import { decodePayload, encodePayload, type TopicKind } from './decide/bus-payload.ts';

/** Topics of this time go out together, in a statement of their own. */
const collectMs = 20;

/** The channel between replicas; null where this process is the only one. */
export interface Listener {
  /** Calls back for every message of any replica, this one included, until it is closed. */
  listen(onMessage: (payload: string) => void): void;
  notify(payload: string): Promise<void>;
}

interface BusParts {
  clock: Clock;
  logger: Logger;
  replicaId: string;
  listener: Listener | null;
}

type Handler = (about: string) => void;

export class Bus implements Disposable {
  readonly #parts: BusParts;
  readonly #handlers = new Map<TopicKind, Handler[]>();
  #unsent = new Set<string>();
  #cancelSending: (() => void) | null = null;
  #isClosed = false;

  constructor(parts: BusParts) {
    this.#parts = parts;
    parts.listener?.listen((payload) => {
      const { sender, topics } = decodePayload(payload);
      if (sender === parts.replicaId) return;
      for (const { kind, about } of topics) this.#deliver(kind, about);
    });
  }

  /** Calls back for topics of a kind; `about` may be `*`, for all. */
  on(kind: TopicKind, handler: Handler): void {
    this.#handlers.set(kind, [...(this.#handlers.get(kind) ?? []), handler]);
  }

  send(kind: TopicKind, about = ''): void {
    this.#deliver(kind, about);
    if (this.#parts.listener === null || this.#isClosed) return;
    this.#unsent.add(about === '' ? kind : `${kind} ${about}`);
    this.#cancelSending ??= this.#parts.clock.after(collectMs, () => {
      void this.#sendOut();
    });
  }

  #deliver(kind: TopicKind, about: string): void {
    for (const handler of this.#handlers.get(kind) ?? []) handler(about);
  }

  async #sendOut(): Promise<void> {
    const { listener, logger, replicaId } = this.#parts;
    this.#cancelSending = null;
    const lines = this.#unsent;
    this.#unsent = new Set();
    try {
      await listener?.notify(encodePayload(replicaId, lines));
    } catch (error) {
      logger.debug({ err: error }, 'other replicas were not notified, they ask the database');
    }
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#cancelSending?.();
  }
}
