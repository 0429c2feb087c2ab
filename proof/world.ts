/** A world: real programs, websites that they check, a receiver of messages, and the lanes of its cases. */
import { spawnSync } from 'node:child_process';
import { setTimeout as wait } from 'node:timers/promises';
import {
  count,
  openSlots,
  type ApiAlert,
  type ApiResult,
  type ApiRun,
  type Facts,
  type Message,
  type Tally,
} from './count.ts';
import { FaultProxy } from './fault-proxy.ts';
import { Lane, LaneAgent, open, type Interval, type Subject, type SubjectKind } from './lane.ts';
import { surroundings } from './program.ts';
import { seededRandom } from './random.ts';
import { System, type CheckWire, type Programs } from './system.ts';
import { drawOutages, nameOfPath, openTargets, type Targets } from './targets.ts';
import { openWebhook, type Webhook } from './webhook.ts';

export interface WorldOptions {
  programs: Programs;
  folder: string;
  seed: number;
  isShort: boolean;
  /** Of the control plane, beside what every world needs. */
  settings: Record<string, string>;
}

interface LaneOptions {
  agents?: number;
  /** Of its agents. */
  settings?: Record<string, string>;
  /** Of one of them, by its place. */
  settingsOf?: (place: number) => Record<string, string>;
  /** Further fields of the private location. */
  location?: Record<string, unknown>;
}

interface NewSubject {
  kind: SubjectKind;
  /** Asked for at the name server, not at the website. */
  isName?: boolean;
  /** Fields of its check. */
  body?: Record<string, unknown>;
}

/** How long slots and messages may take after the last fault, whatever this machine does beside. */
const settleWithinMs = 240_000;
const shortSettleWithinMs = 120_000;
const answersAfter: Partial<Record<SubjectKind, number>> = {
  slow: 1_500,
  'over-limit': 1_500,
  hanging: Infinity,
};
/** They are over their limits by as little, and by as much. */
const overLimits = [1_250, 800, 400];
const slotsEverySeconds = 10;
/** A run of a target that hangs takes half a minute. */
const hangingEverySeconds = 30;
/** Outages of pages end so long before the end, so that their recovery has a slot. */
const lastRecoveryMs = 11_000;
const page = 100;
const readAttempts = 60;

/** A stable number for a text, so that the faults of a case do not depend on the other cases. */
export const numberOf = (text: string): number =>
  [...text].reduce((sum, letter) => Math.imul(sum, 31) + letter.charCodeAt(0), 7) >>> 0;

export class World implements AsyncDisposable {
  readonly options: WorldOptions;
  readonly system: System;
  readonly targets: Targets;
  readonly webhook: Webhook;
  readonly lanes: Lane[] = [];
  readonly interruptions: Interval[] = [];
  /** Programs that did what no fault explains. */
  readonly failures: string[] = [];
  /** What the receiver of messages answers. */
  #receiver: { status: number; afterMs: number };
  readonly #outages: Interval[][] = [];
  #playsUntil = Infinity;
  #said = '';
  readonly #owned = new AsyncDisposableStack();

  private constructor(
    options: WorldOptions,
    parts: Pick<World, 'system' | 'targets' | 'webhook'>,
    receiver: { status: number; afterMs: number },
  ) {
    this.options = options;
    ({ system: this.system, targets: this.targets, webhook: this.webhook } = parts);
    this.#receiver = receiver;
  }

  static async start(options: WorldOptions): Promise<World> {
    const receiver = { status: 200, afterMs: 0 };
    const webhook = await openWebhook({
      answerAfterMs: () => receiver.afterMs,
      status: () => receiver.status,
    });
    const targets = await openTargets();
    const { programs, folder } = options;
    const settings = { OUTGOING_ALLOWED_NETWORKS: '127.0.0.1', ...options.settings };
    const system = await System.open({ programs, folder, settings });
    await system.api('POST', '/v1/alert-channels', {
      type: 'WEBHOOK',
      config: {
        name: 'proof',
        url: webhook.url,
        method: 'POST',
        template: '{ "type": "{{ALERT_TYPE}}", "check": "{{CHECK_ID}}" }',
      },
      ...{ autoSubscribe: true, sendFailure: true, sendRecovery: true, sendDegraded: true },
    });
    return new World(options, { system, targets, webhook }, receiver);
  }

  /** Gives it back when the world ends, after the programs. */
  owns<T extends Disposable | AsyncDisposable>(thing: T): T {
    return this.#owned.use(thing);
  }

  /** A way to the control plane that can go wrong. */
  async openLink(): Promise<FaultProxy> {
    return this.owns(await FaultProxy.start(Number(new URL(this.system.baseUrl).port)));
  }

  /** Makes a location with agents. */
  async makeLane(
    name: string,
    { agents = 1, settings = {}, settingsOf = () => settings, location = {} }: LaneOptions = {},
  ): Promise<Lane> {
    const key = agents === 0 ? '' : await this.system.makeLocation(name, location);
    const lane = new Lane(
      name,
      (place) => new LaneAgent(this.system, `${name}-${place}`, key, settingsOf(place)),
    );
    this.lanes.push(lane);
    for (let index = 0; index < agents; index += 1) lane.addAgent();
    return lane;
  }

