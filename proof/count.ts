/**
 * What a proof counts. Pure: visits of the own targets and what the public API says of slots, results and
 * alerts go in; a list for each thing that must not be comes out.
 */
import { overlaps, type Interval, type Subject } from './lane.ts';
import type { Stall, Visit } from './targets.ts';
import { slotsUntil } from './system.ts';

/** A run as the API lists it. */
export interface ApiRun {
  checkRunId: number;
  checkId: string;
  scheduledFor: string | null;
  state: 'RUNNING' | 'FINAL' | 'MISSED';
  missedReason: string | null;
  resultId: string | null;
  lateResults: number;
}

/** A result as the API lists it. */
export interface ApiResult {
  id: string;
  checkId: string;
  checkRunId: number;
  resultType: string;
  hasFailures: boolean;
  hasErrors: boolean;
  isDegraded: boolean | null;
  isLate: boolean;
  startedAt: string | null;
  stoppedAt: string | null;
  created_at: string;
  attempts: number;
  responseTime?: number;
  /** How long the agent itself was held up. */
  agentWaitMs?: number;
  scheduledFor: string | null;
}

export interface ApiAlert {
  id: string;
  checkId: string;
  alertType: string;
  created_at: string;
}

export interface Message {
  /** The same each time one notification is tried. */
  id: string;
  type: string;
  checkId: string;
  at: number;
  /** The receiver took it. */
  isTaken: boolean;
}

export interface Facts {
  subjects: readonly Subject[];
  until: number;
  runs: readonly ApiRun[];
  results: readonly ApiResult[];
  alerts: readonly ApiAlert[];
  messages: readonly Message[];
  visits: ReadonlyMap<string, readonly Visit[]>;
  /** When the targets themselves were held up. */
  stalls: readonly Stall[];
  /** When a control plane or the receiver of messages was disturbed: messages may arrive again. */
  interruptions: readonly Interval[];
}

/** Each line names what must not be, one text for each time that it was. */
export const lines = [
  'slots lost',
  'results lost',
  'slots missed without a cause',
  'slots doubled',
  'results invented',
  'wrong verdicts',
  'slow targets not called slow',
  'hanging targets not called down',
  'false alerts',
  'missing alerts',
  'doubled alerts',
  'missing messages',
  'doubled messages',
  'damaged databases',
  'programs that failed',
] as const;
export type Line = (typeof lines)[number];
export type Findings = Record<Line, string[]>;

export interface Tally {
  findings: Findings;
  slots: number;
  finals: number;
  missed: Record<string, number>;
  /** Results that say that the agent could not measure. */
  internalErrors: number;
  /** Verdicts that nobody can judge: the target itself was held up. */
  notJudged: number;
  visits: number;
  alerts: number;
  messages: number;
  /** The same message again, after an interruption. */
  repeated: number;
  late: number;
  /** Attempts that failed and were made again. */
  retries: number;
  /** Results that were known already when they came. */
  sentAgain: number;
  /** Slots whose end a fault has delayed beyond the time of this proof. */
  delayed: number;
  /** Results whose times are seconds away from the visit: a clock could not be compared precisely. */
  shifted: number;
}

/** Targets whose every run must fail, and what it is when one does not. */
const missedFaults: Partial<Record<Subject['kind'], Line>> = {
  'over-limit': 'slow targets not called slow',
  hanging: 'hanging targets not called down',
};

/** An agent says so itself, and a machine that is busy makes it true. */
const declaredByAgents = new Set(['agent-overloaded', 'agent-suspended']);
/** With less time than this an agent cannot be expected to start a slot. */
const enoughPresenceMs = 5_000;
/** How long after a visit its result may not be on disk yet. */
const untilDurableMs = 3_000;
/** An agent corrects its clock by that of the control plane, as precisely as a busy connection allows. */
const clockToleranceMs = 3_000;
/** A busy agent may run a slot so much later. */
const latestRunMs = 30_000;
/** Of visits, on a busy machine. */
const voidShare = 0.1;
/** A target takes up a connection, reads it and answers: each may be held up. */
const turnsOfAnswer = 3;
/** A receiver that was interrupted is tried again after a while. */
const repeatsWithinMs = 180_000;

