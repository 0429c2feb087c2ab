/** What is checked: targets that do as their scripts say, and remember who visited them. */
import type { Clock } from '@monitor/shared/clock.ts';
import { sleep } from '@monitor/shared/clock.ts';
import { runningHost, type Host, type World } from './world.ts';

export type TargetState = 'up' | 'down' | 'error' | 'degraded' | 'slow' | 'hanging';

/** What a target makes of its check, as the contract of URL monitors says it. */
export type Health = 'passing' | 'degraded' | 'failing';
export const healthOf: Record<TargetState, Health> = {
  ...{ up: 'passing', degraded: 'degraded' },
  ...{ down: 'failing', error: 'failing', slow: 'failing', hanging: 'failing' },
};
export const limits = { degradedResponseTime: 2_000, maxResponseTime: 4_000 };
const tookMs: Record<Exclude<TargetState, 'hanging'>, number> = {
  ...{ up: 20, down: 5, error: 40, degraded: 3_000, slow: 5_000 },
};

export interface Visit {
  checkId: string;
  resultId: string;
  runId: string;
  attempt: number;
  host: string;
  from: number;
  /** When the agent had its observation; null when it never had one. */
  to: number | null;
  state: TargetState;
}

interface Facts {
  clock: Clock;
  signal: AbortSignal;
  timeoutMs: number;
  run: { checkId: string; resultId: string; runId: string; attempt: number };
}

export class Targets {
  readonly #world: World;
  readonly #random: () => number;
  readonly states = new Map<string, TargetState>();
  readonly visits: Visit[] = [];
  /** Called once, at the next visit by a host. */
  onVisit: { host: Host; call: () => void } | null = null;

  constructor(world: World) {
    this.#world = world;
    this.#random = world.chance('targets');
  }

  set(url: string, state: TargetState): void {
    if (this.states.get(url) !== state) this.#world.note('targets', `${url} is ${state}`);
    this.states.set(url, state);
  }

  async visit(url: string, { clock, signal, timeoutMs, run }: Facts) {
    const state = this.states.get(url) ?? 'up';
    const host = runningHost()?.name ?? '?';
    const visit: Visit = {
      ...{ checkId: run.checkId, resultId: run.resultId, runId: run.runId, attempt: run.attempt },
      ...{ host, from: this.#world.now, to: null, state },
    };
    this.visits.push(visit);
    if (this.onVisit !== null && this.onVisit.host === runningHost()) {
      const { call } = this.onVisit;
      this.onVisit = null;
      call();
    }
    const startedAt = clock.now();
    const isHanging = state === 'hanging';
    const usualMs = isHanging ? timeoutMs : tookMs[state];
    const ms = isHanging ? usualMs : Math.round(usualMs * (1 + 0.2 * this.#random()));
    const begunAt = clock.monotonic();
    // A visit that is ended has seen nothing.
    await sleep(clock, ms, signal);
    signal.throwIfAborted();
    visit.to = this.#world.now;
    this.#world.trace(`visit of ${url} by ${host}: ${state}`);
    const request = { method: 'GET', url };
    const stoppedAt = clock.now();
    const times = { startedAt, stoppedAt, responseTime: Math.round(clock.monotonic() - begunAt) };
    if (state === 'down' || isHanging) {
      const failure = isHanging
        ? { code: 'TIMEOUT', message: 'no answer in time' }
        : { code: 'ECONNREFUSED', message: 'refused' };
      return { ...times, failure, request, response: null };
    }
    const status = state === 'error' ? 500 : 200;
    const response = {
      ...{ status, statusText: '', headers: {}, body: '' },
      ...{ timings: {}, timingPhases: {} },
    };
    return { ...times, failure: null, request, response };
  }
}
