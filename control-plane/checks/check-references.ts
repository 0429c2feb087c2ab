/**
 * Refuses references to objects that the account does not have. The objects stay until the
 * transaction ends.
 */
import type { Kysely } from 'kysely';
import type { ClientCertificateChoice } from '@monitor/shared/contract/checks/check-type.ts';
import { invalidField } from '../errors/api-error.ts';
import { jsonValue } from '../db/expressions.ts';
import { keepRows } from '../db/lock.ts';
import type { Database } from '../db/tables.ts';

interface References {
  privateLocations?: string[] | null;
  setupSnippetId?: number | null;
  tearDownSnippetId?: number | null;
  triggerIncident?: { serviceId: string } | null;
  alertSettings?: { escalationPolicyId?: string | null } | null;
}

async function checkPrivateLocations(
  db: Kysely<Database>,
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

async function checkSnippet(
  db: Kysely<Database>,
  accountId: string,
  field: string,
  id: number,
): Promise<void> {
  await keepRows(
    db.selectFrom('snippets').select('id').where('account_id', '=', accountId).where('id', '=', id),
  ).executeTakeFirstOrThrow(() => invalidField(field, `has no snippet ${id}`));
}

/** Refuses a client certificate that a check names and the account does not have. */
export async function requireClientCertificate(
  db: Kysely<Database>,
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

/** Whether the account has this escalation policy, which stays until the transaction ends. */
export async function hasEscalationPolicy(
  db: Kysely<Database>,
  accountId: string,
  id: string,
): Promise<boolean> {
  const known = await keepRows(
    db
      .selectFrom('escalation_policies')
      .select('id')
      .where('account_id', '=', accountId)
      .where('id', '=', id),
  ).executeTakeFirst();
  return known !== undefined;
}

/** A user of something that is hidden while its deletion can be undone, for the refusal to delete that. */
export function noteHeld(users: readonly { is_trial?: number }[]): string {
  const isHeld = users.some((user) => user.is_trial === 2);
  return isHeld ? ' (counting deleted checks that can be undone, see GET /v1/deletions)' : '';
}

/** The checks and groups that name an escalation policy. A trial is gone soon. */
export async function usersOfPolicy(db: Kysely<Database>, accountId: string, id: string) {
  const policy = jsonValue<string>('body_json', '$.alertSettings.escalationPolicyId');
  const groups = db
    .selectFrom('check_groups')
    .select(['id', 'name'])
    .where('account_id', '=', accountId)
    .where(policy, '=', id)
    .orderBy('name');
  const checks = db
    .selectFrom('checks')
    .select(['id', 'name', 'is_trial'])
    .where('account_id', '=', accountId)
    .where(policy, '=', id)
    .where('is_trial', '!=', 1)
    .orderBy('name');
  return { groups: await groups.execute(), checks: await checks.execute() };
}

/** Throws 400 for the first field with an unknown reference. */
export async function checkReferences(
  db: Kysely<Database>,
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
