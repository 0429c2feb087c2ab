/** Plays one story in one world, and gives what came of it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pick } from '../proof/case.ts';
import type { Event, ReceiverAnswer } from './events.ts';
import { breakDisk, closeFiles, followSyncs, mendDisk } from './files.ts';
import {
  AgentProgram,
  ControlPlaneProgram,
  controlPlaneAddress,
  receiverAddress,
  type Span,
} from './hosts.ts';
import { copyInstallation, type Installation } from './installation.ts';
import { nameAddress, Network, type Link } from './network.ts';
import { Caller, Job, Receiver } from './people.ts';
import { Operators } from './operators.ts';
import type { Order, Size } from './order.ts';
import { limits, Targets } from './targets.ts';
import { Watch } from './watch.ts';
import { World } from './world.ts';

const second = 1_000;
/** Everything is there by then. */
export const beginsAt = 20 * second;
/** How long after the last fault checks still run, and how long after that all must be settled. */
export const calmMs = 90 * second;
export const settleMs = 150 * second;

nameAddress(controlPlaneAddress, 'control-plane');
nameAddress(receiverAddress, 'outside');

/** A check as the story has it. Times are of the world; those of people are when they were answered. */
export interface Subject {
  id: string;
  url: string;
  name: string;
  body: Record<string, unknown>;
  locations: string[];
  isParallel: boolean;
  threshold: number;
  retries: number;
  /** How many reminders its alerts have, each a minute after the last message. */
  reminders: number;
  /** Whether a second receiver is sent its alerts that nobody takes on within a minute. */
  hasPolicy: boolean;
  /** When people asked for its mute, or that of its group, or its end, until they were answered. */
  mutes: (Span & { muted: boolean; path: string })[];
  /** When it was to run. */
  active: Span[];
  /** When its definition was being changed: what is due then may be either. */
  changes: Span[];
  isDeleted: boolean;
  /** People have asked for its end or a pause. */
  isPausing: boolean;
  /** What has an incident on the status page while the check fails; null for nothing. */
  serviceId: string | null;
}

/** A window in which nothing runs, and when people asked for it. */
export interface Maintenance extends Span {
  asked: Span;
}

interface PlaceOfAgents {
  slug: string;
  id: string;
  key: { id: string; rawKey: string };
  agents: AgentProgram[];
}

export class Play {
  readonly world: World;
  readonly folder: string;
  readonly controlPlane: ControlPlaneProgram;
  readonly targets: Targets;
  readonly receiver: Receiver;
  readonly caller: Caller;
  readonly places: PlaceOfAgents[] = [];
  readonly agents: AgentProgram[] = [];
  readonly subjects: Subject[] = [];
  readonly jobs: { checkId: string; job: Job; periodMs: number; graceMs: number }[] = [];
  /** When something was wrong, by what it was. */
  readonly faults: { kind: string; where: string; span: Span; aheadMs?: number }[] = [];
  readonly situations = new Map<string, number>();
  readonly problems: string[] = [];
  readonly maintenances: Maintenance[] = [];
  readonly watch = new Watch(this);
  /** Who is sent mails of its incidents. */
  readonly subscribers: string[] = [];
  #groupId: number | null = null;
  /** The policy of alerts that nobody takes on; null in worlds in which nobody ever does. */
  #policyId: string | null = null;
  /** Where all alerts go. */
  channelId = 0;
  readonly #operators = new Operators(this);
  readonly #random: () => number;
  #made = 0;

  readonly #size: Size | null;

  constructor(
    seed: number,
    installation: Installation,
    folder: string,
    { hasTimeline, size }: Pick<Order, 'hasTimeline' | 'size'>,
  ) {
    this.#size = size;
    this.world = new World(seed);
    this.world.hasTimeline = hasTimeline;
    this.world.network = new Network(this.world);
    this.folder = mkdtempSync(join(folder, 'world-'));
    this.#random = this.world.chance('setting');
    this.targets = new Targets(this.world);
    this.controlPlane = new ControlPlaneProgram(
      this.world,
      'control-plane',
      this.folder,
      this.#log,
    );
    rmSync(this.controlPlane.folder, { recursive: true });
    copyInstallation(installation, this.controlPlane.folder);
    this.receiver = new Receiver(this.world);
    this.caller = new Caller(this.world, installation.apiKey);
  }

