/**
 * What must be so after a story, from what the targets did and what people asked for: the specification and the
 * promises, not the code. Each line says what is wrong.
 */
import type { Selectable } from 'kysely';
import type { Database } from '../control-plane/db/tables.ts';
import { scheduleOf, slotAtOrAfter, type Schedule } from '@monitor/shared/domain/frequency.ts';
import { alertsAfter, healthOfResult, type Expected, type History } from './alerts.ts';
import { overlaps, type AgentProgram, type Span } from './hosts.ts';
import type { Play, Subject } from './play.ts';
import { healthOf, type Visit } from './targets.ts';
import { epoch } from './world.ts';

const second = 1_000;
/** When an agent that is gone without a word is known to be gone, and its checks are with another one. */
const takenOverMs = 100 * second;
/** What was measured is on disk by then. */
const durableMs = 1_500;
/** An agent that is back so soon misses no slot, also beside other agents. */
const briefMs = 2 * second;
/** How late a slot may begin, where its check does not run more often. */
const latestStartMs = 30 * second;
/** An agent that is back needs so long to begin; after sleep its timers come late. */
const beginsWithinMs = 1_500;
const wakesWithinMs = 7 * second;
/** A run takes no longer. */
const longestRunMs = 40 * second;
/** An agent that is to end waits this part of its time for others to have its checks. */
const handOverShare = 0.6;
/** A change is with an agent by then, where nothing is wrong. */
const heardMs = 10 * second;
/** An agent that is asked to end does so by then: runs end, and others have its checks. */
const endsWithinMs = 45 * second;
/** An agent that is given a check makes up for its slot by then. */
const madeUpMs = 1_500;
/** What is due is done by then. */
const soonMs = 10 * second;
const stepAfterMs = 60 * second;
/** After a time in which it could not be reached, the control plane concludes nothing from silence for as long. */
const graceMs = 90 * second;
/** How much of the clocks' differences agents do not correct. */
const clockToleranceMs = 3 * second;

type Run = Selectable<Database['check_runs']>;
type Result = Selectable<Database['check_results']>;

const scheduleOfSubject = ({ id: checkId, body }: Subject): Schedule =>
  scheduleOf({
    checkId,
    frequency: Number(body['frequency']),
    frequencyOffset: Number(body['frequencyOffset']),
  });

/** An attempt that was made again, here or at another location, has one result, whichever id it was given. */
const attemptOf = ({ runId, attempt }: Visit): string => `${runId}@${attempt}`;

/** Kinds of faults. */
const ofTime = /^(stop|sleep|slow)$/;
const ofClock = /^(clock|drift)$/;
const ofLink = /^(link|requests)/;

const at = (ms: number): string => `${(ms / second).toFixed(3)} s`;

class Oracle {
  readonly #play: Play;
  readonly wrong: string[] = [];
  #runs: Run[] = [];
  #runOf: ReadonlyMap<string, Run> = new Map();
  #numbered: ReadonlyMap<number, Run> = new Map();
  #results: Result[] = [];
  readonly #visits: ReadonlyMap<string, Visit[]>;
  readonly #visitsOfRun: ReadonlyMap<string, Visit[]>;
  readonly #visitsOfAttempt: ReadonlyMap<string, Visit[]>;
  readonly #visitsOfCheck: ReadonlyMap<string, Visit[]>;
  readonly #subjects: ReadonlyMap<string, Subject[]>;

  constructor(play: Play) {
    const { visits } = play.targets;
    this.#play = play;
    this.#visits = Map.groupBy(visits, ({ resultId }) => resultId);
    this.#visitsOfRun = Map.groupBy(visits, ({ runId }) => runId);
    this.#visitsOfAttempt = Map.groupBy(visits, attemptOf);
    this.#visitsOfCheck = Map.groupBy(visits, ({ checkId }) => checkId);
    this.#subjects = Map.groupBy(play.subjects, ({ id }) => id);
  }

