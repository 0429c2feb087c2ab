/** What people do at an installation while it works. */
import { cpSync } from 'node:fs';
import { announcedMs, type PersonDoes } from './events.ts';
import type { AgentProgram } from './hosts.ts';
import type { Play, Subject } from './play.ts';

const second = 1_000;

export class Operators {
  readonly #play: Play;
  /** How often the project was deployed, and what it has. */
  #deployments = 0;
  #deployed: Subject[] = [];
  /** What people have set of the group: a change gives all of it. */
  readonly #group = { name: 'all', activated: true, muted: false };

  constructor(play: Play) {
    this.#play = play;
  }

  async act(does: PersonDoes, place: number, forMs: number): Promise<void> {
    const { subjects, places, agents } = this.#play;
    const subject = subjects[place % subjects.length];
    const location = places[place % places.length];
    const agent = agents[place % agents.length];
    if (subject === undefined || location === undefined || agent === undefined) return;
    switch (does) {
      case 'create':
        this.#meet(does);
        await this.#play.addSubject();
        return;
      case 'rotate':
        await this.#rotate(location);
        return;
      case 'revoke':
        await this.#revoke(location, forMs);
        return;
      case 'maintain':
        await this.#maintain(announcedMs[place % announcedMs.length] ?? 0, forMs);
        return;
      case 'join':
        this.#meet(does);
        this.#play.addAgent(location).start();
        return;
      case 'move':
        await this.#move(agent);
        return;
      case 'deploy':
        await this.#deploy();
        return;
      case 'acknowledge':
      case 'snooze':
        await this.#takeOn(subject, does === 'snooze');
        return;
      case 'mute-group':
        await this.#mute(subjects, this.#play.groupPath, forMs);
        return;
      case 'pause-group':
        await this.#pause(subjects, this.#play.groupPath, forMs);
        return;
      default:
        if (isRunning(subject)) await this.#change(does, subject, forMs);
    }
  }