  readonly #log = (name: string, line: string): void => {
    const { level, msg, err, ...facts } = JSON.parse(line) as Record<string, unknown> & {
      level: number;
      msg: string;
      err?: { message?: string };
    };
    const said = `${msg} ${err?.message ?? ''}`;
    if (level >= 40) this.world.note(name, `${level >= 50 ? 'error' : 'warning'}: ${said}`);
    else this.world.tell(name, `${said} ${JSON.stringify(facts)}`);
  };

  /** Whether the clock that all follow has ever been wrong. */
  get hasWrongClock(): boolean {
    return this.faults.some(
      ({ kind, where }) =>
        (kind === 'clock' || kind === 'drift') && where === this.controlPlane.name,
    );
  }

  meet(situation: string): void {
    this.situations.set(situation, (this.situations.get(situation) ?? 0) + 1);
  }

  /** Someone who acts beside what happens. */
  someone(does: () => Promise<void>): void {
    this.world.outside.act(() => {
      does().catch((error: unknown) => this.problems.push(`a person failed: ${String(error)}`));
    });
  }

  async #done(does: () => Promise<void>): Promise<void> {
    let isDone = false;
    this.someone(async () => {
      await does();
      isDone = true;
    });
    await this.world.until(() => isDone || this.problems.length > 0, 10 * second);
    if (!isDone) throw new Error(`not done: ${this.problems.join('; ')}`);
  }

  /** Brings up an installation: how large it is follows from the seed. */
  async begin(events: readonly Event[]): Promise<void> {
    const random = this.#random;
    const hasResponders = events.some(
      (event) => event.kind === 'person' && /acknowledge|snooze/.test(event.does),
    );
    if (hasResponders) this.controlPlane.settings['SMTP_URL'] = `smtp://${receiverAddress}:25`;
    this.controlPlane.start();
    await this.world.run(second);
    if (this.controlPlane.running === null) throw new Error(this.controlPlane.problems.join());
    await this.#done(async () => {
      this.channelId = await this.#addChannel('');
      if (hasResponders) await this.#addPolicy();
      const places = random() < 0.3 && this.#size === null ? 2 : 1;
      for (let index = 0; index < places; index += 1) await this.#addPlace(`place-${index}`);
      await this.#addGroup();
      const services = await this.#addPage();
      const checks = this.#size?.checks ?? 2 + Math.floor(random() * 4);
      for (let index = 0; index < checks; index += 1) await this.addSubject(services[index]);
      const jobs = random() < 0.4 ? 1 : 0;
      for (let index = 0; index < jobs; index += 1) await this.#addJob();
    });
    for (const [index, place] of this.places.entries()) {
      const drawn = index === 0 ? pick(random, [1, 1, 2, 2, 3]) : pick(random, [1, 2]);
      const agents = this.#size?.agents ?? drawn;
      for (let turn = 0; turn < agents; turn += 1) this.addAgent(place);
    }
    for (const agent of this.agents) agent.start();
    this.world.afterEach = () => this.watch.look();
    await this.world.run(Math.max(0, beginsAt - this.world.now));
  }

  /** Where alerts go, or steps of a policy alone. */
  async #addChannel(prefix: '' | 'step '): Promise<number> {
    const { body } = await this.caller.insist('POST', '/v1/alert-channels', {
      type: 'WEBHOOK',
      config: {
        ...{ name: `${prefix}receiver`, url: `http://${receiverAddress}/`, method: 'POST' },
        template: `{ "type": "${prefix}{{ALERT_TYPE}}", "check": "{{CHECK_ID}}" }`,
      },
      autoSubscribe: prefix === '',
      ...{ sendFailure: true, sendRecovery: true, sendDegraded: true },
    });
    return body.id;
  }

  async #addPolicy(): Promise<void> {
    const steps = [{ delayMinutes: 1, alertChannelIds: [await this.#addChannel('step ')] }];
    const policy = { name: 'on call', steps };
    const { status, body } = await this.caller.insist('POST', '/v1/escalation-policies', policy);
    if (status !== 201) throw new Error(`a policy is not made: ${JSON.stringify(body)}`);
    this.#policyId = body.id;
  }

  get groupPath(): string | null {
    return this.#groupId === null ? null : `/v2/check-groups/${this.#groupId}`;
  }

  /** A group that people mute and pause. */
  async #addGroup(): Promise<void> {
    if (this.world.chance('group')() < 0.5) return;
    const query = `autoAssignAlerts=${this.#policyId === null}`;
    const { status, body } = await this.caller.insist('POST', `/v2/check-groups?${query}`, {
      name: 'all',
    });
    if (status !== 201) throw new Error(`a group is not made: ${JSON.stringify(body)}`);
    this.#groupId = body.id;
  }

  /** A status page with services for the first checks. Gives their ids. */
  async #addPage(): Promise<string[]> {
    if (this.world.chance('page')() < 0.5) return [];
    const ids: string[] = [];
    for (const name of ['first', 'second']) {
      const { body } = await this.caller.insist('POST', '/v1/status-pages/services', { name });
      ids.push(body.id);
    }
    const cards = [{ name: 'all', services: ids.map((id) => ({ id })) }];
    const page = { name: 'status', url: 'status', cards };
    const { status, body } = await this.caller.insist('POST', '/v1/status-pages', page);
    if (status !== 201) throw new Error(`a page is not made: ${JSON.stringify(body)}`);
    if (this.#policyId !== null) {
      this.subscribers.push('one@example.com', 'two@example.com');
      await this.caller.insist('POST', `/v1/status-pages/${body.id}/subscriptions/bulk`, {
        subscriptions: this.subscribers.map((config) => ({ type: 'EMAIL', config })),
        autoVerify: true,
      });
    }
    return ids;
  }

  async #addPlace(slug: string): Promise<void> {
    const body = { name: slug, slugName: slug };
    const { body: made } = await this.caller.insist('POST', '/v1/private-locations', body);
    this.places.push({ slug, id: made.id, key: made.keys[0], agents: [] });
  }

  addAgent(place: PlaceOfAgents): AgentProgram {
    const name = `agent-${this.agents.length}`;
    const agent = new AgentProgram(this.world, name, this.folder, this.#log, {
      ...{ location: place.slug, apiKey: place.key.rawKey, targets: this.targets },
      drainMs: pick(this.world.chance(`drain ${name}`), [80 * second, 120 * second]),
    });
    this.agents.push(agent);
    place.agents.push(agent);
    return agent;
  }

  /** A check that nobody has made yet. */
  drawSubject(serviceId: string | null = null): Subject {
    const random = this.#random;
    const index = this.#made++;
    const url = `http://10.2.${Math.floor((index + 1) / 250)}.${(index + 1) % 250}/`;
    const locations = this.places.map(({ slug }) => slug);
    const isParallel = locations.length > 1 && random() < 0.5;
    const threshold = pick(random, [1, 1, 2]);
    const retries = random() < 0.3 ? 1 : 0;
    const responds = this.world.chance(`responders ${index}`);
    const reminders = this.#policyId === null ? 0 : pick(responds, [0, 0, 1, 3]);
    const hasPolicy = this.#policyId !== null && responds() < 0.5;
    const name = `check ${index}`;
    const body = {
      name,
      // Below a minute the offset is the interval, in seconds.
      ...(this.#size?.everySeconds === 60
        ? { frequency: 1, frequencyOffset: 5 }
        : {
            frequency: 0,
            frequencyOffset: this.#size?.everySeconds ?? pick(random, [10, 10, 20, 30]),
          }),
      ...{ privateLocations: locations, runParallel: isParallel, ...limits },
      request: { url, method: 'GET', assertions: [] },
      useGlobalAlertSettings: false,
      ...(this.#policyId === null
        ? {}
        : { alertChannelSubscriptions: [{ alertChannelId: this.channelId, activated: true }] }),
      alertSettings: {
        escalationType: 'RUN_BASED',
        runBasedEscalation: { failedRunThreshold: threshold },
        ...(reminders === 0 ? {} : { reminders: { amount: reminders, interval: 1 } }),
        ...(hasPolicy ? { escalationPolicyId: this.#policyId } : {}),
      },
      retryStrategy:
        retries === 0 ? null : { type: 'FIXED', baseBackoffSeconds: 3, maxRetries: retries },
      ...(this.#groupId === null ? {} : { groupId: this.#groupId }),
      triggerIncident:
        serviceId === null
          ? null
          : {
              ...{ serviceId, severity: 'CRITICAL', name: `trouble ${index}` },
              ...{ description: 'It fails.' },
              notifySubscribers: this.subscribers.length > 0,
            },
    };
    return {
      ...{ id: '', url, name, body, locations, isParallel, threshold, retries, reminders },
      ...{ hasPolicy, mutes: [], active: [], changes: [] },
      ...{ isDeleted: false, isPausing: false, serviceId },
    };
  }

  async addSubject(serviceId: string | null = null): Promise<void> {
    const subject = this.drawSubject(serviceId);
    const from = this.world.now;
    const { status, body: made } = await this.caller.insist('POST', '/v1/checks/url', subject.body);
    if (status !== 201) throw new Error(`a check is not made: ${JSON.stringify(made)}`);
    subject.id = made.id;
    this.world.note('people', `made ${subject.name} (${subject.id})`);
    subject.active.push({ from: this.world.now, to: Infinity });
    subject.changes.push({ from, to: this.world.now });
    this.subjects.push(subject);
  }

  async #addJob(): Promise<void> {
    const [period, grace] = [30, pick(this.#random, [0, 10, 20])];
    const heartbeat = { period, periodUnit: 'seconds', grace, graceUnit: 'seconds' };
    const body = { name: `job ${this.jobs.length}`, heartbeat };
    const { status, body: made } = await this.caller.insist('POST', '/v1/checks/heartbeat', body);
    if (status !== 201) throw new Error(`a job is not made: ${JSON.stringify(made)}`);
    const path = new URL(made.heartbeat.pingUrl as string).pathname;
    const job = new Job(this.world, this.caller, path, 20 * second);
    this.jobs.push({ checkId: made.id, job, periodMs: 1_000 * period, graceMs: 1_000 * grace });
  }

  /** Plays the events, then lets all go on undisturbed, and then waits until nothing is left to do. */
  async run(events: readonly Event[], forMs: number): Promise<void> {
    followSyncs(events.some((event) => event.kind === 'kill' && event.losesPower === true));
    for (const event of events) {
      this.world.add(this.world.outside, event.at, () => this.#apply(event));
    }
    await this.world.run(Math.max(0, forMs - settleMs - this.world.now));
    await this.#done(async () => {
      for (const subject of this.subjects) {
        if (subject.isDeleted) continue;
        const from = this.world.now;
        subject.isPausing = true;
        await this.caller.insist('PUT', `/v1/checks/url/${subject.id}`, { activated: false });
        this.deactivate(subject, from);
      }
      for (const { job } of this.jobs) job.isStopped = true;
      for (const { checkId } of this.jobs)
        await this.caller.insist('PUT', `/v1/checks/heartbeat/${checkId}`, { activated: false });
    });
    await this.world.run(Math.max(0, forMs - this.world.now));
  }

  deactivate(subject: Subject, from: number): void {
    const last = subject.active.at(-1);
    if (last?.to === Infinity) last.to = from;
    subject.changes.push({ from, to: this.world.now });
  }

  fault(kind: string, where: string, forMs: number, aheadMs?: number): void {
    const span = { from: this.world.now, to: this.world.now + forMs };
    this.faults.push({ kind, where, span, ...(aheadMs === undefined ? {} : { aheadMs }) });
    this.world.note(where, `${kind} for ${(forMs / second).toFixed(1)} s`);
    this.meet(kind);
  }

  #programOf({ of, place }: { of: 'control-plane' | 'agents'; place: number }) {
    return of === 'control-plane'
      ? this.controlPlane
      : (this.agents[place % this.agents.length] ?? this.controlPlane);
  }

  #linkOf(place: number): [string, Link] {
    const agent = this.agents[place % this.agents.length]?.name ?? '';
    return [agent, this.world.network.link(agent, 'control-plane')];
  }

  /** Later, as part of no program. */
  #later(afterMs: number, work: () => void): void {
    this.world.add(this.world.outside, this.world.now + afterMs, work);
  }

  #apply(event: Event): void {
    const { forMs } = event;
    const { world } = this;
    switch (event.kind) {
      case 'target': {
        const subject = this.subjects[event.place % this.subjects.length];
        if (subject === undefined) return;
        this.meet(`target ${event.state}`);
        this.targets.set(subject.url, event.state);
        this.#later(forMs, () => this.targets.set(subject.url, 'up'));
        return;
      }
      case 'kill':
        this.#kill(event);
        return;
      case 'disk': {
        const program = this.#programOf(event);
        const { host, folder } = program;
        if (!program.isUp) return;
        this.fault(`disk ${event.fault}`, program.name, forMs);
        breakDisk(folder, event.fault);
        program.leave();
        this.#later(forMs, () => {
          mendDisk(folder);
          if (program.host === host && program.isUp) program.arrive();
        });
        return;
      }
      case 'suspend':
        this.#suspend(event);
        return;
      case 'slow': {
        const program = this.#programOf(event);
        const { host } = program;
        if (host === null || host.slowness !== null) return;
        this.fault('slow', program.name, forMs);
        const random = world.chance(`slow ${event.at} ${program.name}`);
        host.slowness = () => event.upToMs * random() ** 4;
        this.#later(forMs, () => (host.slowness = null));
        return;
      }
      case 'clock': {
        const program = this.#programOf(event);
        this.fault('clock', program.name, forMs, event.aheadMs);
        program.wall.set(world.now, event.aheadMs);
        this.#later(forMs, () => {
          world.note(program.name, 'clock is right');
          program.wall.set(world.now, 0);
        });
        return;
      }
      case 'drift': {
        const program = this.#programOf(event);
        this.fault('drift', program.name, forMs, event.perMs * forMs);
        program.wall.drift(world.now, event.perMs);
        this.#later(forMs, () => {
          program.wall.drift(world.now, 0);
          program.wall.set(world.now, 0);
        });
        return;
      }
      case 'link':
        this.#disturbLink(event.fault, event.place, forMs);
        return;
      case 'requests': {
        const [name, link] = this.#linkOf(event.place);
        this.fault(`requests ${event.fault.kind}`, name, forMs);
        const random = world.chance(`requests ${event.at} ${name}`);
        link.faultOf = () => (random() < event.share ? event.fault : null);
        this.#later(forMs, () => (link.faultOf = () => null));
        return;
      }
      case 'drain': {
        const agent = this.agents[event.place % this.agents.length];
        if (agent === undefined || !agent.isUp || agent.isDraining) return;
        this.fault('drain', agent.name, forMs);
        if (!this.controlPlane.isUp) this.meet('drain while the control plane is held up');
        this.someone(async () => {
          await agent.drain();
          this.#later(forMs, () => agent.start());
        });
        return;
      }
      case 'update':
        if (!this.controlPlane.isUp) return;
        this.fault('update', 'control-plane', forMs);
        this.someone(async () => {
          await this.controlPlane.stop();
          this.#later(forMs, () => this.controlPlane.start());
        });
        return;
      case 'receiver':
        this.#disturbReceiver(event.answer, forMs);
        return;
      case 'pings-stop': {
        const each = this.jobs[event.place % Math.max(1, this.jobs.length)];
        if (each === undefined) return;
        this.fault('pings stop', each.checkId, forMs);
        each.job.isStopped = true;
        this.#later(forMs, () => (each.job.isStopped = false));
        return;
      }
      case 'person':
        this.someone(() => this.#operators.act(event.does, event.place, forMs));
    }
  }

  #suspend(event: Extract<Event, { kind: 'suspend' }>): void {
    const program = this.#programOf(event);
    const { host } = program;
    if (!program.isUp || host === null) return;
    const suspend = (): void => {
      if (program.host !== host || !program.isUp) return;
      this.fault(event.isAsleep ? 'sleep' : 'stop', program.name, event.forMs);
      program.suspend();
      this.#later(event.forMs, () => {
        if (program.host === host) program.resume(event.isAsleep);
      });
    };
    if (!event.isInVisit || event.of === 'control-plane') {
      suspend();
      return;
    }
    const call = (): void => {
      this.meet('suspended in a visit');
      this.#later(1, suspend);
    };
    this.targets.onVisit = { host, call };
  }

  #kill({ of, place, when, forMs, losesPower }: Extract<Event, { kind: 'kill' }>): void {
    const program = this.#programOf({ of, place });
    const { host } = program;
    if (host === null) return;
    const kill = (): void => {
      host.onStatement = null;
      if (program.host !== host) return;
      this.fault(`kill at ${when}`, program.name, forMs);
      if (losesPower === true) this.meet('power lost');
      program.kill(losesPower === true ? this.world.chance(`power ${this.world.now}`) : null);
      if (program instanceof AgentProgram) program.isDraining = false;
      this.#later(forMs, () => program.start());
    };
    if (when === 'answer' && of === 'control-plane') {
      for (const [, link] of this.world.network.links) link.onAnswer = kill;
    } else if (when === 'statement') {
      let left = 1 + Math.floor(this.world.chance(`kill ${this.world.now}`)() * 40);
      host.onStatement = () => {
        left -= 1;
        if (left === 0) kill();
      };
    } else if (when === 'visit' && of === 'agents') this.targets.onVisit = { host, call: kill };
    else kill();
  }

  #disturbLink(
    fault: Extract<Event, { kind: 'link' }>['fault'],
    place: number,
    forMs: number,
  ): void {
    const [name, link] = this.#linkOf(place);
    this.fault(`link ${fault}`, name, forMs);
    switch (fault) {
      case 'cut':
        link.cutAll();
        return;
      case 'forgotten':
        link.forgetAll();
        return;
      case 'dead':
        link.isDead = true;
        this.#later(forMs, () => {
          link.isDead = false;
          // What was on the way is lost, and with it these connections.
          link.forgetAll();
        });
        return;
      case 'refused':
        link.cutAll();
        link.isRefused = true;
        this.#later(forMs, () => (link.isRefused = false));
        return;
      case 'slow': {
        const usual = link.delayMs;
        const random = this.world.chance(`delay ${this.world.now}`);
        link.delayMs = () => 20 + 3_000 * random() ** 6;
        this.#later(forMs, () => (link.delayMs = usual));
      }
    }
  }

  #disturbReceiver(answer: ReceiverAnswer, forMs: number): void {
    this.fault(`receiver ${answer}`, 'receiver', forMs);
    const span = { from: this.world.now, to: this.world.now + forMs };
    this.receiver.interruptions.push(span);
    const link = this.world.network.link('control-plane', 'outside');
    if (answer === 'refuses') link.isRefused = true;
    else this.receiver.answer = answer;
    this.#later(forMs, () => {
      link.isRefused = false;
      this.receiver.answer = null;
    });
  }

  dispose(): void {
    followSyncs(false);
    closeFiles(this.folder);
    rmSync(this.folder, { recursive: true, force: true });
  }
}
