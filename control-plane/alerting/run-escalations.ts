/** Runs the steps of escalation policies that are due. Without policies, it finds nothing in an empty table. */
import { lockChecks } from '../checks/index.ts';
import type { Services } from '../core/services.ts';
import { fromJson } from '../db/columns.ts';
import { prepareQuery } from '../db/prepared.ts';
import type { Db } from '../db/tables.ts';
import { inTransaction } from '../db/unit.ts';
import type { AlertFacts } from '../notifications/index.ts';
import { normalizeEmail } from '../people/index.ts';
import { acknowledgementOf } from './acknowledge.ts';
import { AlertedChecks, type AlertedCheck } from './alerted-checks.ts';
import { alertTypeOf, subjectOf } from './decide/decision.ts';
import { nextStep, stepText, type PolicyFields, type PolicyStep } from './decide/escalation.ts';
import { onCallAt } from './decide/rotation.ts';
import type { OpenAlert } from './decide/state.ts';
import {
  changePolicy,
  endEscalation,
  type EscalationRow,
  membersWith,
  notePolicy,
  type Notified,
  type NotifiedPerson,
  notifyAll,
  stopEscalation,
  takeEscalation,
} from './escalate.ts';
import { fieldsOfPolicy, findPolicy } from './escalation-policies/store.ts';
import { Mutes } from './mutes.ts';
import { readStates } from './state-rows.ts';
import { type AlertChannel, channelsById } from './subscribed-channels.ts';

const checksPerSweep = 200;
/** A check whose steps cannot be run is tried again after this time. */
const retryMs = 60_000;
/** How often a check in maintenance is looked at: the window may be shortened. */
const lookAgainMs = 5 * 60_000;

/** Runs every second and usually finds nothing. */
const dueChecks = prepareQuery<{ now: number }, { check_id: string }>((db, argument) =>
  db
    .selectFrom('escalations')
    .select('check_id')
    .where('due_at', '<=', argument('now'))
    .groupBy('check_id')
    .orderBy((of) => of.fn.min('due_at'))
    .limit(checksPerSweep),
);

interface Targets {
  channels: AlertChannel[];
  people: NotifiedPerson[];
  /** In words. */
  leftOut: string[];
}

/** The work on one check, under its lock. */
class CheckSweep {
  readonly #services: Services;
  readonly #db: Db;
  readonly #now: number;
  readonly #mutes: Mutes;

  constructor(services: Services, db: Db, now: number) {
    this.#services = services;
    this.#db = db;
    this.#now = now;
    this.#mutes = new Mutes(db, now);
  }

