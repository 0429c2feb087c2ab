/** Signals between the writers of the outbox and its senders, at every replica. */
import type { AfterCommit } from '../db/after-commit.ts';
import type { Bus } from '../core/bus.ts';
import type { Services } from '../core/services.ts';
import type { Outcome } from './outbox-rows.ts';

export type DeliveryOutcome = Pick<Outcome, 'status' | 'result'>;

/** Wakes the sender after the commit, if something was added to the outbox. */
export function wakeOutbox({ outbox }: Pick<Services, 'outbox'>, isQueued: boolean): AfterCommit {
  if (!isQueued) return null;
  return () => {
    outbox.wake();
  };
}

export class OutboxSignal {
  readonly #bus: Bus;
  #wake: () => void = () => {};
  readonly #waiting = new Map<string, (outcome: DeliveryOutcome) => void>();

  constructor(bus: Bus) {
    this.#bus = bus;
    bus.on('o', () => {
      this.#wake();
    });
  }

  /** Call it after the commit that filled the outbox. */
  wake(): void {
    this.#bus.send('o');
  }

  /** Calls back when any replica filled the outbox. */
  onWake(wake: () => void): void {
    this.#wake = wake;
  }

  /** Call it after the commit that records the outcome. */
  ended(id: string, outcome: DeliveryOutcome): void {
    this.#waiting.get(id)?.(outcome);
  }

  /** Resolves when the notification has ended; null when the signal aborts. */
  whenEnded(id: string, signal: AbortSignal): Promise<DeliveryOutcome | null> {
    return new Promise((resolve) => {
      const finish = (outcome: DeliveryOutcome | null): void => {
        this.#waiting.delete(id);
        signal.removeEventListener('abort', onAbort);
        resolve(outcome);
      };
      const onAbort = (): void => {
        finish(null);
      };
      if (signal.aborted) finish(null);
      else signal.addEventListener('abort', onAbort, { once: true });
      if (!signal.aborted) this.#waiting.set(id, finish);
    });
  }
}
