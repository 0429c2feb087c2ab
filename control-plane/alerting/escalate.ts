/** Begins, stops and ends the escalation of an alert. The caller has locked the check. */
import { namedUuid } from '../core/keys.ts';
import type { Services } from '../core/services.ts';
import { fromJson } from '../db/columns.ts';
import type { Db, RowOf } from '../db/tables.ts';
import {
  type AlertFacts,
  alertMail,
  enqueueMessages,
  keepsOpen,
  pushesTo,
} from '../notifications/index.ts';
import { listMembers } from '../people/index.ts';
import { AlertedChecks } from './alerted-checks.ts';
import { nextStep, stopText } from './decide/escalation.ts';
import { insertDecision } from './decision-rows.ts';
import type { Addressee } from './decide/channels.ts';
import { fieldsOfPolicy, findPolicy } from './escalation-policies/store.ts';
import { Mutes } from './mutes.ts';
import { notifyChannel } from './notify-channel.ts';
import { type AlertChannel, channelsById } from './subscribed-channels.ts';

interface Outage {
  checkId: string;
  incidentKey: string;
}

export type EscalationRow = RowOf<'escalations'>;

/** Who was notified by steps, and is notified of the recovery. */
export interface Notified {
  channels: number[];
  people: string[];
}

const nobody: Notified = { channels: [], people: [] };

/** The record of a step, or of the end of the steps. */
export async function notePolicy(
  db: Db,
  { id, now }: { id: string; now: number },
  accountId: string,
  facts: AlertFacts,
  reason: 'POLICY_STEP' | 'POLICY_STOPPED',
  explanation: string,
  addressees: readonly Addressee[] | null = null,
): Promise<void> {
  await insertDecision(
    db,
    { id, now },
    {
      accountId,
      checkId: facts.check.id,
      checkResultId: null,
      cause: 'POLICY',
      alertType: facts.alertType,
      reason,
      isSent: addressees !== null,
      details: { explanation, decision: null, rules: null, addressees: addressees ?? [] },
      checkAlertId: facts.alertId,
    },
  );
}

/**
 * A change that alerts again goes on with the steps. It begins them again after they were stopped, and
 * where the check has another policy.
 */
export async function startEscalation(
  { newId, clock }: Pick<Services, 'newId' | 'clock'>,
  db: Db,
  accountId: string,
  policyId: string,
  facts: AlertFacts,
): Promise<void> {
  const now = clock.now();
  const policy = await findPolicy(db, accountId, policyId);
  const first = policy && nextStep(fieldsOfPolicy(policy), 0, now);
  if (first == null) {
    const text = 'The escalation policy of this check was deleted: nobody is notified by it.';
    await notePolicy(db, { id: newId(), now }, accountId, facts, 'POLICY_STOPPED', text);
    return;
  }
  const running = await db
    .selectFrom('escalations')
    .select(['due_at', 'policy_id'])
    .where('check_id', '=', facts.check.id)
    .where('incident_key', '=', facts.incidentKey)
    .executeTakeFirst();
  const begun = { policy_id: policyId, step: 0, started_at: now, due_at: first.dueAt };
  const goesOn = running != null && running.due_at !== null && running.policy_id === policyId;
  const changes = { facts_json: JSON.stringify(facts), ...(goesOn ? {} : begun) };
  if (running === undefined) {
    await db
      .insertInto('escalations')
      .values({
        ...begun,
        ...changes,
        check_id: facts.check.id,
        incident_key: facts.incidentKey,
        account_id: accountId,
        notified_json: JSON.stringify(nobody),
      })
      .execute();
    return;
  }
  await db
    .updateTable('escalations')
    .set(changes)
    .where('check_id', '=', facts.check.id)
    .where('incident_key', '=', facts.incidentKey)
    .execute();
}

/** Runs no further step. Those who were notified get the recovery. */
export async function stopEscalation(
  { newId }: Pick<Services, 'newId'>,
  db: Db,
  { checkId, incidentKey, now }: Outage & { now: number },
  why: string,
): Promise<void> {
  const row = await db
    .updateTable('escalations')
    .set({ due_at: null })
    .where('check_id', '=', checkId)
    .where('incident_key', '=', incidentKey)
    .where('due_at', 'is not', null)
    .returningAll()
    .executeTakeFirst();
  if (row === undefined) return;
  const policy = await findPolicy(db, row.account_id, row.policy_id);
  const facts = fromJson<AlertFacts>(row.facts_json);
  const text = stopText(policy?.name ?? row.policy_id, why);
  await notePolicy(db, { id: newId(), now }, row.account_id, facts, 'POLICY_STOPPED', text);
}

