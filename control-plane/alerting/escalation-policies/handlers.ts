/** Escalation policies of an account. */
import type { Kysely } from 'kysely';
import type { escalationPolicyRoutes } from '@monitor/shared/contract/escalation-policy.ts';
import { listAccounts } from '../../accounts/index.ts';
import { noteHeld, usersOfPolicy } from '../../checks/index.ts';
import type { Services } from '../../core/services.ts';
import { lockRows } from '../../db/lock.ts';
import { deleteOwnRows, ownRows, updateOwnRows } from '../../db/own-rows.ts';
import { readPage } from '../../db/page.ts';
import type { Database } from '../../db/tables.ts';
import { ApiError, invalidField, notFound } from '../../errors/api-error.ts';
import type { Handlers } from '../../http/implement.ts';
import { listMembers, normalizeEmail } from '../../people/index.ts';
import type { PolicyFields } from '../decide/escalation.ts';
import { channelsById } from '../subscribed-channels.ts';
import {
  fieldsOfPolicy,
  findPolicy,
  policyById,
  type PolicyRow,
  policyToWire,
  toPolicyColumns,
} from './store.ts';

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
async function refuseUsed(db: Kysely<Database>, accountId: string, row: PolicyRow): Promise<void> {
  const { checks, groups } = await usersOfPolicy(db, accountId, row.id);
  const [account] = await listAccounts(db, accountId);
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

export function escalationPolicyHandlers(
  services: Services,
): Handlers<typeof escalationPolicyRoutes> {
  const { db, clock, commits, newId } = services;
  const get = async (unit: Kysely<Database>, accountId: string, id: string) => {
    const row = await findPolicy(unit, accountId, id);
    if (row === undefined) throw notFound('escalation policy', id);
    return row;
  };
  const lock = async (unit: Kysely<Database>, accountId: string, id: string) => {
    return lockRows(policyById(unit, accountId, id)).executeTakeFirstOrThrow(() =>
      notFound('escalation policy', id),
    );
  };
  return {
    listEscalationPolicies: async ({ query }, { principal, setTotal }) => {
      const policies = ownRows(db, 'escalation_policies', principal.accountId)
        .orderBy('name')
        .orderBy('id');
      const { rows, total, offset } = await readPage(policies, query);
      setTotal(total, offset, rows.length);
      const now = clock.now();
      return rows.map((row) => policyToWire(row, now));
    },

    createEscalationPolicy: async ({ body }, { principal: { accountId } }) => {
      const row = await commits.run(async (unit) => {
        await checkTargets(unit, accountId, body);
        return unit
          .insertInto('escalation_policies')
          .values({
            id: newId(),
            account_id: accountId,
            ...toPolicyColumns(body),
            created_at: clock.now(),
            updated_at: null,
          })
          .returningAll()
          .executeTakeFirstOrThrow();
      });
      return policyToWire(row, clock.now());
    },

    getEscalationPolicy: async ({ params }, { principal }) =>
      policyToWire(await get(db, principal.accountId, params.id), clock.now()),

    updateEscalationPolicy: async ({ params, body }, { principal: { accountId } }) => {
      const row = await commits.run(async (unit) => {
        const before = await lock(unit, accountId, params.id);
        const fields = { ...fieldsOfPolicy(before), ...body };
        await checkTargets(unit, accountId, fields);
        return updateOwnRows(unit, 'escalation_policies', accountId)
          .set({ ...toPolicyColumns(fields), updated_at: clock.now() })
          .where('id', '=', params.id)
          .returningAll()
          .executeTakeFirstOrThrow();
      });
      return policyToWire(row, clock.now());
    },

    deleteEscalationPolicy: async ({ params }, { principal: { accountId } }) => {
      await commits.run(async (unit) => {
        await refuseUsed(unit, accountId, await lock(unit, accountId, params.id));
        await deleteOwnRows(unit, 'escalation_policies', accountId)
          .where('id', '=', params.id)
          .execute();
      });
      return undefined;
    },
  };
}