  async run(checkId: string): Promise<void> {
    if ((await lockChecks(this.#db, [checkId])).length === 0) return;
    // Another replica may have run them before it gave the check back.
    const rows = await this.#db
      .selectFrom('escalations')
      .selectAll()
      .where('check_id', '=', checkId)
      .where('due_at', '<=', this.#now)
      .orderBy('due_at')
      .execute();
    const checks = new AlertedChecks(this.#db, this.#mutes);
    for (const row of rows) {
      const check = await checks.find(row.account_id, checkId);
      if (check === undefined) await this.#set(row, { due_at: null });
      else await this.#run(row, check);
    }
  }

  async #run(row: EscalationRow, check: AlertedCheck): Promise<void> {
    const { account_id: accountId, check_id: checkId, incident_key: incidentKey } = row;
    const { mute } = check.rules;
    const alert = (await readStates(this.#db, [checkId])).get(checkId)?.alert ?? null;
    const isOpen = alert?.key === incidentKey;
    if (!isOpen && check.isActive && mute?.reason !== 'MUTED') return this.#end(row, check);
    const why = await this.#whyStopped(row, check, isOpen ? alert : null);
    if (why !== null) return this.#stop(row, why);
    if (check.escalationPolicyId !== row.policy_id) {
      return changePolicy(this.#services, this.#db, row, check.escalationPolicyId);
    }
    const stored = await findPolicy(this.#db, accountId, row.policy_id);
    if (stored === undefined) return this.#stop(row, 'the policy was deleted');
    if (mute?.reason === 'MAINTENANCE') {
      // The end of the window alone does not show whether the check still fails: its next run does.
      const window = await this.#mutes.now(accountId, checkId);
      const isLong = window?.reason === 'MAINTENANCE' && window.until > this.#now + lookAgainMs;
      const until = isLong ? this.#now + lookAgainMs : mute.until;
      return this.#set(row, { due_at: Math.max(until, this.#now + 1_000) });
    }
    const policy = fieldsOfPolicy(stored);
    const next = nextStep(policy, row.step, this.#now);
    if (next === null) return this.#set(row, { due_at: null });
    await this.#step(row, check, policy, next);
  }

  async #whyStopped(
    row: EscalationRow,
    check: AlertedCheck,
    alert: OpenAlert | null,
  ): Promise<string | null> {
    const { check_id: checkId, incident_key: incidentKey } = row;
    if (alert === null || alert.isOver) return 'recovered';
    if (alert.acknowledged !== undefined) {
      const taken = await acknowledgementOf(this.#db, { checkId, incidentKey });
      return `acknowledged by ${taken?.made_by ?? 'somebody'}`;
    }
    if (!check.isActive) return 'the check is not activated';
    return check.rules.mute?.reason === 'MUTED' ? 'the check is muted' : null;
  }

  #stop(row: EscalationRow, why: string): Promise<void> {
    const { check_id: checkId, incident_key: incidentKey } = row;
    return stopEscalation(this.#services, this.#db, { checkId, incidentKey, now: this.#now }, why);
  }

  /** A replica of an older build has closed the alert, and notified only the channels of the check. */
  async #end(row: EscalationRow, check: AlertedCheck): Promise<void> {
    const { check_id: checkId, incident_key: incidentKey } = row;
    await takeEscalation(this.#db, { checkId, incidentKey });
    const { alsoFailing: _, ...facts } = fromJson<AlertFacts>(row.facts_json);
    const was = subjectOf(facts.alertType) === 'degraded' ? 'degraded' : 'failing';
    const recovery: AlertFacts = {
      ...facts,
      alertType: alertTypeOf(was, 'passing'),
      at: this.#now,
      result: null,
      recentRuns: [],
    };
    await endEscalation(this.#services, this.#db, row, recovery, check.host, new Set());
  }

  async #step(
    row: EscalationRow,
    check: AlertedCheck,
    policy: PolicyFields,
    { step, number }: { step: PolicyStep; number: number },
  ): Promise<void> {
    const { account_id: accountId } = row;
    const { channels, people, leftOut } = await this.#targetsOf(accountId, policy, step);
    const facts: AlertFacts = {
      ...fromJson<AlertFacts>(row.facts_json),
      at: this.#now,
      escalation: { policy: policy.name, step: number },
    };
    const occasion = `${row.started_at}/${row.step}`;
    const to = { channels, people };
    await notifyAll(this.#services, this.#db, accountId, facts, check.host, to, occasion);
    const notified = fromJson<Notified>(row.notified_json);
    const emails = people.map(({ email }) => email);
    await this.#set(row, {
      step: row.step + 1,
      due_at: nextStep(policy, row.step + 1, this.#now)?.dueAt ?? null,
      notified_json: JSON.stringify({
        channels: [...new Set([...notified.channels, ...channels.map(({ id }) => id)])],
        people: [...new Set([...notified.people, ...emails])],
      } satisfies Notified),
    });
    await notePolicy(
      this.#db,
      { id: this.#services.newId(), now: this.#now },
      accountId,
      facts,
      'POLICY_STEP',
      stepText(
        policy.name,
        number,
        [...channels.map(({ id, type }) => `channel ${id} (${type})`), ...emails],
        leftOut,
      ),
      channels.length + people.length === 0
        ? null
        : channels.map(({ id, type }) => ({ id, type, reason: 'WANTED' })),
    );
  }

  /** Channels and people that do not exist any more are left out. */
  async #targetsOf(accountId: string, policy: PolicyFields, step: PolicyStep): Promise<Targets> {
    const channels = await channelsById(this.#db, accountId, step.alertChannelIds);
    const known = new Set(channels.map(({ id }) => id));
    const leftOut = step.alertChannelIds
      .filter((id) => !known.has(id))
      .map((id) => `channel ${id}, which was deleted`);
    const asked = new Set(step.people.map((email) => normalizeEmail(email)));
    if (step.onCall) {
      const person = policy.rotation && onCallAt(policy.rotation, this.#now);
      if (person === null) leftOut.push('the rotation, which has nobody on call');
      else asked.add(normalizeEmail(person));
    }
    const members = await membersWith(this.#db, accountId, asked);
    const byEmail = new Map(members.map((person) => [person.email, person]));
    const people: NotifiedPerson[] = [];
    for (const email of asked) {
      const person = byEmail.get(email);
      if (person !== undefined) people.push(person);
      else leftOut.push(`${email}, who is not of this account any more`);
    }
    return { channels, people, leftOut };
  }

  async #set(
    { check_id: checkId, incident_key: incidentKey }: EscalationRow,
    changes: Partial<EscalationRow>,
  ): Promise<void> {
    await this.#db
      .updateTable('escalations')
      .set(changes)
      .where('check_id', '=', checkId)
      .where('incident_key', '=', incidentKey)
      .execute();
  }
}

/** Runs what is due, each step once. True when there may be more. */
export async function runEscalations(services: Services): Promise<boolean> {
  const { db, clock, outbox } = services;
  const now = clock.now();
  const due = await dueChecks.run(db, { now });
  const failures: unknown[] = [];
  for (const { check_id: checkId } of due) {
    try {
      await inTransaction(db, (unit) => new CheckSweep(services, unit, now).run(checkId));
      outbox.wake();
    } catch (error) {
      // A check whose steps cannot be run does not hold up the others.
      failures.push(error);
      await db
        .updateTable('escalations')
        .set({ due_at: now + retryMs })
        .where('check_id', '=', checkId)
        .where('due_at', '<=', now)
        .execute();
    }
  }
  if (failures.length > 0) throw failures[0];
  return due.length === checksPerSweep;
}
