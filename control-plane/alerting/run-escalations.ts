/** Runs the steps of escalation policies that are due. Without policies, it finds nothing in an empty table. */
import type { Kysely } from 'kysely';
import { lockChecks } from '../checks/index.ts';
import type { Services } from '../core/services.ts';
import { fromJson } from '../db/columns.ts';
import { eachOf } from '../db/expressions.ts';
import { prepareQuery } from '../db/prepared.ts';
import type { Database } from '../db/tables.ts';
import { inTransaction } from '../db/unit.ts';
import type { AlertFacts } from '../notifications/index.ts';
import { listMembers, normalizeEmail } from '../people/index.ts';
import { acknowledgementOf } from './acknowledge.ts';
import { AlertedChecks, type AlertedCheck } from './alerted-checks.ts';
import { nextStep, stepText, type PolicyFields, type PolicyStep } from './decide/escalation.ts';
import { onCallAt } from './decide/rotation.ts';
import {
  type EscalationRow,
  notePolicy,
  type Notified,
  notifyAll,
  stopEscalation,
} from './escalate.ts';
import { fieldsOfPolicy, findPolicy } from './escalation-policies/store.ts';
import { Mutes } from './mutes.ts';
import { readStates } from './state-rows.ts';
import { type AlertChannel, channelsById } from './subscribed-channels.ts';

const checksPerSweep = 200;

/** Runs every second and usually finds nothing. */
const anyDue = prepareQuery<{ now: number }, { check_id: string }>((db, argument) =>
  db.selectFrom('escalations').select('check_id').where('due_at', '<=', argument('now')).limit(1),
);

interface Targets {
  channels: AlertChannel[];
  people: string[];
  /** In words. */
  leftOut: string[];
}

class Sweep {
  readonly #services: Services;
  readonly #db: Kysely<Database>;
  readonly #now: number;
  readonly #checks: AlertedChecks;
  /** Addresses of people, by account. */
  readonly #members = new Map<string, Set<string>>();

  constructor(services: Services, db: Kysely<Database>, now: number) {
    this.#services = services;
    this.#db = db;
    this.#now = now;
    this.#checks = new AlertedChecks(db, new Mutes(db, now));
  }

  async run(row: EscalationRow): Promise<void> {
    const { account_id: accountId, check_id: checkId, incident_key: incidentKey } = row;
    const check = await this.#checks.find(accountId, checkId);
    if (check === undefined) return this.#set(row, { due_at: null });
    const why = await this.#whyStopped(row, check);
    if (why !== null) {
      return stopEscalation(
        this.#services,
        this.#db,
        { checkId, incidentKey, now: this.#now },
        why,
      );
    }
    const { mute } = check.rules;
    if (mute?.reason === 'MAINTENANCE') {
      return this.#set(row, { due_at: Math.max(mute.until, this.#now + 1_000) });
    }
    const stored = await findPolicy(this.#db, accountId, row.policy_id);
    const policy = stored && fieldsOfPolicy(stored);
    const next = policy && nextStep(policy, row.step, this.#now);
    if (policy === undefined || next == null) return this.#set(row, { due_at: null });
    await this.#step(row, check, policy, next);
  }

  async #whyStopped(row: EscalationRow, check: AlertedCheck): Promise<string | null> {
    const { check_id: checkId, incident_key: incidentKey } = row;
    const alert = (await readStates(this.#db, [checkId])).get(checkId)?.alert ?? null;
    if (alert === null || alert.key !== incidentKey || alert.isOver) return 'recovered';
    if (alert.acknowledged !== undefined) {
      const taken = await acknowledgementOf(this.#db, { checkId, incidentKey });
      return `acknowledged by ${taken?.made_by ?? 'somebody'}`;
    }
    if (!check.isActive) return 'the check is not activated';
    if (check.rules.mute?.reason === 'MUTED') return 'the check is muted';
    const policy = await findPolicy(this.#db, row.account_id, row.policy_id);
    return policy === undefined ? 'the policy was deleted' : null;
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
    await this.#set(row, {
      step: row.step + 1,
      due_at: nextStep(policy, row.step + 1, this.#now)?.dueAt ?? null,
      notified_json: JSON.stringify({
        channels: [...new Set([...notified.channels, ...channels.map(({ id }) => id)])],
        people: [...new Set([...notified.people, ...people])],
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
        [...channels.map(({ id, type }) => `channel ${id} (${type})`), ...people],
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
    const people: string[] = [];
    for (const email of asked) {
      if (await this.#isMember(accountId, email)) people.push(email);
      else leftOut.push(`${email}, who is not of this account any more`);
    }
    return { channels, people, leftOut };
  }

  async #isMember(accountId: string, email: string): Promise<boolean> {
    let members = this.#members.get(accountId);
    if (members === undefined) {
      members = new Set((await listMembers(this.#db, accountId)).map((member) => member.email));
      this.#members.set(accountId, members);
    }
    return members.has(email);
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
  const now = services.clock.now();
  if ((await anyDue.run(services.db, { now })).length === 0) return false;
  const isBehind = await inTransaction(services.db, async (db) => {
    const due = await db
      .selectFrom('escalations')
      .select('check_id')
      .where('due_at', '<=', now)
      .orderBy('due_at')
      .limit(checksPerSweep)
      .execute();
    const checkIds = await lockChecks(db, [...new Set(due.map((row) => row.check_id))]);
    // Another replica may have run them before it gave the checks back.
    const rows = await db
      .selectFrom('escalations')
      .selectAll()
      .where('check_id', 'in', eachOf(checkIds))
      .where('due_at', '<=', now)
      .orderBy('due_at')
      .execute();
    const sweep = new Sweep(services, db, now);
    for (const row of rows) await sweep.run(row);
    return due.length === checksPerSweep;
  });
  services.outbox.wake();
  return isBehind;
}
