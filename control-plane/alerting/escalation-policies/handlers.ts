/** Escalation policies of an account. */
import type { Kysely } from 'kysely';
import type { escalationPolicyRoutes } from '@monitor/shared/contract/escalation-policy.ts';
import { listAccounts } from '../../accounts/index.ts';
import { noteHeld, usersOfPolicy } from '../../checks/index.ts';
import type { Services } from '../../core/services.ts';
import type { Database } from '../../db/tables.ts';
import { ApiError, invalidField } from '../../errors/api-error.ts';
import type { Handlers } from '../../http/handlers.ts';
import { listMembers, normalizeEmail } from '../../people/index.ts';
import { entryHandlers, listPages, resourceOf } from '../../resources/index.ts';
import type { PolicyFields } from '../decide/escalation.ts';
import { channelsById } from '../subscribed-channels.ts';
import { fieldsOfPolicy, type PolicyRow, policyToWire } from './store.ts';

/** Refuses channels and people that the account does not have. */
async function checkTargets(
  db: Kysely<Database>,
  accountId: string,
  { steps, rotation }: PolicyFields,
): Promise<void> {
  const ids = [...new Set(steps.flatMap(({ alertChannelIds }) => alertChannelIds))];
  const channels = new Set((await channelsById(db, accountId, ids)).map(({ id }) => id));
  const members = new Set((await listMembers(db, accountId)).map(({ email }) => email));
  const requirePeople = (field: string, people: readonly string[]) => {
    const unknown = people.find((email) => !members.has(normalizeEmail(email)));
    if (unknown !== undefined) throw invalidField(field, `has no person ${unknown}`);
  };
  steps.forEach(({ alertChannelIds, people, onCall }, index) => {
    const unknown = alertChannelIds.find((id) => !channels.has(id));
    if (unknown !== undefined) {
      throw invalidField(`steps[${index}].alertChannelIds`, `has no alert channel ${unknown}`);
    }
    requirePeople(`steps[${index}].people`, people);
    if (onCall && rotation === null) {
      throw invalidField(`steps[${index}].onCall`, 'needs a rotation');
    }
  });
  if (rotation === null) return;
  requirePeople('rotation.people', rotation.people);
  rotation.overrides.forEach(({ person }, index) => {
    requirePeople(`rotation.overrides[${index}].person`, [person]);
  });
}

const maxNamed = 5;

/** Refuses to delete a policy that is in use: its alerts would escalate to nobody. */
async function refuseUsed(db: Kysely<Database>, row: PolicyRow): Promise<void> {
  const { checks, groups } = await usersOfPolicy(db, row.account_id, row.id);
  const [account] = await listAccounts(db, row.account_id);
  const isOfAccount = account?.alertSettings.escalationPolicyId === row.id;
  const users = [
    ...(isOfAccount ? ['the alert settings of the account'] : []),
    ...groups.map(({ name }) => `group "${name}"`),
    ...checks.map(({ name }) => `check "${name}"`),
  ];
  if (users.length === 0) return;
  const named = users.slice(0, maxNamed);
  const more = users.length - named.length;
  throw new ApiError(
    'CONFLICT',
    `"${row.name}" is used by ${named.join(', ')}${more === 0 ? '' : ` and ${more} more`}${noteHeld(checks)}; give them another policy, or none, first`,
    { groupIds: groups.map(({ id }) => id), checkIds: checks.map(({ id }) => id) },
  );
}

export const escalationPoliciesOf = (services: Services) =>
  resourceOf(services, {
    ...({ table: 'escalation_policies', noun: 'escalation policy', key: 'id' } as const),
    order: ['name', 'id'],
    fresh: (now) => ({ id: services.newId(), created_at: now, updated_at: null }),
    fieldsOf: fieldsOfPolicy,
    async toColumns(fields: PolicyFields, { unit, accountId }) {
      await checkTargets(unit, accountId, fields);
      const { name, ...body } = fields;
      return { name, body_json: JSON.stringify(body) };
    },
    present: (rows) => rows.map((row) => policyToWire(row, services.clock.now())),
    removing: refuseUsed,
  });

export function escalationPolicyHandlers(
  services: Services,
): Handlers<typeof escalationPolicyRoutes> {
  const policies = escalationPoliciesOf(services);
  return {
    listEscalationPolicies: listPages(policies),
    ...entryHandlers('EscalationPolicy', 'id', policies),
  };
}