  get #db() {
    const { running } = this.#play.controlPlane;
    if (running === null) throw new Error('the control plane is not up at the end');
    return running.services.db;
  }

  #spans(kinds: RegExp, where?: string): Span[] {
    return this.#play.faults
      .filter((fault) => kinds.test(fault.kind) && (where ?? fault.where) === fault.where)
      .map(({ span }) => span);
  }

  /** When the clock of the control plane, which all follow, was not right, and until that is over. */
  #wrongTimes(): Span[] {
    return this.#play.faults
      .filter(({ kind, where }) => ofClock.test(kind) && where === 'control-plane')
      .map(({ span, aheadMs = 0 }) => ({
        from: span.from - Math.abs(aheadMs) - 60 * second,
        to: span.to + Math.abs(aheadMs) + 120 * second,
      }));
  }

  async judge(): Promise<void> {
    const db = this.#db;
    this.#runs = await db.selectFrom('check_runs').selectAll().orderBy('id').execute();
    this.#results = await db.selectFrom('check_results').selectAll().orderBy('seq').execute();
    this.#runOf = new Map(this.#runs.map((run) => [run.run_id, run]));
    this.#numbered = new Map(this.#runs.map((run) => [run.id, run]));
    this.#programs();
    this.#slots();
    this.#doubles();
    this.#verdicts();
    this.#losses();
    this.#repeats();
    this.#gaps();
    this.#drains();
    await this.#alerts();
    await this.#messages();
    if (this.#play.hasWrongClock) await this.#statuses();
    await this.#summed();
    await this.#jobs();
  }

  #programs(): void {
    const { controlPlane, agents, problems } = this.#play;
    for (const { name, problems: own } of [controlPlane, ...agents])
      for (const problem of own) this.wrong.push(`${name}: ${problem}`);
    this.wrong.push(...problems, ...this.#play.watch.wrong);
  }

  #subjectsOf(id: string): Subject[] {
    return this.#subjects.get(id) ?? [];
  }

  /** Each slot that was due has one run that has ended, or says truly why there was none. */
  #slots(): void {
    const wrongTimes = this.#wrongTimes();
    const bySlot = Map.groupBy(this.#runs, (run) => `${run.check_id}@${run.scheduled_for}`);
    const known = new Set<string>();
    for (const subject of this.#play.subjects) {
      const { id: checkId } = subject;
      const schedule = scheduleOfSubject(subject);
      const { intervalMs } = schedule;
      // A slot that is due as people switch the check off may be run.
      const last = Math.max(0, ...subject.active.map(({ to }) => to)) + 5 * second;
      for (let slot = slotAtOrAfter(schedule, epoch); slot <= epoch + last; slot += intervalMs) {
        const name = `${checkId}@${slot}`;
        const due = slot - epoch;
        known.add(name);
        if (this.#isOpen(subject, due) || overlaps(wrongTimes, due, due + 1)) continue;
        const isDue = overlaps(subject.active, due, due + 1);
        const runs = bySlot.get(name) ?? [];
        const maintained = this.#maintained(subject, due);
        if (maintained === 'open') continue;
        if (maintained === 'paused' && isDue) {
          this.#play.meet('slot in maintenance that its agents know of');
          const isSo = runs.every((run) => run.missed_reason === 'maintenance');
          if (!isSo || runs.length === 0)
            this.wrong.push(
              `${subject.name}, slot ${at(due)} in maintenance: ${runs.map((run) => run.missed_reason ?? run.state).join() || 'nothing'}`,
            );
          continue;
        }
        if (!isDue) {
          if (runs.length > 0 && this.#subjectsOf(checkId).length === 1)
            this.wrong.push(`${subject.name}: a run for ${at(due)}, when it was not active`);
          continue;
        }
        this.#slot(subject, due, runs);
      }
    }
    if (wrongTimes.length > 0) return;
    for (const run of this.#runs) {
      if (run.scheduled_for === null || known.has(`${run.check_id}@${run.scheduled_for}`)) continue;
      if (this.#play.jobs.some(({ checkId }) => checkId === run.check_id)) continue;
      if (this.#subjectsOf(run.check_id).some(({ isDeleted }) => isDeleted)) continue;
      this.wrong.push(`run ${run.run_id} for a slot that never was: ${run.scheduled_for}`);
    }
  }

  /** Whether a change came so close that the slot may be run or not. */
  #isOpen(subject: Subject, due: number): boolean {
    const all = this.#subjectsOf(subject.id);
    const interval = scheduleOfSubject(subject).intervalMs;
    return (
      all.some(({ changes }) =>
        changes.some(
          (each) => due > each.from - 5 * second && due < each.to + interval + 45 * second,
        ),
      ) ||
      all.some(
        ({ isDeleted, active }) => isDeleted && active.at(-1)?.to !== Infinity && all.length === 1,
      )
    );
  }

  /** What a window makes of a slot: open where its agents may not know of it, or just at its bounds. */
  #maintained(subject: Subject, due: number): 'paused' | 'open' | null {
    const windows = this.#play.maintenances.filter(
      ({ from, to }) => due > from - 5 * second && due < to + 45 * second,
    );
    const agents = this.#play.agents.filter(({ location }) => subject.locations.includes(location));
    const isKnown = windows.every(({ asked }) => {
      const until = asked.to + heardMs;
      const where = ['control-plane', ...agents.map(({ name }) => name)];
      const isDisturbed =
        where.some((name) => overlaps(this.#spans(ofTime, name), asked.from - second, until)) ||
        agents.some(
          (agent) =>
            this.#isCutOff(agent, asked.from - 45 * second, until) ||
            overlaps(agent.away, asked.from - second, until) ||
            this.#beganWrong(agent, due),
        );
      return due > until && !isDisturbed;
    });
    if (!isKnown) return 'open';
    const bounds = windows.flatMap(({ from, to }) => [from, to]);
    if (bounds.some((bound) => Math.abs(due - bound) < 2 * second)) return 'open';
    return windows.some(({ from, to }) => due > from && due < to) ? 'paused' : null;
  }

  #slot(subject: Subject, due: number, runs: readonly Run[]): void {
    const places = subject.isParallel ? subject.locations.length : 1;
    const what = `${subject.name}, slot ${at(due)}`;
    const finished = runs.filter(({ state }) => state !== 'RUNNING');
    if (runs.length > places) {
      this.wrong.push(`${what}: ${runs.length} runs for ${places} locations`);
    } else if (finished.length < places) {
      const open = runs.filter(({ state }) => state === 'RUNNING');
      // The attempt after one that is known was lost: such a run ends after 25 minutes.
      const isDelayed =
        finished.length + open.length === places &&
        open.every((run) => subject.retries > 0 && this.#isTroubled(subject, run.location, due));
      if (!isDelayed)
        this.wrong.push(`${what}: ${runs.map(({ state }) => state).join() || 'nothing'}`);
    }
    for (const run of finished) if (run.state === 'MISSED') this.#missed(subject, run, what, due);
  }

  #agentsOf(location: string): AgentProgram[] {
    return this.#play.agents.filter((agent) => agent.location === location);
  }

  /** Something that can take a slot from a location, around its time. */
  #isTroubled(subject: Subject, location: string, due: number): boolean {
    const span = { from: due - takenOverMs, to: due + 60 * second };
    const all = this.#agentsOf(location);
    const knowsChange = (agent: AgentProgram): boolean =>
      subject.changes.every(
        ({ from, to }) =>
          due < from || due > to + 200 * second || !this.#isCutOff(agent, from - 45 * second, due),
      );
    if (!all.every(knowsChange)) return true;
    const [alone, ...others] = all;
    if (alone !== undefined && others.length === 0)
      return this.#isAloneTroubled(subject, alone, due);
    return all.some((agent) => this.#isAgentTroubled(agent, all, span));
  }

  /** With no other agent there it goes on where it was, and makes up for the latest slot. */
  #isAloneTroubled(subject: Subject, agent: AgentProgram, due: number): boolean {
    const interval = scheduleOfSubject(subject).intervalMs;
    const reach = due + Math.min(interval, latestStartMs);
    const sleeps = this.#spans(/^sleep$/, agent.name);
    const isAway = agent.away.some(
      ({ askedAt, to }) =>
        askedAt < due + longestRunMs &&
        to > due &&
        to + (overlaps(sleeps, askedAt - second, to + second) ? wakesWithinMs : beginsWithinMs) >
          reach,
    );
    const slow = overlaps(this.#spans(/^slow$/, agent.name), due - 30 * second, due + 60 * second);
    return isAway || slow || this.#beganWrong(agent, due);
  }

  /** An agent that began with a wrong clock keeps it until the control plane says so. */
  #beganWrong(agent: AgentProgram, due: number): boolean {
    return this.#play.faults.some(
      ({ kind, where, span, aheadMs = 0 }) =>
        ofClock.test(kind) &&
        where === agent.name &&
        agent.away.some(
          ({ askedAt, to }) =>
            to > span.from - second &&
            askedAt < span.to + second &&
            due > askedAt - latestStartMs &&
            due < to + 10 * second + (this.#isCutOff(agent, to, due) ? Math.abs(aheadMs) : 0),
        ),
    );
  }

  #isAgentTroubled(agent: AgentProgram, all: readonly AgentProgram[], { from, to }: Span): boolean {
    if (overlaps(this.#spans(ofTime, agent.name), from, to)) return true;
    if (this.#beganWrong(agent, to - 60 * second)) return true;
    const absences = agent.away.filter((each) => overlaps([each], from, to));
    const away = absences.filter(({ isPlanned, ...each }) =>
      isPlanned
        ? !this.#isHandedOver(agent, all, each)
        : // It goes on where it was, with what it keeps on disk.
          each.to - each.from > briefMs,
    );
    if (away.length > 0) return true;
    // Without the control plane it cannot learn that it has another one's checks.
    // All were there at first.
    const hadChanges = all.some(({ away: own }) =>
      own.slice(1).some((each) => each.from < to && !each.isPlanned),
    );
    return hadChanges && this.#isCutOff(agent, from, to);
  }

  #isCutOff({ name }: AgentProgram, from: number, to: number): boolean {
    const spans = [...this.#play.controlPlane.away, ...this.#spans(ofLink, name)];
    return overlaps(spans, from, to);
  }

  /** An end that was asked for takes no slot where another agent is there, unless no word gets through for long. */
  #isHandedOver(agent: AgentProgram, all: readonly AgentProgram[], { from, to }: Span): boolean {
    const waitsMs = handOverShare * agent.drainMs;
    const isHeldUp = this.#play.controlPlane.away.some(
      (each) =>
        each.to - each.from > waitsMs - second && overlaps([each], from - agent.drainMs, to),
    );
    const hasLink = !overlaps(this.#spans(ofLink, agent.name), from - 30 * second, to);
    const isWorking = this.#spans(/^kill at (now|answer|statement)$/, 'control-plane');
    return (
      !isHeldUp &&
      hasLink &&
      !overlaps(isWorking, from - 60 * second, to) &&
      all.some(
        (other) =>
          other !== agent &&
          // All were there at first.
          !overlaps(other.away.slice(1), from - takenOverMs, to + takenOverMs),
      )
    );
  }

  #missed(subject: Subject, run: Run, what: string, due: number): void {
    const isPlayed = !this.#isTroubled(subject, run.location, due);
    if (isPlayed) {
      this.wrong.push(`${what}: missed (${run.missed_reason}), and its agents were there`);
      return;
    }
    this.#play.meet('slot missed for a cause');
  }

  #doubles(): void {
    for (const [runId, all] of Map.groupBy(this.#results, (result) => result.check_run_id)) {
      const finals = all.filter(({ result_type }) => result_type === 'FINAL');
      if (finals.length > 1) this.wrong.push(`run ${runId} has ${finals.length} FINAL results`);
      const counted = all.filter(({ result_type }) => result_type !== 'LATE');
      if (new Set(counted.map(({ attempt }) => attempt)).size < counted.length)
        this.wrong.push(`run ${runId} has an attempt twice`);
    }
    const ids = new Set(this.#results.map(({ id }) => id));
    if (ids.size < this.#results.length) this.wrong.push('a result is stored twice');
    const finals = new Set(
      this.#results
        .filter(({ result_type }) => result_type === 'FINAL')
        .map(({ check_run_id }) => check_run_id),
    );
    for (const run of this.#runs) {
      if (run.state === 'MISSED' && finals.has(run.id))
        this.wrong.push(`run ${run.run_id} is missed, and has a FINAL result`);
      if (run.state === 'FINAL' && !ids.has(run.result_id ?? ''))
        this.wrong.push(`run ${run.run_id} is FINAL without its result`);
    }
  }

  /** Each result was a visit, and says of it what the target did. */
  #verdicts(): void {
    if (this.#wrongTimes().length > 0) {
      this.#numbers();
      return;
    }
    for (const result of this.#results) {
      if (result.is_cancelled === 1 || this.#subjectsOf(result.check_id).length === 0) continue;
      if (result.has_errors === 1) {
        if (result.has_failures === 1)
          this.wrong.push(`result ${result.id}: an error is a failure`);
        this.#play.meet('agent error');
        continue;
      }
      const visits = [...(this.#visits.get(result.id) ?? []), ...this.#madeAgain(result)];
      const name = this.#subjectsOf(result.check_id)[0]?.name ?? result.check_id;
      const what = `${name}, ${healthOfResult(result)} at ${at(result.started_at - epoch)}`;
      if (visits.length === 0) {
        // Runs of slots that are yet to come get other names.
        const isRenamed = this.#visitsOfCheck
          .get(result.check_id)
          ?.some((visit) => this.#isUncorrected(visit));
        if (isRenamed === true) continue;
        this.wrong.push(`${what}: nobody visited`);
        continue;
      }
      const ended = visits.filter(({ to }) => to !== null);
      if (ended.every(({ state }) => healthOf[state] !== healthOfResult(result)))
        this.wrong.push(`${what}: the target was ${visits.map(({ state }) => state).join()}`);
      const begins = visits.map(({ from }) => from);
      const off = Math.min(...begins.map((from) => Math.abs(result.started_at - epoch - from)));
      const drifts = this.#spans(/^(stop|sleep|(link )?slow)$/);
      const isExcused =
        drifts.some(({ from }) => from < Math.min(...begins) + second) ||
        visits.some((visit) => this.#isUncorrected(visit));
      if (off > clockToleranceMs && !isExcused)
        this.wrong.push(`${what}: visited ${at(off)} away from its time`);
    }
  }

  /** The run of a slot that is yet to come gets another name, and its results with it. */
  #hasOtherName(visit: Visit): boolean {
    const ofRun = this.#visitsOfRun.get(visit.runId) ?? [];
    return (
      ofRun.some((each) => this.#isUncorrected(each)) &&
      this.#results.some(
        (result) =>
          result.check_id === visit.checkId &&
          result.attempt === visit.attempt &&
          Math.abs(result.started_at - epoch - visit.from) <= clockToleranceMs &&
          healthOfResult(result) === healthOf[visit.state],
      )
    );
  }

  /** An attempt that another agent made again with another outcome stands as the next one. */
  #madeAgain({ check_run_id, attempt }: Result): Visit[] {
    const runId = this.#numbered.get(check_run_id)?.run_id ?? '';
    const visits = (this.#visitsOfRun.get(runId) ?? []).filter((each) => each.attempt < attempt);
    return [...Map.groupBy(visits, (visit) => visit.attempt).values()]
      .filter((all) => new Set(all.map(({ host }) => host)).size > 1)
      .flat();
  }

  /** Its agent has just begun with a wrong clock, and the control plane has not put it right. */
  #isUncorrected({ host, from }: Visit): boolean {
    const agent = this.#play.agents.find(({ name }) => name === host);
    return (
      agent !== undefined &&
      this.#beganWrong(agent, from) &&
      agent.away.some(
        ({ to }) =>
          to <= from && (from < to + 5 * second || this.#isCutOff(agent, to, from + second)),
      )
    );
  }

  /** Where runs get other names, as the clock that names them is put right, only numbers can be compared. */
  #numbers(): void {
    for (const { id, name } of this.#play.subjects) {
      if (this.#subjectsOf(id).some(({ isDeleted }) => isDeleted)) continue;
      const all = this.#visitsOfCheck.get(id) ?? [];
      // A slot that comes again as the clock is set back has one result.
      const durable = all.filter(
        (visit) => this.#isDurable(visit) && !this.#isRunAgain(visit.runId),
      );
      const stored = this.#results.filter(
        (result) => result.check_id === id && result.has_errors === 0 && result.is_cancelled === 0,
      );
      this.#count(name, all, durable, stored);
      for (const health of ['passing', 'degraded', 'failing'] as const) {
        const isSo = ({ state }: Visit) => healthOf[state] === health;
        // Two agents with one run may have seen different things, and one of them counts.
        const isSure = (visit: Visit) =>
          (this.#visitsOfAttempt.get(attemptOf(visit)) ?? []).every(isSo);
        this.#count(
          `${name}, ${health}`,
          all.filter(isSo),
          durable.filter(isSure),
          stored.filter((result) => healthOfResult(result) === health),
        );
      }
    }
  }

  #count(
    what: string,
    all: readonly Visit[],
    durable: readonly Visit[],
    stored: readonly Result[],
  ): void {
    const must = new Set(durable.map(attemptOf)).size;
    const may = all.filter(({ to }) => to !== null).length;
    if (stored.length > may || stored.length < must)
      this.wrong.push(`${what}: ${stored.length} results of ${must} to ${may} visits`);
  }

  /** What an agent has measured is there, whatever happened to it afterwards. */
  #losses(): void {
    if (this.#wrongTimes().length > 0) return;
    const ids = new Set(this.#results.map(({ id }) => id));
    for (const [id, visits] of this.#visits) {
      if (ids.has(id)) continue;
      const [visit] = visits.filter((each) => this.#isDurable(each));
      if (visit === undefined) continue;
      const subjects = this.#subjectsOf(visit.checkId);
      if (subjects.some(({ isDeleted }) => isDeleted)) continue;
      const run = this.#runOf.get(visit.runId);
      if (run !== undefined && run.late_results > 0) continue;
      if (this.#hasOtherName(visit)) continue;
      const state = run === undefined ? 'no run' : `${run.state} ${run.missed_reason ?? ''}`;
      this.wrong.push(
        `${subjects[0]?.name}: ${visit.host} saw ${visit.state} at ${at(visit.from)}, attempt ${visit.attempt}, and there is no result (${state})`,
      );
    }
  }

  /** Who takes a check over begins no run whose FINAL result the control plane had before it gave the check. */
  #repeats(): void {
    if (this.#wrongTimes().length > 0) return;
    const storedAt = new Map<number, number>();
    for (const { check_run_id: id, result_type: type, created_at: stored } of this.#results)
      if (type === 'FINAL') storedAt.set(id, stored - epoch);
    for (const { run_id: runId, id, scheduled_for: slot, check_id: checkId } of this.#runs) {
      const known = storedAt.get(id);
      if (slot === null || known === undefined) continue;
      for (const { attempt, from, host } of this.#visitsOfRun.get(runId) ?? []) {
        const agent = this.#play.agents.find(({ name }) => name === host);
        if (agent === undefined || attempt > 1 || from <= known + madeUpMs) continue;
        const late = this.#spans(/^(stop|sleep|slow|drift|clock)$/, host);
        // From its own disk it goes on before it hears anything.
        const hasBegun = agent.away.some(({ to }) => to > known && to < from + madeUpMs);
        if (hasBegun || overlaps(late, known, from) || this.#isCutOff(agent, known, from)) continue;
        this.wrong.push(
          `${this.#subjectsOf(checkId)[0]?.name}, slot ${at(slot - epoch)}: ${host} begins it at ${at(from)}, and its result was stored at ${at(known)}`,
        );
      }
    }
  }

  /** Whatever a clock says: where agents can act, a check is not left alone for long. */
  #gaps(): void {
    const { agents, subjects, maintenances } = this.#play;
    const disturbances = [
      ...this.#spans(/^(stop|sleep|slow|drain|kill|link|requests)/),
      ...agents.flatMap(({ away }) => away.map(({ askedAt, to }) => ({ from: askedAt, to }))),
      ...maintenances,
    ];
    for (const subject of subjects) {
      const { id, name, active, locations } = subject;
      const times = (this.#visitsOfCheck.get(id) ?? []).map(({ from }) => from);
      const { intervalMs } = scheduleOfSubject(subject);
      const mostMs = 2 * intervalMs * locations.length + 40 * second;
      for (const { from, to } of active) {
        const end = Math.min(to, this.#play.world.now);
        const seen = [from, ...times.filter((each) => each > from && each < end), end];
        for (const [index, last] of seen.entries()) {
          const next = seen[index + 1];
          if (next === undefined || next - last <= mostMs) continue;
          if (overlaps(disturbances, last - 60 * second, next)) continue;
          this.wrong.push(`${name}: nobody visited between ${at(last)} and ${at(next)}`);
        }
      }
    }
  }

  /** An agent that is asked to end finishes what it measures, and then ends soon. */
  #drains(): void {
    const { agents, controlPlane } = this.#play;
    for (const agent of agents) {
      for (const { isPlanned, askedAt, from } of agent.away) {
        if (!isPlanned) continue;
        this.#cut(agent, { from: askedAt, to: from });
        const all = this.#agentsOf(agent.location);
        const isDisturbed =
          overlaps(controlPlane.away, askedAt - 5 * second, from) ||
          all.some(
            (each) =>
              overlaps(this.#spans(/^(?!drain$)/, each.name), askedAt - 60 * second, from) ||
              each.away.some(
                (absence) =>
                  !absence.isPlanned && absence.from < from && absence.to > askedAt - 60 * second,
              ),
          );
        if (isDisturbed) continue;
        if (from - askedAt > endsWithinMs)
          this.wrong.push(
            `${agent.name} was asked to end at ${at(askedAt)}, and did at ${at(from)}`,
          );
        this.#play.meet('undisturbed end');
      }
    }
  }

  /**
   * An agent cuts no visit before its drain time is over, and begins none that it could not finish by then, also where
   * the control plane does not hear of its end.
   */
  #cut(agent: AgentProgram, { from: askedAt, to: endedAt }: Span): void {
    if (overlaps(this.#spans(ofTime, agent.name), askedAt - longestRunMs, endedAt)) return;
    const { targets, subjects } = this.#play;
    for (const visit of targets.visits) {
      const { host, from, to, checkId } = visit;
      if (host !== agent.name || to !== null) continue;
      if (from < askedAt - longestRunMs || from > endedAt) continue;
      const isInTime = from < askedAt + handOverShare * agent.drainMs + 2 * second;
      if (isInTime && endedAt > askedAt + agent.drainMs - second) continue;
      const wasChanged = subjects.some(
        ({ id, changes }) => id === checkId && overlaps(changes, from - second, endedAt + second),
      );
      if (!wasChanged)
        this.wrong.push(
          `${agent.name}, asked to end at ${at(askedAt)}, ended at ${at(endedAt)} within a visit of ${at(from)}`,
        );
    }
  }

  /** An agent that takes over runs what it does not know to be done: the first that ended counts. */
  #isRunAgain(runId: string): boolean {
    if ((this.#runOf.get(runId)?.late_results ?? 0) === 0) return false;
    const times = (this.#visitsOfRun.get(runId) ?? []).map(({ from }) => from);
    // While the clock is wrong, another visit of that name may be of another slot.
    const wrong = this.#spans(ofClock, 'control-plane');
    return !overlaps(wrong, Math.min(...times) - 5 * second, Math.max(...times) + 5 * second);
  }

  #isDurable({ host, from, to }: Visit): boolean {
    if (to === null) return false;
    const agent = this.#play.agents.find(({ name }) => name === host);
    const until = to + durableMs;
    if (agent === undefined || overlaps(agent.away, from - second, until)) return false;
    // The agent says itself that it had not its time: it looks again.
    const void_ = this.#spans(ofTime, host);
    return !overlaps(void_, from - 5 * second, until) && until < this.#play.world.now;
  }

  /** The table of transitions, over the results as they came. */
  async #alerts(): Promise<void> {
    const alerts = await this.#db
      .selectFrom('check_alerts')
      .select(['check_id', 'alert_type as type', 'created_at as at'])
      .orderBy('seq')
      .execute();
    const taken = await this.#db
      .selectFrom('alert_acknowledgements')
      .select(['check_id', 'created_at as at', 'until_at as untilAt'])
      .execute();
    const ofCheck = Map.groupBy(alerts, ({ check_id }) => check_id);
    const takenOf = Map.groupBy(taken, ({ check_id }) => check_id);
    const wasMaintained = this.#play.maintenances.length > 0;
    for (const [id, subjects] of Map.groupBy(this.#play.subjects, ({ id }) => id)) {
      const [subject] = subjects;
      if (subject === undefined || subjects.some(({ isDeleted }) => isDeleted)) continue;
      const history = ofCheck.get(id) ?? [];
      const said = history.map(({ type }) => type);
      const problem = this.#order(
        // Reminders are no news.
        subject.reminders + (takenOf.get(id)?.length ?? 0) === 0
          ? said
          : said.filter(
              (type, index) =>
                index === 0 ||
                !type.endsWith('_REMAIN') ||
                said[index - 1]?.endsWith('RECOVERY') === true,
            ),
      );
      if (problem !== null) this.wrong.push(`${subject.name}: ${problem}: ${said.join()}`);
      const paused = subject.active.length > 1;
      // Times of results are moved with the clock.
      if (subject.isParallel || paused || wasMaintained || this.#wrongTimes().length > 0) continue;
      const results = this.#results.filter((result) => result.check_id === id);
      const own = { results, alerts: history, taken: takenOf.get(id) ?? [] };
      const expected = alertsAfter(subject, own);
      if (expected !== null) this.#reminded(subject, own, expected);
      this.#steps(subject, own);
    }
  }

  /** Which alerts there are is watched after each commit; reminders are due at a time as well. */
  #reminded({ name }: Subject, { alerts }: History, { overdue }: Expected): void {
    if (alerts.some(({ type }) => type.endsWith('_REMAIN'))) this.#play.meet('reminder');
    for (const { from, to } of overdue)
      if (to - from > soonMs && !this.#isHeldUp(from, to))
        this.wrong.push(`${name}: a reminder of ${at(from)} had not come by ${at(to)}`);
  }

  /** Whether the control plane could not do its work for some time, or waited for what agents had to make up for. */
  #isHeldUp(from: number, to: number): boolean {
    const { controlPlane } = this.#play;
    return overlaps(
      [...controlPlane.away, ...this.#spans(/./, controlPlane.name)],
      from - graceMs,
      to,
    );
  }

  /** Who is next is notified of an alert that lasts a minute and that nobody takes on, and of its end. */
  #steps(subject: Subject, { alerts, taken }: History): void {
    if (!subject.hasPolicy || subject.mutes.length > 0) return;
    const sent = new Set(
      this.#play.receiver.deliveries
        .filter(({ isTaken, body }) => isTaken && body.check === subject.id)
        .filter(({ body }) => /^step (?!.*RECOVERY)/.test(body.type))
        .map(({ id }) => id),
    ).size;
    let [must, may, begunAt] = [0, 0, Infinity];
    for (const [index, { type, at: from }] of alerts.entries()) {
      const to = alerts[index + 1]?.at ?? Infinity;
      const isRecovery = type.endsWith('RECOVERY');
      const isTaken = taken.some((each) => each.at >= Math.min(begunAt, from) && each.at <= to);
      if (isRecovery) begunAt = Infinity;
      else begunAt = Math.min(begunAt, from);
      const lastsMs = to - begunAt;
      if (isRecovery || lastsMs < stepAfterMs) continue;
      may += 1;
      const isLast = alerts[index + 1]?.type.endsWith('RECOVERY') ?? true;
      const isSure = lastsMs > stepAfterMs + soonMs && isLast && !isTaken;
      if (isSure && !this.#isHeldUp(begunAt - epoch, to - epoch)) must += 1;
    }
    if (sent > 0) this.#play.meet('step of a policy');
    if (sent < must || sent > may)
      this.wrong.push(`${subject.name}: ${sent} steps of its policy, not ${must} to ${may}`);
  }

  /** Trouble and its end take turns; all targets are up in the end, and everyone knows it. */
  #order(said: readonly string[]): string | null {
    let isTroubled = false;
    for (const alert of said) {
      const isRecovery = alert.endsWith('RECOVERY');
      if (isRecovery && !isTroubled) return 'a recovery of nothing';
      if (/^ALERT_(FAILURE|DEGRADED)(_REMAIN)?$/.test(alert) && isTroubled) return 'an alert twice';
      isTroubled = !isRecovery;
    }
    return isTroubled ? 'no recovery' : null;
  }

  /** Each alert was said once, to each who wanted to hear it. */
  async #messages(): Promise<void> {
    const { receiver, controlPlane, subscribers } = this.#play;
    const db = this.#db;
    const alerts = await db
      .selectFrom('check_alerts')
      .select(['id', 'check_id', 'alert_type'])
      .execute();
    const announced = await db.selectFrom('incident_updates').select('id').execute();
    for (const check_id of subscribers)
      for (const { id } of announced) alerts.push({ id, check_id, alert_type: 'mail' });
    const taken = receiver.deliveries.filter(
      ({ isTaken, body }) => isTaken && !body.type.startsWith('step '),
    );
    if (taken.some(({ body }) => body.type === 'mail')) this.#play.meet('mail to a subscriber');
    const key = (check: string, type: string): string => `${check} ${type}`;
    const byKey = Map.groupBy(taken, ({ body }) => key(body.check, body.type));
    const expected = Map.groupBy(alerts, (alert) => key(alert.check_id, alert.alert_type));
    for (const [name, all] of expected) {
      const messages = new Set((byKey.get(name) ?? []).map(({ id }) => id)).size;
      if (messages < all.length)
        this.wrong.push(`${name}: ${all.length} alerts, ${messages} messages arrived`);
      if (messages > all.length)
        this.wrong.push(`${name}: ${messages} messages for ${all.length} alerts`);
    }
    for (const [name, all] of byKey)
      // Those of the state of agents are of no check.
      if (!expected.has(name) && !name.startsWith(' '))
        this.wrong.push(`${name}: a message without an alert (${all.length})`);
    const disturbed = [
      ...receiver.interruptions.map(({ from, to }) => ({ from, to: to + 60 * second })),
      ...controlPlane.away.map(({ from, to }) => ({
        from: from - 15 * second,
        to: to + 60 * second,
      })),
      ...this.#spans(/^slow$/, 'control-plane'),
    ];
    for (const [id, all] of Map.groupBy(taken, (each) => each.id)) {
      const again = all.filter((each) => !overlaps(disturbed, each.at, each.at + 1));
      if (again.length > 1) this.wrong.push(`message ${id} came ${all.length} times`);
    }
    const left = await db.selectFrom('outbox').select('id').execute();
    if (left.length > 0) this.wrong.push(`${left.length} messages are still to be sent`);
  }

  /** Where the clock moves what is stored, what a check is said to be is what its newest result says in the end. */
  async #statuses(): Promise<void> {
    const statuses = await this.#db.selectFrom('check_statuses').selectAll().execute();
    for (const status of statuses) {
      const [subject, another] = this.#subjectsOf(status.check_id);
      if (subject === undefined || another !== undefined) continue;
      if (subject.isDeleted || subject.isParallel) continue;
      const finals = this.#results.filter(
        ({ check_id: id, result_type: type }) => id === status.check_id && type === 'FINAL',
      );
      // Of two at one time the one that was stored last.
      const newest = finals.toSorted((one, other) => one.started_at - other.started_at).at(-1);
      if (newest !== undefined && status.has_failures !== newest.has_failures)
        this.wrong.push(`${subject.name}: its status is not that of its newest result`);
    }
  }

  /** All results are in the sums. */
  async #summed(): Promise<void> {
    const rows = await this.#db.selectFrom('roll_up_inbox').select('id').execute();
    if (rows.length > 0) this.wrong.push(`${rows.length} results are not in the sums`);
  }

  /** A job that pinged in time is never said to have failed; one that did not is. */
  async #jobs(): Promise<void> {
    for (const { checkId, job, periodMs, graceMs } of this.#play.jobs) {
      const alerts = await this.#db
        .selectFrom('check_alerts')
        .select(['alert_type', 'created_at'])
        .where('check_id', '=', checkId)
        .orderBy('seq')
        .execute();
      const answered = job.pings.flatMap(({ answeredAt }) =>
        answeredAt === null ? [] : [answeredAt],
      );
      if (this.#wrongTimes().length > 0) continue;
      for (const { alert_type, created_at } of alerts) {
        const when = created_at - epoch;
        const lastBefore = Math.max(-Infinity, ...answered.filter((each) => each < when));
        if (alert_type === 'ALERT_FAILURE' && when - lastBefore < periodMs + graceMs)
          this.wrong.push(`job ${checkId}: failed at ${at(when)}, pinged at ${at(lastBefore)}`);
      }
      const failures = alerts.filter(({ alert_type }) => alert_type === 'ALERT_FAILURE').length;
      let silent = 0;
      for (const [index, ping] of answered.entries()) {
        const next = answered[index + 1];
        if (next === undefined) continue;
        const lostMs = this.#play.controlPlane.away.reduce(
          (sum, { from, to }) =>
            sum + Math.max(0, Math.min(to + 60 * second, next) - Math.max(from, ping)),
          0,
        );
        if (next - ping - lostMs > periodMs + graceMs + 10 * second) silent += 1;
      }
      if (silent > failures)
        this.wrong.push(`job ${checkId}: ${silent} times silent, ${failures} failures`);
    }
  }
}

/** What is wrong, of a play that has ended. */
export async function judge(play: Play): Promise<string[]> {
  const oracle = new Oracle(play);
  await oracle.judge();
  return oracle.wrong;
}
