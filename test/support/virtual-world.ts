/** Control plane and agents in one process on one virtual time; each host has a wall clock that can be set. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { pino } from 'pino';
import type { Clock } from '@monitor/shared/clock.ts';
import { startAgent, type RunningAgent } from '../../agent/compose.ts';
import { readConfig } from '../../agent/config.ts';
import { between } from '../../proof/case.ts';
import { startTestControlPlane } from './control-plane.ts';
import { plainNetwork } from './plain-network.ts';
import { seededRandom } from './random.ts';
import { temporaryFolder } from './system.ts';

const gridMs = 100;
const quietTurns = 2;

interface Timer {
  at: number;
  callback: () => void;
}

export class VirtualWorld {
  monotonic = 0;
  readonly #epoch = Date.now();
  readonly #timers = new Set<Timer>();

  /** The clock of a host, whose wall is so much ahead. */
  clock(wall: { aheadMs: number }): Clock {
    return {
      now: () => Math.round(this.#epoch + this.monotonic + wall.aheadMs),
      monotonic: () => this.monotonic,
      after: (delayMs, callback) => {
        const timer = { at: this.monotonic + Math.max(0, delayMs), callback };
        this.#timers.add(timer);
        return () => this.#timers.delete(timer);
      },
    };
  }

  /** Lets so much virtual time pass. What happens between two points of the grid happens at the later one. */
  async run(ms: number): Promise<void> {
    const until = this.monotonic + ms;
    for (;;) {
      const next = Math.min(...[...this.#timers].map(({ at }) => at), Infinity);
      if (next > until) break;
      this.monotonic = Math.min(Math.ceil((next + 1) / gridMs) * gridMs, until);
      const due = [...this.#timers].filter(({ at }) => at <= this.monotonic);
      for (const timer of due.sort((one, other) => one.at - other.at)) {
        if (this.#timers.delete(timer)) timer.callback();
      }
      await this.#idle();
    }
    this.monotonic = until;
  }

  /** Calls between the hosts go over loopback: waits until the event loop has nothing to do. */
  async #idle(): Promise<void> {
    for (let quiet = 0; quiet < quietTurns;) {
      const before = performance.eventLoopUtilization();
      await new Promise((resolve) => setTimeout(resolve, 1));
      quiet = performance.eventLoopUtilization(before).active < 0.3 ? quiet + 1 : 0;
    }
  }
}

export const location = 'eu-central-1';
/** How many checks a play has, and how often they run. */
export const checks = 4;
export const everySeconds = 10;
const url = 'http://127.0.0.1:9/';

interface Visit {
  checkId: string;
  hasFailed: boolean;
}

/** The target of all plays: a process loads the runner of a type once. */
export const site = { isDown: false, visits: [] as Visit[], random: seededRandom(0) };

async function visit(_: unknown, { clock, run }: { clock: Clock; run: { checkId: string } }) {
  const startedAt = clock.now();
  const hasFailed = site.isDown;
  site.visits.push({ checkId: run.checkId, hasFailed });
  // Some take longer than the time between two submissions.
  const tookMs = Math.round(between(site.random, 20, 3_000));
  await new Promise<void>((resolve) => clock.after(tookMs, resolve));
  return {
    ...{ startedAt, stoppedAt: clock.now(), responseTime: tookMs },
    failure: hasFailed ? { code: 'ECONNREFUSED', message: 'refused' } : null,
    request: { method: 'GET', url },
    response: hasFailed
      ? null
      : {
          ...{ status: 200, statusText: 'OK', headers: {}, body: '' },
          ...{ timings: {}, timingPhases: {} },
        },
  };
}

/** A control plane with some checks; agents are added. */
export async function startPlay(random: () => number) {
  const stack = new AsyncDisposableStack();
  const folder = stack.use(temporaryFolder());
  const world = new VirtualWorld();
  const walls = { controlPlane: { aheadMs: 0 }, agent: { aheadMs: 0 } };
  Object.assign(site, { isDown: false, visits: [], random });
  const cp = stack.use(
    await startTestControlPlane({
      clock: world.clock(walls.controlPlane),
      file: join(folder.path, 'control-plane.db'),
      settings: { REQUESTS_PER_MINUTE: '0' },
    }),
  );
  for (let index = 0; index < checks; index += 1) {
    const { status } = await cp.api('POST', '/v1/checks/url', {
      ...{
        name: `check ${index}`,
        frequency: 0,
        frequencyOffset: everySeconds,
        locations: [location],
      },
      request: { url, method: 'GET', assertions: [] },
    });
    assert.equal(status, 201);
  }
  const key = await cp.locationKey(location);
  let agents = 0;
  const addAgent = async (settings: Record<string, string> = {}): Promise<RunningAgent> => {
    agents += 1;
    const { config } = readConfig({
      environment: {
        ...{ API_KEY: key, CONTROL_PLANE_URL: cp.url },
        ...{ AGENT_HEALTH_PORT: '0', AGENT_HEALTH_HOST: '127.0.0.1' },
        ...{ AGENT_DATA_DIR: join(folder.path, `agent-${agents}`), AGENT_CHECK_TYPES: 'URL' },
        ...settings,
      },
    });
    return stack.use(
      await startAgent({
        ...{ config, logger: pino({ level: 'silent' }), network: plainNetwork },
        clock: world.clock(walls.agent),
        runners: { URL: { pool: 'light', load: () => Promise.resolve(visit as never) } },
      }),
    );
  };
  return { world, walls, cp, addAgent, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}
