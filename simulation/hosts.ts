/** The programs of a world, each on a host that can be killed, suspended and started again. */
import { cpSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pino, type Logger } from 'pino';
import { startAgent, type RunningAgent } from '../agent/compose.ts';
import { readConfig as readAgentConfig } from '../agent/config.ts';
import { noReceiveStamps } from '../agent/native/receive-stamp.ts';
import { noTcpTimes } from '../agent/native/tcp-times.ts';
import type { NetworkAccess } from '../agent/net/network-access.ts';
import { startControlPlane, type ControlPlane } from '../control-plane/app/compose.ts';
import { readConfig } from '../control-plane/core/config.ts';
import { closeFiles, copyFlushed, losePower } from './files.ts';
import type { Targets } from './targets.ts';
import { Host, runningHost, Wall, type World } from './world.ts';

export const controlPlaneAddress = '10.0.0.1';
export const receiverAddress = '10.0.0.9';
const notGiven = 'not given by the simulation';
const network: NetworkAccess = {
  useOsResolver: false,
  ...{ icmp: null, icmpProblem: notGiven, capture: null, captureProblem: notGiven },
  ...{ traceroute: null, tracerouteProblem: notGiven },
  nextHops: { problem: notGiven, to: () => Promise.resolve(null) },
  ...{ tcpTimes: noTcpTimes, receiveStamps: noReceiveStamps },
};

/** A part of time in which something was so, in the time of the world. */
export interface Span {
  from: number;
  to: number;
}
export const overlaps = (spans: readonly Span[], from: number, to: number): boolean =>
  spans.some((span) => span.from < to && span.to > from);

const within = new WeakMap<World, Targets>();

/** A program on a machine: what it keeps is in a folder, its wall clock goes on without it. */
abstract class Program<Running extends AsyncDisposable> {
  readonly world: World;
  readonly name: string;
  readonly wall = new Wall();
  host: Host | null = null;
  running: Running | null = null;
  /** When it did not run or could not act, for whatever reason, and when it was asked to end. */
  readonly away: (Span & { isPlanned: boolean; askedAt: number })[] = [];
  /** Errors that it logged. */
  readonly problems: string[] = [];
  /** How often the machine was started. */
  protected boots = 1;
  #folder: string;
  #starts = 0;
  readonly #logger: (host: Host) => Logger;