/** The share of the slots of which a proof cannot say whether they ended as they should. */
export const unjudgedShare = ({ slots, internalErrors, notJudged, delayed }: Tally): number =>
  slots === 0 ? 1 : (internalErrors + notJudged + delayed) / slots;

export const noTally = (): Tally => ({
  findings: Object.fromEntries(lines.map((line) => [line, [] as string[]])) as unknown as Findings,
  ...{ slots: 0, finals: 0, missed: {}, internalErrors: 0, notJudged: 0, visits: 0, alerts: 0 },
  ...{ messages: 0, repeated: 0, late: 0, retries: 0, sentAgain: 0, delayed: 0, shifted: 0 },
});

const timeOf = (at: number): string => new Date(at).toISOString().slice(11, 23);
const ms = (text: string | null): number => (text === null ? NaN : Date.parse(text));

const endOf = (slot: number, { check }: Subject): number => slot + check.frequencyOffset * 1_000;

/** A fault that explains that a slot has no result. */
function hasCause(subject: Subject, slot: number, afterMs = subject.lane.aftermathMs): boolean {
  const { lane } = subject;
  const end = endOf(slot, subject);
  return (
    lane.longestPresence(slot, end) < enoughPresenceMs ||
    overlaps(lane.lossy, slot, end) ||
    overlaps(lane.disturbed, slot - afterMs, end + afterMs)
  );
}

/**
 * A run of which one attempt is known and the
 * next was lost ends with that attempt after 25 minutes, since a retry may take that long.
 */
function isDelayed(subject: Subject, run: ApiRun | undefined, slot: number): boolean {
  if (run?.state !== 'RUNNING') return false;
  return subject.lane.isAway(slot, endOf(slot, subject)) || hasCause(subject, slot, 0);
}

class Counting {
  readonly #facts: Facts;
  readonly #tally = noTally();
  /** Those with a verdict that nobody can judge, so that nobody can judge their alerts. */
  readonly #doubtful = new Set<Subject>();

  constructor(facts: Facts) {
    this.#facts = facts;
  }

