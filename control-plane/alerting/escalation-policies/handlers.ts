/** Escalation policies of an account. */
import type { z } from 'zod';
import { alertSettings as settings } from '@monitor/shared/contract/check.ts';
import type {
  escalationPolicy,
  escalationPolicyRoutes,
} from '@monitor/shared/contract/escalation-policy.ts';
import { changeAccount, listAccounts } from '../../accounts/index.ts';
import { givePolicyToAll, noteHeld, usersOfPolicies } from '../../checks/index.ts';
import { type NamedTable, withoutId } from '../../core/ids-in-fields.ts';
import type { Services } from '../../core/services.ts';
import { toTimestamp } from '../../db/columns.ts';
import { lockRows } from '../../db/lock.ts';
import { ownRows, updateOwnRows } from '../../db/own-rows.ts';
import type { Db } from '../../db/tables.ts';
import { ApiError, invalidField, invalidQuery, notFound } from '../../errors/api-error.ts';
import type { Handlers } from '../../http/handlers.ts';
import { listMembers, normalizeEmail } from '../../people/index.ts';
import { entryHandlers, listPages, resourceOf } from '../../resources/index.ts';
import type { PolicyFields } from '../decide/escalation.ts';
import { shiftsBetween, type Turn } from '../decide/rotation.ts';
import { calendarLinkOf, isSignatureOf, onCallCalendar } from './calendar.ts';
import { wakeStates } from '../state-rows.ts';
import { channelsById } from '../subscribed-channels.ts';
import { fieldsOfPolicy, type PolicyRow, policyToWire } from './store.ts';

/** Refuses channels and people that the account does not have. */
async function checkTargets(
  db: Db,
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

const named = { 'steps.*.alertChannelIds': 'alert_channels' } as const;

/** Steps of policies lose a channel that is deleted. Refuses to delete the only one that a step notifies. */
export async function dropFromPolicies(
  db: Db,
  accountId: string,
  table: NamedTable,
  id: string | number,
): Promise<void> {
  if (table !== 'alert_channels') return;
  const rows = await lockRows(
    ownRows(db, 'escalation_policies', accountId).orderBy('id'),
  ).execute();
  for (const row of rows) {
    const left = withoutId(named, fieldsOfPolicy(row), table, id);
    if (left === null) continue;
    const { name, ...body } = left;
    const isMute = ({ alertChannelIds, people, onCall }: PolicyFields['steps'][number]) =>
      alertChannelIds.length + people.length === 0 && !onCall;
    if (body.steps.some(isMute)) {
      throw new ApiError(
        'CONFLICT',
        `a step of the escalation policy "${name}" notifies this channel and nobody else; change the policy first`,
        { escalationPolicyIds: [row.id] },
      );
    }
    await updateOwnRows(db, 'escalation_policies', accountId)
      .set({ body_json: JSON.stringify(body) })
      .where('id', '=', row.id)
      .execute();
  }
}

const maxNamed = 5;

/** Refuses to delete a policy that is in use: its alerts would escalate to nobody. */
async function refuseUsed(db: Db, row: PolicyRow): Promise<void> {
  const { checks, groups } = await usersOfPolicies(db, row.account_id, [row.id]);
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

type Wire = z.input<typeof escalationPolicy>;

/** What names it, for the list of policies. */
async function withUsers(
  { db, clock }: Services,
  accountId: string,
  rows: readonly PolicyRow[],
): Promise<Wire[]> {
  const ids = rows.map(({ id }) => id);
  const { checks, groups } = await usersOfPolicies(db, accountId, ids);
  const [account] = await listAccounts(db, accountId);
  return rows.map((row) => {
    const isOwn = ({ policyId }: { policyId: string }) => policyId === row.id;
    const own = checks.filter(isOwn);
    return {
      ...policyToWire(row, clock.now()),
      usedBy: {
        account: account?.alertSettings.escalationPolicyId === row.id,
        groups: groups.filter(isOwn).map(({ id, name }) => ({ id, name })),
        checks: own.slice(0, maxNamed).map(({ id, name }) => ({ id, name })),
        moreChecks: Math.max(0, own.length - maxNamed),
      },
    };
  });
}

const dayMs = 86_400_000;
const usualDays = 28;
const maxDays = 366;

const shiftToWire = <Shift extends Turn>({ from, until, ...rest }: Shift) => ({
  ...{ ...rest, from: toTimestamp(from), until: toTimestamp(until) },
});

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
    present: (rows, { accountId }) => withUsers(services, accountId, rows),
    removing: refuseUsed,
  });

