/**
 * Writes check-ins. Those that arrive together share a transaction, so that a fleet that starts
 * changes the set of agents a few times and not once per agent.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Clock } from '@monitor/shared/clock.ts';
import type { Commits } from '../db/after-commit.ts';
import { joinLocation, keyOfPlace, renewAgents, type Arrival } from './serving-agents.ts';

/** While check-ins keep coming, writing them takes a part of the time. */
const pausePerWrite = 3;
const maxPauseMs = 100;

interface RegistryParts {
  commits: Commits;
  clock: Pick<Clock, 'monotonic'>;
  replicaId: string;
}

interface Waiting extends Arrival {
  resolve: (isNew: boolean) => void;
  reject: (error: unknown) => void;
}

export class AgentRegistry {
  readonly #parts: RegistryParts;
  #waiting: Waiting[] = [];
  #isWorking = false;

  constructor(parts: RegistryParts) {
    this.#parts = parts;
  }

  /** Records a check-in. True when the agent did not serve before, or offers something else. */
  register(arrival: Arrival): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ...arrival, resolve, reject });
      if (!this.#isWorking) void this.#work();
    });
  }

  async #work(): Promise<void> {
    const { clock } = this.#parts;
    this.#isWorking = true;
    // Requests that were read in the same turn of the event loop join before the transaction begins.
    await new Promise<void>((resolve) => setImmediate(resolve));
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      const begunAt = clock.monotonic();
      await this.#write(batch);
      const tookMs = clock.monotonic() - begunAt;
      if (this.#waiting.length > 0) await pause(Math.min(maxPauseMs, pausePerWrite * tookMs));
    }
    this.#isWorking = false;
  }

  async #write(batch: readonly Waiting[]): Promise<void> {
    const { commits, replicaId } = this.#parts;
    try {
      // A renewal locks rows of agents, and joining locks the location first: never in one transaction.
      const news = await commits.run((db) => renewAgents(db, batch, replicaId));
      const isNews = new Set(news);
      for (const arrival of batch) if (!isNews.has(arrival)) arrival.resolve(false);
      const byPlace = Map.groupBy(news, keyOfPlace);
      await Promise.all([...byPlace.values()].map((arrivals) => this.#join(arrivals)));
    } catch (error) {
      const [only] = batch;
      if (batch.length === 1) only?.reject(error);
      // One of them fails: written alone, the others still succeed.
      else for (const arrival of batch) await this.#write([arrival]);
    }
  }

  async #join(arrivals: readonly Waiting[]): Promise<void> {
    const [place] = arrivals;
    if (place === undefined) return;
    const { commits, replicaId } = this.#parts;
    try {
      const now = Math.max(...arrivals.map(({ receivedAt }) => receivedAt));
      const news = await commits.run((db) => joinLocation(db, place, arrivals, { replicaId, now }));
      for (const arrival of arrivals) arrival.resolve(news.has(arrival.request.agentId));
    } catch (error) {
      for (const arrival of arrivals) arrival.reject(error);
    }
  }
}