/** Runs no further step of a policy that the check does not have any more. Another one begins. */
export async function changePolicy(
  services: Pick<Services, 'newId' | 'clock'>,
  db: Db,
  { account_id: accountId, check_id: checkId, ...row }: EscalationRow,
  policyId: string | null,
): Promise<void> {
  const outage = { checkId, incidentKey: row.incident_key, now: services.clock.now() };
  const what = policyId === null ? 'no policy any more' : 'another policy';
  await stopEscalation(services, db, outage, `the check has ${what}`);
  if (policyId === null) return;
  await startEscalation(services, db, accountId, policyId, fromJson<AlertFacts>(row.facts_json));
}

/** After a change of a check or of its group: what escalates follows the policy that it has now. */
export async function followPolicy(
  services: Services,
  db: Db,
  { accountId, checkId }: { accountId: string; checkId: string },
): Promise<void> {
  const running = await db
    .selectFrom('escalations')
    .selectAll()
    .where('check_id', '=', checkId)
    .where('due_at', 'is not', null)
    .execute();
  if (running.length === 0) return;
  const checks = new AlertedChecks(db, new Mutes(db, services.clock.now()));
  const { escalationPolicyId = null } = (await checks.find(accountId, checkId)) ?? {};
  for (const row of running) {
    if (row.policy_id !== escalationPolicyId) {
      await changePolicy(services, db, row, escalationPolicyId);
    }
  }
}

export async function isEscalated(db: Db, { checkId, incidentKey }: Outage): Promise<boolean> {
  const row = await db
    .selectFrom('escalations')
    .select('check_id')
    .where('check_id', '=', checkId)
    .where('incident_key', '=', incidentKey)
    .executeTakeFirst();
  return row !== undefined;
}

/** Removes the escalation of an outage that is over; undefined without one. */
export function takeEscalation(
  db: Db,
  { checkId, incidentKey }: Outage,
): Promise<EscalationRow | undefined> {
  return db
    .deleteFrom('escalations')
    .where('check_id', '=', checkId)
    .where('incident_key', '=', incidentKey)
    .returningAll()
    .executeTakeFirst();
}

export interface NotifiedPerson {
  id: string;
  email: string;
}

/** The people of an account with these addresses. */
export async function membersWith(
  db: Db,
  accountId: string,
  emails: ReadonlySet<string>,
): Promise<NotifiedPerson[]> {
  if (emails.size === 0) return [];
  return (await listMembers(db, accountId)).filter(({ email }) => emails.has(email));
}

/** Adds an alert for channels, people and their devices to the outbox; ids follow from the occasion. */
export async function notifyAll(
  { publicUrl, secrets, clock }: Pick<Services, 'publicUrl' | 'secrets' | 'clock'>,
  db: Db,
  accountId: string,
  facts: AlertFacts,
  host: string | null,
  { channels, people }: { channels: readonly AlertChannel[]; people: readonly NotifiedPerson[] },
  occasion: string,
): Promise<void> {
  const now = clock.now();
  const { check, incidentKey } = facts;
  const idFor = (to: string | number): string =>
    namedUuid([check.id, incidentKey, 'escalation', occasion, to].join('/'));
  for (const channel of channels) {
    await notifyChannel(db, channel, facts, host, { id: idFor(channel.id), accountId, now });
  }
  const mails = people.map((person) => ({
    id: idFor(person.email),
    orderingKey: `${check.id}/${person.email}`,
    mail: alertMail({ secrets, publicUrl }, facts, accountId, person),
  }));
  const pushes = await pushesTo(db, accountId, people, facts, idFor);
  await enqueueMessages(db, accountId, [...mails, ...pushes], now);
}

/** Says the recovery to those whom steps have notified; `except` get it anyway. */
export async function endEscalation(
  services: Services,
  db: Db,
  row: EscalationRow,
  facts: AlertFacts,
  host: string | null,
  except: ReadonlySet<number>,
): Promise<void> {
  const { account_id: accountId } = row;
  const notified = fromJson<Notified>(row.notified_json);
  const channels = (
    await channelsById(
      db,
      accountId,
      notified.channels.filter((id) => !except.has(id)),
    )
  ).filter(({ sendRecovery, type }) => sendRecovery || keepsOpen(type));
  // Former members of the account are not notified.
  const people = await membersWith(db, accountId, new Set(notified.people));
  const to = { channels, people };
  await notifyAll(services, db, accountId, facts, host, to, `end/${row.started_at}`);
  if (row.due_at === null) return;
  const policy = await findPolicy(db, accountId, row.policy_id);
  const why = facts.withdrawn == null ? 'recovered' : `the check was ${facts.withdrawn}`;
  const text = stopText(policy?.name ?? row.policy_id, why);
  const decision = { id: services.newId(), now: services.clock.now() };
  await notePolicy(db, decision, accountId, facts, 'POLICY_STOPPED', text);
}