export function escalationPolicyHandlers(
  services: Services,
): Handlers<typeof escalationPolicyRoutes> {
  const policies = escalationPoliciesOf(services);
  const { db, clock, commits } = services;
  const linked = (accountId: string, id: string, at: number | null) =>
    commits.run(async (unit) => {
      const before = await policies.get(accountId, id, { unit });
      // Each link differs from all before it.
      const made = at === null ? null : Math.max(at, (before.calendar_link_at ?? 0) + 1);
      await updateOwnRows(unit, 'escalation_policies', accountId)
        .set({ calendar_link_at: made })
        .where('id', '=', id)
        .execute();
      return { ...before, calendar_link_at: made };
    });
  const toLink = (row: PolicyRow) => {
    const url = calendarLinkOf(services, row);
    if (url === null) throw notFound('calendar link of the escalation policy', row.id);
    return { url };
  };
  return {
    listEscalationPolicies: listPages(policies),
    ...entryHandlers('EscalationPolicy', 'id', policies),

    async listEscalationPolicyShifts({ params: { id }, query }, { principal }) {
      const { from = services.clock.now() } = query;
      const { to = from + usualDays * dayMs } = query;
      if (from >= to) throw invalidQuery('to', 'must be after `from`');
      if (to - from > maxDays * dayMs) throw invalidQuery('to', 'must be within a year of `from`');
      const { rotation } = fieldsOfPolicy(await policies.get(principal.accountId, id));
      if (rotation === null) return { shifts: [], turns: [] };
      const { shifts, turns } = shiftsBetween(rotation, from, to);
      return { shifts: shifts.map(shiftToWire), turns: turns.map(shiftToWire) };
    },

    getOnCallCalendarLink: async ({ params: { id } }, { principal: { accountId } }) =>
      toLink(await policies.get(accountId, id)),

    createOnCallCalendarLink: async ({ params: { id } }, { principal: { accountId } }) =>
      toLink(await linked(accountId, id, clock.now())),

    async deleteOnCallCalendarLink({ params: { id } }, { principal: { accountId } }) {
      await linked(accountId, id, null);
      return undefined;
    },

    async getOnCallCalendar({ params: { id }, query: { signature, person } }) {
      const row = await db
        .selectFrom('escalation_policies')
        .selectAll()
        .where('id', '=', id)
        .executeTakeFirst();
      if (row === undefined || !isSignatureOf(services, row, signature)) {
        throw notFound('on-call calendar', id);
      }
      return onCallCalendar(row, clock.now(), person);
    },

    async useEscalationPolicyForAll({ params: { id } }, { principal }) {
      const { accountId } = principal;
      const row = await services.commits.run(async (unit) => {
        const policy = await policies.get(accountId, id, { unit });
        const [account] = await listAccounts(unit, accountId);
        const alertSettings = { ...account?.alertSettings, escalationPolicyId: id };
        await changeAccount(unit, accountId, { alertSettings: settings.parse(alertSettings) });
        const now = services.clock.now();
        await givePolicyToAll(unit, { accountId, policyId: id, now });
        await wakeStates(unit, accountId, now);
        return policy;
      });
      return policies.presentOne(row, principal);
    },
  };
}
