/**
 * Refuses references to objects that the account does not have. The objects stay until the
 * transaction ends.
 */
import { isFields } from '@monitor/shared/fields.ts';
import type { ClientCertificateChoice } from '@monitor/shared/contract/checks/check-type.ts';
import { hasEscalationPolicy } from '../accounts/index.ts';
import { invalidField } from '../errors/api-error.ts';
import { eachOf, jsonFlag, jsonValue, withJsonText } from '../db/expressions.ts';
import { keepRows } from '../db/lock.ts';
import { ownRows, updateOwnRows } from '../db/own-rows.ts';
import type { Db } from '../db/tables.ts';
import { lockChecks } from './lock-checks.ts';

interface References {
  privateLocations?: string[] | null;
  setupSnippetId?: number | null;
  tearDownSnippetId?: number | null;
  triggerIncident?: { serviceId: string } | null;
  alertSettings?: { escalationPolicyId?: string | null } | null;
}

async function checkPrivateLocations(
  db: Db,
  accountId: string,
  slugs: readonly string[],
): Promise<void> {
  const known = await keepRows(
    db
      .selectFrom('private_locations')
      .select('slug_name')
      .where('account_id', '=', accountId)
      .where('slug_name', 'in', slugs),
  ).execute();
  const unknown = slugs.filter((slug) => !known.some((row) => row.slug_name === slug));
  if (unknown.length > 0) {
    throw invalidField('privateLocations', `has no private location ${unknown.join(', ')}`);
  }
}

async function checkSnippet(db: Db, accountId: string, field: string, id: number): Promise<void> {
  await keepRows(
    db.selectFrom('snippets').select('id').where('account_id', '=', accountId).where('id', '=', id),
  ).executeTakeFirstOrThrow(() => invalidField(field, `has no snippet ${id}`));
}

/** Refuses a client certificate that a check names and the account does not have. */
export async function requireClientCertificate(
  db: Db,
  accountId: string,
  choice: ClientCertificateChoice,
): Promise<void> {
  if (typeof choice === 'string' || !('id' in choice)) return;
  const known = await keepRows(
    db
      .selectFrom('client_certificates')
      .select('id')
      .where('account_id', '=', accountId)
      .where('id', '=', choice.id),
  ).executeTakeFirst();
  if (known !== undefined) return;
  const problem = `has no client certificate ${choice.id}`;
  throw invalidField('request.sslClientCertificateId', problem);
}

/** A user of something that is hidden while its deletion can be undone, for the refusal to delete that. */
export function noteHeld(users: readonly { is_trial?: number }[]): string {
  const isHeld = users.some((user) => user.is_trial === 2);
  return isHeld ? ' (counting deleted checks that can be undone, see GET /v1/deletions)' : '';
}

const policyInBody = () => jsonValue<string>('body_json', '$.alertSettings.escalationPolicyId');

/** The checks and groups that name one of these escalation policies. A trial is gone soon. */
export async function usersOfPolicies(db: Db, accountId: string, ids: readonly string[]) {
  const groups = db
    .selectFrom('check_groups')
    .select(['id', 'name', policyInBody().as('policyId')])
    .where('account_id', '=', accountId)
    .where(policyInBody(), 'in', eachOf(ids))
    .orderBy('name');
  const checks = db
    .selectFrom('checks')
    .select(['id', 'name', 'is_trial', policyInBody().as('policyId')])
    .where('account_id', '=', accountId)
    .where(policyInBody(), 'in', eachOf(ids))
    .where('is_trial', '!=', 1)
    .orderBy('name');
  return { groups: await groups.execute(), checks: await checks.execute() };
}

/** Settings as a change gives them. Those that name no escalation policy leave it as it was; null is none at all. */
export function withKeptPolicy<Settings>(given: Settings, before: unknown): Settings {
  const kept = isFields(before) ? before['escalationPolicyId'] : undefined;
  return kept === undefined || !isFields(given) ? given : { escalationPolicyId: kept, ...given };
}

/** Gives an escalation policy to all checks and groups that do not alert by the settings of the account. */
export async function givePolicyToAll(
  db: Db,
  { accountId, policyId, now }: { accountId: string; policyId: string; now: number },
): Promise<void> {
  const checks = await ownRows(db, 'checks', accountId).clearSelect().select('id').execute();
  await lockChecks(
    db,
    checks.map(({ id }) => id),
  );
  for (const table of ['checks', 'check_groups'] as const) {
    await updateOwnRows(db, table, accountId)
      .set({
        body_json: withJsonText('body_json', '$.alertSettings.escalationPolicyId', policyId),
        updated_at: now,
      })
      .where(jsonFlag('body_json', '$.useGlobalAlertSettings'), '=', 0)
      .where(jsonValue('body_json', '$.alertSettings'), 'is not', null)
      .execute();
  }
}

/** Throws 400 for the first field with an unknown reference. */
export async function checkReferences(
  db: Db,
  accountId: string,
  fields: References,
): Promise<void> {
  const slugs = fields.privateLocations ?? [];
  if (slugs.length > 0) await checkPrivateLocations(db, accountId, slugs);
  for (const name of ['setupSnippetId', 'tearDownSnippetId'] as const) {
    const id = fields[name];
    if (id != null) await checkSnippet(db, accountId, name, id);
  }
  const policyId = fields.alertSettings?.escalationPolicyId;
  if (policyId != null && !(await hasEscalationPolicy(db, accountId, policyId))) {
    const field = 'alertSettings.escalationPolicyId';
    throw invalidField(field, `has no escalation policy ${policyId}`);
  }
  const serviceId = fields.triggerIncident?.serviceId;
  if (serviceId !== undefined) {
    const known = await keepRows(
      db
        .selectFrom('services')
        .select('id')
        .where('account_id', '=', accountId)
        .where('id', '=', serviceId),
    ).executeTakeFirst();
    if (known === undefined) {
      throw invalidField('triggerIncident.serviceId', `has no service ${serviceId}`);
    }
  }
}
