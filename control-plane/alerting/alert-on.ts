/**
 * Evaluates alerts for the FINAL results of a commit, inside that commit: a decision is as durable
 * as the results it is based on. A pass of a check without alert state costs nothing.
 */
import type { Db } from '../db/tables.ts';
import { explainReason } from './decide/explain.ts';
import type { AlertState } from './decide/state.ts';
import { stepAlert, type AlertEvent, type RunEvent, type Step } from './decide/step.ts';
import type { Outcome } from './decide/tick.ts';
import { wakeOutbox } from '../notifications/index.ts';
import type { Services } from '../core/services.ts';
import { AlertedChecks, type AlertedCheck } from './alerted-checks.ts';
import { applyEffects } from './apply-effects.ts';
import { insertDecision } from './decision-rows.ts';
import { stateBefore, stateBeforeTick } from './initial-state.ts';
import { findVerdict, type ResultConsumer, type RunVerdict } from '../results/index.ts';
import { Mutes } from './mutes.ts';
import { forgetState, readStates, writeState } from './state-rows.ts';
import { outcomeOf } from './tick-results.ts';
import { tickEventOf } from './tick-event.ts';

const severity: readonly Outcome[] = ['passing', 'inconclusive', 'degraded', 'failing'];

function worstOf(verdicts: readonly RunVerdict[]): RunVerdict | undefined {
  const rank = (verdict: RunVerdict) => severity.indexOf(outcomeOf(verdict));
  return [...verdicts].sort((a, b) => rank(b) - rank(a))[0];
}

function toRun(verdict: RunVerdict, isInMaintenance: boolean, now: number): RunEvent {
  const { resultId, scheduledFor } = verdict;
  return {
    kind: 'run',
    resultId,
    outcome: outcomeOf(verdict),
    // The clock of an agent may be ahead. A result is never newer than the present.
    startedAt: Math.min(verdict.startedAt, now),
    stoppedAt: Math.min(verdict.stoppedAt, now),
    isInMaintenance,
    isTriggered: scheduledFor === null,
  };
}

/** Evaluation of the results of one commit. */
class Commit {
  readonly #services: Services;
  readonly #db: Db;
  readonly #mutes: Mutes;
  readonly #checks: AlertedChecks;
  /** The state of each check after the commit. It is written once, however many results there are. */
  readonly #outcomes = new Map<string, { step: Step; accountId: string; state: AlertState }>();
  isQueued = false;

  constructor(services: Services, db: Db) {
    this.#services = services;
    this.#db = db;
    this.#mutes = new Mutes(db, services.clock.now());
    this.#checks = new AlertedChecks(db, this.#mutes);
  }

