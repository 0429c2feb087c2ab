/** Triggers: created, read, deleted and called. */
import { randomBytes } from 'node:crypto';
import {
  triggerRateLimit,
  type checkTriggerRoutes,
} from '@monitor/shared/contract/check-trigger.ts';
import type { Role } from '@monitor/shared/contract/route.ts';
import { notFound } from '../../errors/api-error.ts';
import type { Db } from '../../db/tables.ts';
import { deleteOwnRows, ownRows } from '../../db/own-rows.ts';
import { toTimestamp, toTimestampOrNull } from '../../db/columns.ts';
import { presentTriggerToken } from '../../core/decide/hidden-values.ts';
import type { AnonymousPrincipal } from '../../http/authenticate.ts';
import type { CallContext } from '../../http/call-context.ts';
import type { Handlers } from '../../http/handlers.ts';
import {
  callCheckTrigger,
  callGroupTrigger,
  findTrigger,
  hasPassed,
  type TriggerRow,
} from '../call-trigger.ts';
import { sha256Hex } from '../../core/keys.ts';
import { requireCheck } from '../../checks/index.ts';
import type { SecretCipher } from '../../core/secret-cipher.ts';
import type { Services } from '../../core/services.ts';

type Routes = Handlers<typeof checkTriggerRoutes>;
interface Called<Of> {
  params: Of & { token: string };
  query: { runLocation?: string };
}

type Owner = { checkId: string } | { groupId: number };

function toWire(row: TriggerRow, role: Role, secrets: SecretCipher) {
  return {
    id: row.id,
    token: presentTriggerToken(
      secrets.decryptStored(row.token_encrypted ?? '', row.account_id),
      role,
    ),
    created_at: toTimestamp(row.created_at),
    called_at: toTimestampOrNull(row.called_at),
    updated_at: toTimestampOrNull(row.updated_at),
  };
}

/** Throws 404 for a check or a group that the account does not have. */
export async function requireOwner(unit: Db, accountId: string, owner: Owner): Promise<void> {
  if ('checkId' in owner) return requireCheck(unit, accountId, owner.checkId);
  await unit
    .selectFrom('check_groups')
    .select('id')
    .where('account_id', '=', accountId)
    .where('id', '=', owner.groupId)
    .executeTakeFirstOrThrow(() => notFound('check group', String(owner.groupId)));
}

export function checkTriggerHandlers(services: Services): Routes {
  const { db, clock, commits, secrets } = services;

  const get = async (accountId: string, owner: Owner): Promise<TriggerRow> => {
    await requireOwner(db, accountId, owner);
    const owned = ownRows(db, 'check_triggers', accountId);
    const row = await (
      'checkId' in owner
        ? owned.where('check_id', '=', owner.checkId)
        : owned.where('group_id', '=', owner.groupId)
    ).executeTakeFirst();
    if (row === undefined) {
      throw notFound('a trigger of', 'checkId' in owner ? owner.checkId : String(owner.groupId));
    }
    return row;
  };

  const create = async (accountId: string, owner: Owner): Promise<TriggerRow> => {
    const token = randomBytes(24).toString('base64url');
    await commits.run(async (unit) => {
      await requireOwner(unit, accountId, owner);
      await unit
        .insertInto('check_triggers')
        .values({
          account_id: accountId,
          check_id: 'checkId' in owner ? owner.checkId : null,
          group_id: 'checkId' in owner ? null : owner.groupId,
          token: sha256Hex(token),
          token_encrypted: secrets.encrypt(token, accountId),
          created_at: clock.now(),
          called_at: null,
          updated_at: null,
        })
        .onConflict((conflict) => conflict.doNothing())
        .execute();
    });
    return get(accountId, owner);
  };

  const remove = async (accountId: string, owner: Owner): Promise<undefined> => {
    const { id } = await get(accountId, owner);
    await deleteOwnRows(db, 'check_triggers', accountId).where('id', '=', id).execute();
    return undefined;
  };

  const trigger = async (
    token: string,
    owner: Owner,
    call: CallContext<AnonymousPrincipal>,
  ): Promise<TriggerRow> => {
    const row = await findTrigger(db, token, owner);
    if (row === undefined) throw notFound('trigger', 'of this address');
    call.limit(`trigger ${row.id}`, triggerRateLimit);
    return row;
  };

  const callCheck = async (
    { params, query }: Called<{ checkId: string }>,
    context: CallContext<AnonymousPrincipal>,
  ) => {
    const row = await trigger(params.token, { checkId: params.checkId }, context);
    const outcome = await callCheckTrigger(services, row, query, context.signal);
    if (!hasPassed(outcome)) context.setStatus(503);
    const { hasFailures, responseTime, hasErrors, timedOut } = outcome;
    return { hasFailures, responseTime, hasErrors, timedOut };
  };

  const callGroup = async (
    { params, query }: Called<{ groupId: number }>,
    context: CallContext<AnonymousPrincipal>,
  ) => {
    const row = await trigger(params.token, { groupId: params.groupId }, context);
    const outcomes = await callGroupTrigger(services, row, query, context.signal);
    if (!outcomes.every(hasPassed)) context.setStatus(503);
    return outcomes;
  };

  return {
    getCheckTrigger: async ({ params: { checkId } }, { principal }) => ({
      ...toWire(await get(principal.accountId, { checkId }), principal.role, secrets),
      checkId,
    }),
    createCheckTrigger: async ({ params: { checkId } }, { principal }) => ({
      ...toWire(await create(principal.accountId, { checkId }), principal.role, secrets),
      checkId,
    }),
    deleteCheckTrigger: ({ params: { checkId } }, { principal }) =>
      remove(principal.accountId, { checkId }),
    getGroupTrigger: async ({ params: { groupId } }, { principal }) => ({
      ...toWire(await get(principal.accountId, { groupId }), principal.role, secrets),
      groupId,
    }),
    createGroupTrigger: async ({ params: { groupId } }, { principal }) => ({
      ...toWire(await create(principal.accountId, { groupId }), principal.role, secrets),
      groupId,
    }),
    deleteGroupTrigger: ({ params: { groupId } }, { principal }) =>
      remove(principal.accountId, { groupId }),
    callCheckTrigger: callCheck,
    callCheckTriggerByPost: callCheck,
    callGroupTrigger: callGroup,
    callGroupTriggerByPost: callGroup,
  };
}