  #meet(does: PersonDoes): void {
    this.#play.meet(`people ${does}`);
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => this.#play.world.outside.after(ms, resolve));
  }

  /** Refusals are problems of the story, not answers to go on with. */
  async #ask(method: string, path: string, body?: unknown) {
    const answer = await this.#play.caller.insist(method, path, body);
    if (answer.status >= 300)
      throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  async #change(
    does: 'edit' | 'pause' | 'mute' | 'delete' | 'rename',
    subject: Subject,
    forMs: number,
  ): Promise<void> {
    const { world, caller } = this.#play;
    const path = `/v1/checks/url/${subject.id}`;
    if (does === 'pause') return this.#pause([subject], path, forMs);
    if (does === 'mute') return this.#mute([subject], path, forMs);
    this.#meet(does);
    const from = world.now;
    if (does === 'delete') {
      subject.isDeleted = subject.isPausing = true;
      await caller.insist('DELETE', path);
      this.#play.deactivate(subject, from);
      world.note('people', `deleted ${subject.name}`);
      return;
    }
    const change =
      does === 'rename' ? { name: `${subject.name}, renamed` } : otherSchedule(subject);
    await caller.insist('PUT', path, change);
    if (does === 'edit') this.#edited(subject, change, from);
    world.note('people', `changed ${subject.name}`);
  }

  /** Other slots from now on: those of each time are counted by the definition of that time. */
  #edited(subject: Subject, change: Record<string, unknown>, from: number): Subject {
    const { world, subjects } = this.#play;
    const last = subject.active.at(-1);
    if (last !== undefined) last.to = from;
    subject.changes.push({ from, to: world.now });
    const edited: Subject = {
      ...subject,
      ...{ body: { ...subject.body, ...change }, changes: subject.changes },
      active: [{ from: world.now, to: Infinity }],
    };
    subjects.push(edited);
    subject.isDeleted = true;
    return edited;
  }

  /** Of a check or of the group. */
  async #set(path: string, change: { activated?: boolean; muted?: boolean }): Promise<void> {
    const isOfGroup = path === this.#play.groupPath;
    await this.#ask('PUT', path, isOfGroup ? Object.assign(this.#group, change) : change);
  }

  /** Switches checks off by their own switch or that of their group, and on again. */
  async #pause(of: readonly Subject[], path: string | null, forMs: number): Promise<void> {
    const { world } = this.#play;
    const subjects = of.filter(isRunning);
    if (path === null || subjects.length === 0) return;
    this.#meet(of.length > 1 ? 'pause-group' : 'pause');
    const from = world.now;
    for (const subject of subjects) subject.isPausing = true;
    await this.#set(path, { activated: false });
    for (const subject of subjects) this.#play.deactivate(subject, from);
    world.note('people', `paused ${namesOf(subjects)}`);
    await this.#wait(forMs);
    const again = world.now;
    await this.#set(path, { activated: true });
    for (const subject of subjects.filter(({ isDeleted }) => !isDeleted)) {
      subject.changes.push({ from: again, to: world.now });
      subject.active.push({ from: world.now, to: Infinity });
    }
    world.note('people', `activated ${namesOf(subjects)}`);
  }

  async #mute(of: readonly Subject[], path: string | null, forMs: number): Promise<void> {
    const { world } = this.#play;
    const subjects = of.filter(isRunning);
    if (path === null || subjects.length === 0) return;
    this.#meet(of.length > 1 ? 'mute-group' : 'mute');
    const set = async (muted: boolean): Promise<void> => {
      const change = { from: world.now, to: Infinity, muted, path };
      for (const { mutes } of subjects) mutes.push(change);
      await this.#set(path, { muted });
      change.to = world.now;
      world.note('people', `${muted ? 'muted' : 'unmuted'} ${namesOf(subjects)}`);
    };
    await set(true);
    await this.#wait(forMs);
    await set(false);
  }

  /** Somebody takes the open alert of a check on. */
  async #takeOn({ id, name }: Subject, isSnoozed: boolean): Promise<void> {
    const { world, caller } = this.#play;
    const { body: alerts } = await caller.insist('GET', `/v1/check-alerts/${id}?open=true`);
    const [alert] = alerts;
    if (alert === undefined) return;
    const { status } = await caller.insist('POST', `/v1/check-alerts/${alert.id}/acknowledge`, {
      snoozeMinutes: isSnoozed ? 1 : null,
    });
    // It may be over by now.
    if (status !== 200) return;
    this.#meet(isSnoozed ? 'snooze' : 'acknowledge');
    world.note('people', `${isSnoozed ? 'snoozed' : 'acknowledged'} the alert of ${name}`);
  }

  async #startAgain(agent: AgentProgram): Promise<void> {
    if (!agent.isUp || agent.isDraining) return;
    this.#play.fault('drain', agent.name, second);
    await agent.drain();
    agent.start();
  }

  /** A new key for a location: its agents are given it one by one, then the old one is revoked. */
  async #rotate(place: Play['places'][number]): Promise<void> {
    this.#meet('rotate');
    const keys = `/v1/private-locations/${place.id}/keys`;
    const made = await this.#ask('POST', keys);
    for (const agent of place.agents) {
      agent.apiKey = made.rawKey;
      await this.#startAgain(agent);
    }
    await this.#play.caller.insist('DELETE', `${keys}/${place.key.id}`);
    place.key = made;
    this.#play.world.note('people', `rotated the key of ${place.slug}`);
  }

  /** A key that has leaked: its agents are refused until somebody gives them another one. */
  async #revoke(place: Play['places'][number], forMs: number): Promise<void> {
    this.#meet('revoke');
    for (const { name } of place.agents)
      this.#play.fault('link refused', name, forMs + 90 * second);
    const keys = `/v1/private-locations/${place.id}/keys`;
    await this.#play.caller.insist('DELETE', `${keys}/${place.key.id}`);
    this.#play.world.note('people', `revoked the key of ${place.slug}`);
    await this.#wait(forMs);
    place.key = await this.#ask('POST', keys);
    for (const agent of place.agents) {
      agent.apiKey = place.key.rawKey;
      await this.#startAgain(agent);
    }
  }

  /** An agent ends, and its folder is taken to another location. */
  async #move(agent: AgentProgram): Promise<void> {
    const { places, world } = this.#play;
    const from = places.find(({ agents }) => agents.includes(agent));
    const to = places.find((each) => each !== from);
    if (from === undefined || to === undefined || !agent.isUp || agent.isDraining) return;
    this.#meet('move');
    from.agents.splice(from.agents.indexOf(agent), 1);
    this.#play.fault('drain', agent.name, second);
    await agent.drain();
    const moved = this.#play.addAgent(to);
    cpSync(agent.folder, moved.folder, { recursive: true });
    world.note('people', `moved ${agent.name} to ${to.slug} as ${moved.name}`);
    moved.start();
  }

  async #maintain(aheadMs: number, forMs: number): Promise<void> {
    const { world, maintenances } = this.#play;
    this.#play.meet(aheadMs > 0 ? 'people plan maintenance' : 'people maintain');
    const { clock } = world.outside;
    const asked = world.now;
    const from = asked + aheadMs;
    const at = (ms: number): string => new Date(clock.now() + ms).toISOString();
    await this.#ask('POST', '/v1/maintenance-windows', {
      ...{ name: 'work', startsAt: at(aheadMs), endsAt: at(aheadMs + forMs) },
      pauseAllChecks: true,
    });
    world.note('people', `maintenance for ${(forMs / second).toFixed(0)} s`);
    maintenances.push({ ...{ from, to: from + forMs }, asked: { from: asked, to: world.now } });
  }

  /** A project of two checks: made at first, then one is changed, then the other is left out, and so on. */
  async #deploy(): Promise<void> {
    const { world, subjects } = this.#play;
    if (this.#deployments > 0 && this.#deployed.length === 0) return;
    this.#meet('deploy');
    const turn = this.#deployments++;
    const from = world.now;
    const before = this.#deployed;
    const wanted =
      turn === 0
        ? [this.#play.drawSubject(), this.#play.drawSubject()]
        : turn === 2
          ? before.slice(0, 1)
          : before;
    const [first] = wanted;
    const change = turn > 0 && turn !== 2 && first !== undefined ? otherSchedule(first) : null;
    const channel = { logicalId: 'receiver', type: 'alert-channel', member: false };
    const resources = [
      { ...channel, physicalId: this.#play.channelId, payload: null },
      ...wanted.flatMap(({ name, body }, index) => {
        const { alertChannelSubscriptions: _, ...own } = body;
        const payload = { checkType: 'URL', ...own, ...(index === 0 ? change : null) };
        const subscription = {
          ...{ alertChannelId: { ref: 'receiver' }, checkId: { ref: name }, activated: true },
        };
        return [
          { logicalId: name, type: 'check', member: true, payload },
          {
            ...{ logicalId: `alerts of ${name}`, type: 'alert-channel-subscription', member: true },
            payload: subscription,
          },
        ];
      }),
    ];
    const gone = before.filter((each) => !wanted.includes(each));
    for (const each of gone) each.isDeleted = each.isPausing = true;
    const project = { logicalId: 'project', name: 'project' };
    let deployment = await this.#ask('POST', '/v1/projects/deploy', { project, resources });
    while (/PENDING|RUNNING/.test(deployment.status)) {
      await this.#wait(second);
      deployment = await this.#ask('GET', `/v1/projects/project/deployments/${deployment.id}`);
    }
    if (deployment.status !== 'SUCCEEDED')
      throw new Error(`a deployment fails: ${JSON.stringify(deployment.error)}`);
    world.note('people', `deployed ${namesOf(wanted)}`);
    for (const each of gone) this.#play.deactivate(each, from);
    if (turn === 0) {
      const ids = Map.groupBy(
        deployment.result.diff as { logicalId: string; physicalId: string }[],
        ({ logicalId }) => logicalId,
      );
      for (const subject of wanted) {
        subject.id = ids.get(subject.name)?.[0]?.physicalId ?? '';
        subject.active = [{ from: world.now, to: Infinity }];
        subject.changes.push({ from, to: world.now });
        subjects.push(subject);
      }
      this.#deployed = wanted;
    } else if (change !== null && first !== undefined)
      this.#deployed = [this.#edited(first, change, from), ...wanted.slice(1)];
    else this.#deployed = wanted;
  }
}

const isRunning = ({ isDeleted, active }: Subject): boolean =>
  !isDeleted && active.at(-1)?.to === Infinity;

const namesOf = (subjects: readonly Subject[]): string =>
  subjects.map(({ name }) => name).join(', ');

const otherSchedule = ({ body }: Subject) => ({
  frequencyOffset: body['frequencyOffset'] !== 10 ? 10 : body['frequency'] === 0 ? 20 : 5,
});