  async take(
    accountId: string,
    checkId: string,
    verdicts: readonly RunVerdict[],
    known: AlertState | undefined,
  ): Promise<void> {
    const check = await this.#checks.find(accountId, checkId);
    if (check === undefined) return;
    if (!check.isActive) {
      await this.#dismiss(check, verdicts);
      return;
    }
    const inOrder = verdicts.toSorted((a, b) => a.startedAt - b.startedAt);
    if (!check.rules.isParallel) {
      const state = known ?? (await this.#stateBefore(inOrder));
      await this.#runs(check, state, inOrder);
      return;
    }
    const triggered = inOrder.filter(({ scheduledFor }) => scheduledFor === null);
    const ticks = Map.groupBy(
      inOrder.filter(({ scheduledFor }) => scheduledFor !== null),
      ({ scheduledFor }) => scheduledFor ?? 0,
    );
    let state = known;
    for (const scheduledFor of [...ticks.keys()].sort((a, b) => a - b)) {
      state ??= await stateBeforeTick(
        this.#db,
        { accountId, checkId, scheduledFor },
        check.locations.length,
        [...ticks.keys()],
        this.#services.clock.now(),
      );
      state = await this.#tick(check, state, scheduledFor, ticks.get(scheduledFor) ?? []);
    }
    if (triggered.length > 0) {
      await this.#runs(check, state ?? (await this.#stateBefore(triggered)), triggered);
    }
  }

  /** Writes the states of all checks. */
  async finish(): Promise<void> {
    const now = this.#services.clock.now();
    for (const [checkId, { accountId, state, step }] of this.#outcomes) {
      await writeState(this.#db, { accountId, checkId, now }, state, step.wakeAt);
    }
  }

  /** A deactivated check alerts about none of its late results. */
  async #dismiss(check: AlertedCheck, verdicts: readonly RunVerdict[]): Promise<void> {
    const { account_id: accountId, id: checkId } = check.row;
    await forgetState(this.#db, checkId);
    for (const { resultId } of verdicts.filter((verdict) => outcomeOf(verdict) !== 'passing')) {
      await insertDecision(
        this.#db,
        { id: this.#services.newId(), now: this.#services.clock.now() },
        {
          accountId,
          checkId,
          checkResultId: resultId,
          cause: 'RUN',
          alertType: 'NO_ALERT',
          reason: 'DEACTIVATED',
          isSent: false,
          details: {
            explanation: explainReason('DEACTIVATED'),
            decision: null,
            rules: check.rules,
            addressees: [],
          },
          checkAlertId: null,
        },
      );
    }
  }

  /** The alert state before the first result that can change it. */
  async #stateBefore(inOrder: readonly RunVerdict[]): Promise<AlertState | undefined> {
    const first = inOrder.find((verdict) => outcomeOf(verdict) !== 'passing');
    if (first === undefined) return undefined;
    return stateBefore(
      this.#db,
      first,
      inOrder.map(({ resultId }) => resultId),
      this.#services.clock.now(),
    );
  }

  async #runs(
    check: AlertedCheck,
    from: AlertState | undefined,
    verdicts: readonly RunVerdict[],
  ): Promise<void> {
    let state = from;
    if (state === undefined) return;
    const { account_id: accountId, id: checkId } = check.row;
    const now = this.#services.clock.now();
    for (const verdict of verdicts) {
      const isInMaintenance = await this.#mutes.wasInMaintenance(
        accountId,
        checkId,
        verdict.startedAt,
      );
      state = await this.#step(check, state, toRun(verdict, isInMaintenance, now), verdict);
    }
  }

  async #tick(
    check: AlertedCheck,
    state: AlertState,
    scheduledFor: number,
    verdicts: readonly RunVerdict[],
  ): Promise<AlertState> {
    const worst = worstOf(verdicts);
    if (worst === undefined) return state;
    const event = await tickEventOf(
      { services: this.#services, db: this.#db, mutes: this.#mutes },
      check,
      state,
      scheduledFor,
      { resultId: worst.resultId, outcome: outcomeOf(worst) },
    );
    return this.#step(check, state, event, worst);
  }

  async #step(
    check: AlertedCheck,
    state: AlertState,
    event: AlertEvent,
    about: RunVerdict,
  ): Promise<AlertState> {
    const now = this.#services.clock.now();
    const step = stepAlert(state, event, check.rules, now);
    const { account_id: accountId, id: checkId } = check.row;
    const verdictOf = async (id: string) =>
      id === about.resultId ? about : ((await findVerdict(this.#db, accountId, id)) ?? null);
    const after = await applyEffects(
      this.#services,
      this.#db,
      check,
      step,
      about.resultId,
      verdictOf,
    );
    this.isQueued ||= after.isQueued;
    if (after.state !== state) {
      this.#outcomes.set(checkId, { accountId, state: after.state, step });
    }
    return after.state;
  }
}

/** Evaluates alerts for FINAL results, in the transaction that stores them. */
export const alertOn: ResultConsumer = async (services, db, { verdicts }) => {
  if (verdicts.length === 0) return null;
  const checkIds = [...new Set(verdicts.map(({ checkId }) => checkId))];
  const states = await readStates(db, checkIds);
  const ofInterest = new Set(
    checkIds
      .filter((id) => states.has(id))
      .concat(
        verdicts.filter((each) => outcomeOf(each) !== 'passing').map(({ checkId }) => checkId),
      ),
  );
  if (ofInterest.size === 0) return null;
  const commit = new Commit(services, db);
  const byCheck = Map.groupBy(
    verdicts.filter(({ checkId }) => ofInterest.has(checkId)),
    ({ checkId }) => checkId,
  );
  for (const [checkId, ofCheck] of byCheck) {
    const accountId = ofCheck[0]?.accountId ?? '';
    await commit.take(accountId, checkId, ofCheck, states.get(checkId));
  }
  await commit.finish();
  return wakeOutbox(services, commit.isQueued);
};