  count(): Tally {
    const { subjects, results, runs, visits, alerts, messages } = this.#facts;
    const runsOf = Map.groupBy(runs, ({ checkId }) => checkId);
    const resultsOf = Map.groupBy(results, ({ checkId }) => checkId);
    for (const subject of subjects) {
      const own = resultsOf.get(subject.check.id) ?? [];
      if (subject.kind !== 'heartbeat') {
        this.#countSlots(subject, runsOf.get(subject.check.id) ?? [], own);
        this.#countResults(subject, own);
      }
      this.#countAlerts(subject, own);
    }
    this.#countRepeats();
    return Object.assign(this.#tally, {
      internalErrors: results.filter(({ hasErrors }) => hasErrors).length,
      visits: [...visits.values()].reduce((sum, each) => sum + each.length, 0),
      alerts: alerts.length,
      messages: new Set(messages.map(({ id }) => id)).size,
      late: results.filter(({ isLate }) => isLate).length,
      retries: results.filter(({ resultType }) => resultType === 'ATTEMPT').length,
    });
  }

  #add(line: Line, subject: Subject, what: string): void {
    this.#tally.findings[line].push(`${subject.check.name}: ${what}`);
  }

  #countSlots(subject: Subject, runs: readonly ApiRun[], results: readonly ApiResult[]): void {
    const ids = new Set(results.map(({ id }) => id));
    const { until } = this.#facts;
    const due = [...slotsUntil([subject.check], until)].map((slot) => Number(slot.split('@')[1]));
    const expected = new Set(slotsUntil([subject.check], until + 3_600_000));
    const bySlot = Map.groupBy(
      runs.filter(({ scheduledFor }) => scheduledFor !== null),
      ({ scheduledFor }) => ms(scheduledFor),
    );
    for (const [slot, all] of bySlot) {
      if (all.length > 1) this.#add('slots doubled', subject, `slot ${timeOf(slot)} has two runs`);
      if (subject.lane.hasTrueTimes && !expected.has(`${subject.check.id}@${slot}`))
        this.#add('results invented', subject, `slot ${timeOf(slot)} was never due`);
    }
    for (const slot of due) {
      if (!subject.lane.hasTrueTimes && overlaps(subject.lane.disturbed, slot - 60_000, slot))
        continue;
      this.#tally.slots += 1;
      const run = bySlot.get(slot)?.[0];
      if (run?.state === 'FINAL') {
        this.#tally.finals += 1;
        if (subject.lane.hasTrueTimes && !ids.has(run.resultId ?? ''))
          this.#add('results lost', subject, `slot ${timeOf(slot)} has a result that is not there`);
      } else if (run?.state === 'MISSED') this.#countMissed(subject, run, slot);
      else if (isDelayed(subject, run, slot)) this.#tally.delayed += 1;
      else {
        const state = run === undefined ? 'nothing is known' : 'its run does not end';
        this.#add('slots lost', subject, `slot ${timeOf(slot)}: ${state}`);
      }
    }
  }

  #countMissed(subject: Subject, run: ApiRun, slot: number): void {
    const reason = run.missedReason ?? 'no reason';
    this.#tally.missed[reason] = (this.#tally.missed[reason] ?? 0) + 1;
    const { lane } = subject;
    const end = endOf(slot, subject);
    const visits = this.#facts.visits.get(subject.path) ?? [];
    const measured = visits.find(
      ({ at, endedAt, isUp }) =>
        isUp &&
        endedAt !== null &&
        at >= slot &&
        at < end &&
        !lane.isAway(at - untilDurableMs, endedAt + untilDurableMs) &&
        !overlaps(lane.lossy, at, Infinity) &&
        !overlaps(lane.disturbed, at, endedAt + untilDurableMs),
    );
    if (measured !== undefined && run.lateResults === 0) {
      this.#add(
        'results lost',
        subject,
        `slot ${timeOf(slot)} is missed (${reason}), visited at ${timeOf(measured.at)}`,
      );
      return;
    }
    if (declaredByAgents.has(reason)) return;
    if (!hasCause(subject, slot)) {
      this.#add('slots missed without a cause', subject, `slot ${timeOf(slot)}: ${reason}`);
    }
  }

  #countResults(subject: Subject, results: readonly ApiResult[]): void {
    const counted = results.filter(({ isLate }) => !isLate);
    for (const [, all] of Map.groupBy(counted, ({ checkRunId }) => checkRunId)) {
      if (all.filter(({ resultType }) => resultType === 'FINAL').length > 1)
        this.#add('slots doubled', subject, `run ${all[0]?.checkRunId} has two FINAL results`);
      if (new Set(all.map(({ attempts }) => attempts)).size < all.length)
        this.#add('slots doubled', subject, `run ${all[0]?.checkRunId} has an attempt twice`);
    }
    if (!subject.lane.hasTrueTimes) this.#countSwallowed(subject, results);
    for (const result of results) this.#judge(subject, result);
  }

  /** Without true times only numbers can be compared. An attempt that was void has a visit and no result. */
  #countSwallowed(subject: Subject, results: readonly ApiResult[]): void {
    const visits = this.#facts.visits.get(subject.path) ?? [];
    const down = visits.filter(({ isUp, endedAt }) => !isUp && endedAt !== null).length;
    const failed = results.filter(({ hasFailures }) => hasFailures).length;
    const swallowed = down - failed;
    if (swallowed > Math.max(1, down * voidShare))
      this.#add('results lost', subject, `${down} visits were refused, ${failed} results say so`);
  }

  /** Holds a verdict against what the target answered at that time. */
  #judge(subject: Subject, result: ApiResult): void {
    const from = ms(result.startedAt) - clockToleranceMs;
    const to = ms(result.stoppedAt) + clockToleranceMs;
    if (result.hasErrors || Number.isNaN(from)) {
      if (result.hasFailures) this.#add('wrong verdicts', subject, 'an agent error is a failure');
      return;
    }
    const all = this.#facts.visits.get(subject.path) ?? [];
    let visits = all.filter(({ at }) => at >= from && at <= to);
    const slot = ms(result.scheduledFor);
    if (visits.length === 0 && subject.lane.hasTrueTimes) {
      // One that was stopped after it had connected sends its request when it goes on.
      const end = subject.lane.backBy(slot, endOf(slot, subject)) + latestRunMs;
      visits = all.filter(({ at }) => at >= slot && at <= end);
      if (visits.length > 0) this.#tally.shifted += 1;
    }
    const line = missedFaults[subject.kind];
    const said = result.hasFailures ? 'failed' : result.isDegraded === true ? 'degraded' : 'passed';
    const took = `${result.responseTime ?? '?'} ms, of which the agent says that it waited ${result.agentWaitMs ?? '?'}`;
    const where = `${said} at ${timeOf(ms(result.startedAt))} after ${took}, result ${result.id}`;
    if (line !== undefined) {
      if (said !== 'failed') this.#add(line, subject, where);
      return;
    }
    if (!subject.lane.hasTrueTimes) {
      const isWrong = subject.kind === 'failing' ? said === 'passed' : said !== 'passed';
      if (isWrong && subject.kind !== 'flapping') this.#add('wrong verdicts', subject, where);
      return;
    }
    if (visits.length === 0) {
      // A connection that the target's machine was too busy to take is a failure that is true.
      if (said === 'passed') this.#add('results invented', subject, `${where}: nobody visited`);
      else if (this.#isExcused(subject, from, to)) this.#doubt(subject);
      else this.#add('wrong verdicts', subject, `${where}: nobody visited`);
      return;
    }
    const isTrue =
      said === 'failed' ? visits.some(({ isUp }) => !isUp) : visits.some(({ isUp }) => isUp);
    if (isTrue && said !== 'degraded') return;
    if (said !== 'passed' && this.#isExcused(subject, from, to)) this.#doubt(subject);
    else this.#add('wrong verdicts', subject, where);
  }

  /** Whether the target was held up for so long that its answer may have been too late. */
  #isExcused({ spareMs }: Subject, from: number, to: number): boolean {
    return this.#facts.stalls.some(
      (stall) => overlaps([stall], from, to) && turnsOfAnswer * stall.heldMs >= spareMs,
    );
  }

  #doubt(subject: Subject): void {
    this.#tally.notJudged += 1;
    this.#doubtful.add(subject);
  }

  /** What alerts there must be, from the FINAL results as they arrived. */
  #expectedAlerts(results: readonly ApiResult[]): {
    failures: number;
    recoveries: number;
    isInOrder: boolean;
  } {
    const finals = results
      .filter(
        ({ resultType, isLate, hasErrors }) => resultType === 'FINAL' && !isLate && !hasErrors,
      )
      .toSorted(
        (one, other) =>
          ms(one.created_at) - ms(other.created_at) || ms(one.startedAt) - ms(other.startedAt),
      );
    let failures = 0;
    let recoveries = 0;
    let isInOrder = true;
    let isFailing = false;
    let newest = 0;
    for (const { startedAt, hasFailures } of finals) {
      if (ms(startedAt) < newest) {
        isInOrder = false;
        continue;
      }
      newest = ms(startedAt);
      if (hasFailures && !isFailing) failures += 1;
      if (!hasFailures && isFailing) recoveries += 1;
      isFailing = hasFailures;
    }
    return { failures, recoveries, isInOrder };
  }

  #countAlerts(subject: Subject, results: readonly ApiResult[]): void {
    const { alerts, messages } = this.#facts;
    const expected =
      subject.kind === 'heartbeat'
        ? { failures: subject.isDead === true ? 1 : 0, recoveries: 0, isInOrder: true }
        : this.#expectedAlerts(results);
    const own = alerts.filter(({ checkId }) => checkId === subject.check.id);
    const sent = messages.filter(({ checkId }) => checkId === subject.check.id);
    if (subject.isDoubtful === true) this.#tally.notJudged += 1;
    if (subject.isDoubtful === true || this.#doubtful.has(subject)) return;
    const mayAlert =
      ['failing', 'flapping'].includes(subject.kind) ||
      missedFaults[subject.kind] !== undefined ||
      subject.isDead === true;
    const kinds = [
      ['ALERT_FAILURE', expected.failures],
      ['ALERT_RECOVERY', expected.recoveries],
    ] as const;
    for (const [type, wanted] of kinds) {
      const raised = own.filter(({ alertType }) => alertType === type).length;
      const ids = new Set(sent.filter((message) => message.type === type).map(({ id }) => id));
      const taken = new Set(
        sent.filter((message) => message.type === type && message.isTaken).map(({ id }) => id),
      );
      if (!mayAlert) {
        if (raised + ids.size > 0) {
          const at = own
            .filter(({ alertType }) => alertType === type)
            .map((each) => each.created_at);
          this.#add('false alerts', subject, `${type} at ${at.join(', ')}`);
        }
        continue;
      }
      const described = `${type}: ${raised} instead of ${wanted}`;
      if (raised > wanted) this.#add('doubled alerts', subject, described);
      // A failure that arrived after a newer pass may or may not count, as its times have it.
      if (raised < wanted && expected.isInOrder) this.#add('missing alerts', subject, described);
      if (taken.size < raised)
        this.#add('missing messages', subject, `${type}: ${taken.size} of ${raised}`);
      if (ids.size > raised)
        this.#add('doubled messages', subject, `${type}: ${ids.size} instead of ${raised}`);
    }
    const others = own.filter(({ alertType }) => !/^ALERT_(FAILURE|RECOVERY)$/.test(alertType));
    for (const { alertType } of others) this.#add('false alerts', subject, alertType);
  }

  /** A message that was taken arrives again only when something was interrupted meanwhile. */
  #countRepeats(): void {
    const { messages, subjects, interruptions } = this.#facts;
    const bySubject = new Map(subjects.map((subject) => [subject.check.id, subject]));
    for (const [, tries] of Map.groupBy(messages, ({ id }) => id)) {
      const taken = tries.filter(({ isTaken }) => isTaken);
      for (const [index, again] of taken.slice(1).entries()) {
        const before = taken[index]?.at ?? again.at;
        const subject = bySubject.get(again.checkId);
        const from = Math.max(before - 30_000, again.at - repeatsWithinMs);
        if (overlaps(interruptions, from, again.at)) this.#tally.repeated += 1;
        else if (subject !== undefined)
          this.#add('doubled messages', subject, `${again.type} arrived again, ${again.id}`);
      }
    }
  }
}

export const count = (facts: Facts): Tally => new Counting(facts).count();

/** Slots up to an instant that have no end yet, without those that nobody waits for. */
export function openSlots({
  subjects,
  until,
  runs,
}: Pick<Facts, 'subjects' | 'until' | 'runs'>): number {
  const known = new Map(runs.map((run) => [`${run.checkId}@${ms(run.scheduledFor)}`, run]));
  const ofSubject = (subject: Subject): number =>
    [...slotsUntil([subject.check], until)].filter((key) => {
      const run = known.get(key);
      if (run !== undefined && run.state !== 'RUNNING') return false;
      return !isDelayed(subject, run, Number(key.split('@')[1]));
    }).length;
  return subjects
    .filter(({ kind }) => kind !== 'heartbeat')
    .reduce((sum, subject) => sum + ofSubject(subject), 0);
}