  constructor(
    world: World,
    name: string,
    folder: string,
    log: (name: string, line: string) => void,
  ) {
    this.world = world;
    this.name = name;
    this.#folder = join(folder, `${name}-0`);
    mkdirSync(this.#folder, { recursive: true });
    this.#logger = (host) =>
      pino(
        { level: world.hasTimeline ? 'debug' : 'warn', base: null, timestamp: false },
        {
          write: (line: string) => {
            if (host.isAlive) log(name, line);
          },
        },
      );
    this.leave();
  }

  get folder(): string {
    return this.#folder;
  }

  leave(isPlanned = false, askedAt = this.world.now): void {
    const last = this.away.at(-1);
    if (last?.to === Infinity) return;
    this.away.push({ from: this.world.now, to: Infinity, isPlanned, askedAt });
  }

  arrive(): void {
    const last = this.away.at(-1);
    if (last?.to === Infinity) last.to = this.world.now;
  }

  get isUp(): boolean {
    return this.running !== null && this.host?.isSuspended === false;
  }

  protected abstract open(host: Host, logger: Logger): Promise<Running>;

  start(): void {
    if (this.host !== null) return;
    this.#starts += 1;
    const host = new Host(this.world, this.name, this.wall, this.#starts);
    this.host = host;
    this.world.note(this.name, 'starts');
    host.act(() => {
      this.open(host, this.#logger(host)).then(
        (running) => {
          if (this.host !== host) return;
          this.running = running;
          this.arrive();
        },
        (error: unknown) => {
          if (this.host === host) this.problems.push(`did not start: ${String(error)}`);
        },
      );
    });
  }

  /**
   * Ends at once. What it has written stays as the kernel has it, or as the disk has it where the power is lost;
   * nothing of the old process goes on.
   */
  kill(lostPower: (() => number) | null = null): void {
    const { host } = this;
    if (host === null) return;
    this.world.note(this.name, lostPower === null ? 'is killed' : 'has no power');
    this.world.bury(host);
    this.world.network.drop(host);
    const next = join(this.#folder, '..', `${this.name}-${this.#starts}`);
    cpSync(this.#folder, next, { recursive: true });
    copyFlushed(this.#folder, next);
    if (lostPower !== null) {
      this.boots += 1;
      losePower(this.#folder, next, lostPower);
    }
    const old = this.#folder;
    // What runs at this moment runs to its end, for nothing.
    this.world.add(this.world.outside, this.world.now, () => {
      closeFiles(old);
      rmSync(old, { recursive: true, force: true });
    });
    this.#folder = next;
    this.host = this.running = null;
    this.leave();
  }

  /** Ends as after SIGTERM. */
  async stop(before?: (running: Running) => Promise<unknown>): Promise<void> {
    const { host, running } = this;
    if (host === null || running === null) return;
    this.world.note(this.name, 'is asked to end');
    const askedAt = this.world.now;
    await host.act(async () => {
      await before?.(running);
      await running[Symbol.asyncDispose]();
    });
    if (this.host !== host) return;
    this.world.note(this.name, 'has ended');
    closeFiles(this.#folder);
    this.world.bury(host);
    this.world.network.drop(host);
    this.host = this.running = null;
    this.leave(true, askedAt);
  }

  suspend(): void {
    if (this.host === null || this.host.isSuspended) return;
    this.world.note(this.name, 'is suspended');
    this.host.suspend();
    this.leave();
  }

  resume(wasAsleep: boolean): void {
    if (this.host?.isSuspended !== true) return;
    this.world.note(this.name, wasAsleep ? 'wakes up' : 'goes on');
    if (this.running !== null) this.arrive();
    this.host.resume(wasAsleep);
  }
}

export class ControlPlaneProgram extends Program<ControlPlane> {
  settings: Record<string, string> = {};

  get file(): string {
    return join(this.folder, 'control-plane.db');
  }

  protected override open(host: Host, logger: Logger): Promise<ControlPlane> {
    return startControlPlane({
      config: readConfig({
        ...{ PORT: '80', HOST: controlPlaneAddress, DATABASE_FILE: this.file },
        ...{ PUBLIC_URL: `http://${controlPlaneAddress}`, REQUESTS_PER_MINUTE: '0' },
        ...{ OUTGOING_ALLOWED_NETWORKS: '10.0.0.0/8', CHECK_RESPONSES: 'false' },
        ...this.settings,
      }),
      logger,
      clock: host.clock,
      machine: { boot: () => host.bootMs(), bootId: `boot ${this.boots}` },
      followsDatabase: false,
      random: host.random,
      resolver: { txt: () => Promise.resolve([]), cname: () => Promise.resolve([]) },
    });
  }
}

export class AgentProgram extends Program<RunningAgent> {
  readonly location: string;
  /** How long its runs may take to end once it is asked to end. */
  readonly drainMs: number;
  apiKey: string;
  isDraining = false;

  constructor(
    world: World,
    name: string,
    folder: string,
    log: (name: string, line: string) => void,
    given: { location: string; apiKey: string; targets: Targets; drainMs: number },
  ) {
    super(world, name, folder, log);
    this.location = given.location;
    this.drainMs = given.drainMs;
    this.apiKey = given.apiKey;
    within.set(world, given.targets);
  }

  protected override open(host: Host, logger: Logger): Promise<RunningAgent> {
    const { config } = readAgentConfig({
      environment: {
        ...{ API_KEY: this.apiKey, CONTROL_PLANE_URL: `http://${controlPlaneAddress}` },
        ...{ AGENT_HEALTH_PORT: '0', AGENT_HEALTH_HOST: '127.0.0.1', AGENT_CHECK_TYPES: 'URL' },
        ...{ AGENT_DATA_DIR: this.folder, AGENT_WORK_DIR: join(this.folder, 'work') },
        DRAIN_TIMEOUT_SECONDS: String(this.drainMs / 1_000),
      },
    });
    return startAgent({
      ...{ config, logger, network, clock: host.clock, random: host.random },
      runners: { URL: { pool: 'light', load: () => Promise.resolve(visit as never) } },
    });
  }

  /** Ends as an update does it: it hands over, and says goodbye. */
  async drain(): Promise<void> {
    if (this.isDraining) return;
    this.isDraining = true;
    await this.stop((running) => running.drain());
    this.isDraining = false;
  }
}

/** The runner of all agents: a process loads it once. */
function visit(definition: { request: { url: string } }, context: Parameters<Targets['visit']>[1]) {
  const world = runningHost()?.world;
  const targets = world === undefined ? undefined : within.get(world);
  if (targets === undefined) throw new Error('this world has no targets');
  return targets.visit(definition.request.url, context);
}