  async addSubjects(lane: Lane, wanted: readonly NewSubject[]): Promise<void> {
    for (const { kind, isName = false, body = {} } of wanted) {
      const path = `/${lane.name}/${lane.subjects.length}`;
      const outages: Interval[] = [];
      if (kind === 'flapping') this.#outages.push(outages);
      const isUp = (at: number): boolean =>
        kind !== 'failing' && !outages.some(({ from, to }) => from <= at && at < to);
      const answersAfterMs = answersAfter[kind] ?? 0;
      this.targets.pages.set(path, { answersAfterMs, isUp });
      const check = await this.#createCheck(path, isName, {
        name: `${lane.name} ${lane.subjects.length} (${kind})`,
        frequencyOffset: slotsEverySeconds,
        privateLocations: [lane.name],
        // The targets are as slow as this machine is busy.
        ...{ degradedResponseTime: null, maxResponseTime: null },
        ...body,
      });
      const limitMs = check.degradedResponseTime ?? null;
      const spareMs = limitMs === null ? 0 : limitMs - answersAfterMs;
      lane.subjects.push({ check, kind, path, lane, spareMs });
    }
  }

  #createCheck(path: string, isName: boolean, body: Record<string, unknown>): Promise<CheckWire> {
    if (!isName) return this.system.createUrlCheck(this.targets.url + path, body);
    return this.system.createDnsCheck(nameOfPath(path), this.targets.dnsPort, body);
  }

  /** Targets that are slow and that hang by themselves, which no trouble of the agent may hide. */
  async addFaultyTargets(lane: Lane): Promise<void> {
    await this.addSubjects(lane, [
      ...overLimits.flatMap((maxResponseTime) =>
        [false, true].map((isName) => ({
          ...{ kind: 'over-limit' as const, isName },
          body: { degradedResponseTime: maxResponseTime, maxResponseTime },
        })),
      ),
      ...[false, true].map((isName) => ({
        ...{ kind: 'hanging' as const, isName, body: { frequencyOffset: hangingEverySeconds } },
      })),
    ]);
  }

  /** The checks that most lanes have: of each kind, and one that tries again. */
  addUsualSubjects(lane: Lane): Promise<void> {
    const retryStrategy = { type: 'FIXED', baseBackoffSeconds: 1, maxRetries: 1 };
    return this.addSubjects(lane, [
      { kind: 'healthy' },
      { kind: 'healthy' },
      { kind: 'slow' },
      { kind: 'failing', body: { retryStrategy } },
      { kind: 'flapping' },
      { kind: 'flapping' },
    ]);
  }

  /** From now on pages go down and come back. */
  begin(playsUntil: number): void {
    this.#playsUntil = playsUntil;
    for (const [index, outages] of this.#outages.entries()) {
      const random = seededRandom(this.options.seed * 1_000 + index);
      const lastEndAt = Number.isFinite(playsUntil)
        ? playsUntil - lastRecoveryMs
        : Date.now() + 3_600_000;
      outages.push(
        ...drawOutages(random, { from: Date.now(), lastEndAt, isShort: this.options.isShort }),
      );
    }
  }

  /** All pages come back, where the end was not known before. */
  end(): void {
    if (Number.isFinite(this.#playsUntil)) return;
    const now = Date.now();
    for (const outages of this.#outages) {
      const begun = outages.filter(({ from }) => from < now);
      outages.splice(
        0,
        outages.length,
        ...begun.map(({ from, to }) => ({ from, to: Math.min(to, now) })),
      );
    }
  }

  /** How many agents serve a location, as the control plane has it; null while it does not say. */
  async serving({ name }: Lane): Promise<number | null> {
    const all = await this.system
      .api<{ location: string; isServing: boolean }[]>('GET', '/v1/agents')
      .catch(() => null);
    if (all === null) return null;
    return all.filter(({ location, isServing }) => location === name && isServing).length;
  }

  /** Whether the control plane says of a location that an agent there is overloaded. */
  async isOverloaded({ name }: Lane): Promise<boolean> {
    const all = await this.system
      .api<{ location: string; overloadedSince: string | null }[]>('GET', '/v1/location-states')
      .catch(() => []);
    return all.some(
      ({ location, overloadedSince }) => location === name && overloadedSince !== null,
    );
  }

  async disturbReceiver(answer: { status: number; afterMs: number }, work: () => Promise<void>) {
    const interruption = open(this.interruptions);
    Object.assign(this.#receiver, answer);
    try {
      await work();
    } finally {
      Object.assign(this.#receiver, { status: 200, afterMs: 0 });
      interruption.close();
    }
  }

  subjects(): Subject[] {
    return this.lanes.flatMap(({ subjects }) => subjects);
  }

  #messages(): Message[] {
    return this.webhook.deliveries.flatMap(({ id, body, at, status }) => {
      const type = /"type":\s*"([^"]*)"/.exec(body)?.[1] ?? 'unreadable';
      const checkId = /"check":\s*"([^"]*)"/.exec(body)?.[1] ?? '';
      return [{ id, type, checkId, at, isTaken: status === 200 }];
    });
  }

  /** A control plane that has just come back, or is busy, may refuse at first. */
  async #read<T>(path: string): Promise<T> {
    for (let left = readAttempts; ; left -= 1) {
      try {
        return await this.system.api<T>('GET', path);
      } catch (error) {
        if (left === 0) throw error;
        await wait(1_000);
      }
    }
  }

  async #pages<T>(path: (page: number) => string): Promise<T[]> {
    const all: T[] = [];
    for (let number = 1; ; number += 1) {
      const some = await this.#read<T[]>(path(number));
      all.push(...some);
      if (some.length < page) return all;
    }
  }

  #runsOf({ id }: CheckWire): Promise<ApiRun[]> {
    return this.#pages((number) => `/v1/check-runs/${id}?limit=${page}&page=${number}`);
  }

  async #resultsOf({ id, created_at: created }: CheckWire): Promise<ApiResult[]> {
    const from = Math.floor(Date.parse(created) / 1_000) - 60;
    // What comes while pages are read moves the rest: the same result may be on two of them.
    const listed = await this.#pages<ApiResult>(
      (number) =>
        `/v1/check-results/${id}?limit=${page}&page=${number}&resultType=ALL&from=${from}`,
    );
    return [...new Map(listed.map((result) => [result.id, result])).values()];
  }

  /** Runs of all checks, those of a check that is complete read once. */
  async #readRuns(until: number, known: Map<string, ApiRun[]>): Promise<ApiRun[]> {
    for (const subject of this.subjects()) {
      if (subject.kind === 'heartbeat') continue;
      const runs = known.get(subject.check.id);
      if (runs !== undefined && openSlots({ subjects: [subject], until, runs }) === 0) continue;
      known.set(subject.check.id, await this.#runsOf(subject.check));
    }
    return [...known.values()].flat();
  }

  /** What follows is read first: what came in between is then missing, which is waited for, and not too much. */
  async #facts(until: number, runs: ApiRun[]): Promise<Facts> {
    const subjects = this.subjects();
    const messages = this.#messages();
    const alerts = await this.#pages<ApiAlert>(
      (number) => `/v1/check-alerts?limit=${page}&page=${number}`,
    );
    const results: ApiResult[] = [];
    for (const { check, kind } of subjects)
      if (kind !== 'heartbeat') results.push(...(await this.#resultsOf(check)));
    return {
      ...{ subjects, until, runs, results, alerts, messages },
      ...{ visits: this.targets.visits, stalls: this.targets.stalls },
      interruptions: this.interruptions,
    };
  }

  #sayOnce(say: (line: string) => void, line: string): void {
    if (line !== this.#said) say(line);
    this.#said = line;
  }

  /** Waits until what happened is accounted for, and counts. */
  async settle(say: (line: string) => void): Promise<Tally> {
    const until = Date.now();
    const deadline =
      performance.now() + (this.options.isShort ? shortSettleWithinMs : settleWithinMs);
    const known = new Map<string, ApiRun[]>();
    let runs = await this.#readRuns(until, known);
    for (;;) {
      const left = openSlots({ subjects: this.subjects(), until, runs });
      if (left === 0 || performance.now() > deadline) break;
      this.#sayOnce(say, `${left} slots still without an end`);
      await wait(1_000);
      runs = await this.#readRuns(until, known);
    }
    for (;;) {
      const tally = count(await this.#facts(until, runs));
      const waits =
        tally.findings['missing alerts'].length + tally.findings['missing messages'].length;
      if (waits === 0 || performance.now() > deadline) {
        tally.sentAgain = await this.#countSentAgain();
        return this.#verified(tally);
      }
      this.#sayOnce(say, `${waits} alerts or messages still to come`);
      await wait(1_000);
    }
  }

  /** Results that agents say they had to send again, since the answer to the first time was lost. */
  async #countSentAgain(): Promise<number> {
    let sum = 0;
    for (const { name, program } of this.lanes.flatMap((lane) => lane.agents)) {
      if (program.hasEnded) {
        this.failures.push(`${name} has ended by itself`);
        continue;
      }
      const { healthPort } = await program.log('agent has started');
      const metrics = await (await fetch(`http://127.0.0.1:${Number(healthPort)}/metrics`)).text();
      sum += Number(/submissions_total\{outcome="duplicate"\} (\d+)/.exec(metrics)?.[1] ?? 0);
    }
    return sum;
  }

  /** Looks for damage in the database, as an operator does. */
  #verified(tally: Tally): Tally {
    const { programs } = this.options;
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [programs.controlPlane, 'verify'],
      { env: { ...surroundings(), ...this.system.environment }, encoding: 'utf8' },
    );
    if (status !== 0) tally.findings['damaged databases'].push(`${stdout}${stderr}`.trim());
    tally.findings['programs that failed'].push(...this.failures);
    return tally;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.system[Symbol.asyncDispose]();
    await this.#owned[Symbol.asyncDispose]();
    await this.targets[Symbol.asyncDispose]();
    await this.webhook[Symbol.asyncDispose]();
  }
}
