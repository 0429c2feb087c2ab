/** Stored accounts. Callers take the account id from a key. */
import type { z } from 'zod';
import { alertSettings as alertSettingsSchema } from '@monitor/shared/contract/check.ts';
import { fromJson } from '../db/columns.ts';
import { keepRows, lockRows } from '../db/lock.ts';
import type { Db } from '../db/tables.ts';
import { invalidField } from '../errors/api-error.ts';
import type { Plan } from './decide/entitlements.ts';
import type { Services } from '../core/services.ts';

export type AlertSettings = z.output<typeof alertSettingsSchema>;

export interface AccountSettings {
  badges: boolean;
  /** Values that look like secrets are removed from results, although nobody declared them. */
  secretDetection: boolean;
}

export interface StoredAccount {
  id: string;
  name: string;
  plan: string;
  runtimeId: string | null;
  settings: AccountSettings;
  alertSettings: AlertSettings;
  createdAt: number;
}

/** Fields that are absent stay as they are. */
export interface AccountChange {
  name?: string;
  plan?: Plan;
  runtimeId?: string;
  badges?: boolean;
  secretDetection?: boolean;
  /** Null restores the defaults. */
  alertSettings?: AlertSettings | null;
}

/** Parses the settings column of an account. */
export function accountSettingsOf(text: string): AccountSettings {
  return { badges: false, secretDetection: true, ...fromJson<Partial<AccountSettings>>(text) };
}

/** Parses the alert settings column of an account. Spec: Check, `useGlobalAlertSettings`. */
export function accountAlertSettingsOf(text: string | null): AlertSettings {
  return alertSettingsSchema.parse(text === null ? {} : fromJson(text));
}

/** All accounts, or the one with this id, oldest first. */
export async function listAccounts(db: Db, id?: string): Promise<StoredAccount[]> {
  const rows = await db
    .selectFrom('accounts')
    .selectAll()
    .$if(id !== undefined, (query) => query.where('id', '=', id ?? ''))
    .orderBy('created_at')
    .orderBy('id')
    .execute();
  return rows.map((row) => ({
    id: row.id,
    name: row.name,
    plan: row.plan,
    runtimeId: row.runtime_id,
    settings: accountSettingsOf(row.settings_json),
    alertSettings: accountAlertSettingsOf(row.alert_settings_json),
    createdAt: row.created_at,
  }));
}

/** Creates an account and gives its id. */
export async function createAccount(
  { db, clock, newId }: Pick<Services, 'db' | 'clock' | 'newId'>,
  name: string,
): Promise<string> {
  const id = newId();
  await db.insertInto('accounts').values({ id, name, created_at: clock.now() }).execute();
  return id;
}

/** Whether the account has this escalation policy, which stays until the transaction ends. */
export async function hasEscalationPolicy(db: Db, accountId: string, id: string): Promise<boolean> {
  const known = await keepRows(
    db
      .selectFrom('escalation_policies')
      .select('id')
      .where('account_id', '=', accountId)
      .where('id', '=', id),
  ).executeTakeFirst();
  return known !== undefined;
}

/**
 * Changes an account, in a transaction. Gives the new values, or undefined for an unknown id; refuses an escalation
 * policy that the account does not have.
 */
export async function changeAccount(
  db: Db,
  id: string,
  change: AccountChange,
): Promise<StoredAccount | undefined> {
  await lockAccounts(db, [id]);
  const [known] = await listAccounts(db, id);
  if (known === undefined) return undefined;
  const { name, plan, runtimeId, badges, secretDetection, alertSettings } = change;
  const policyId = alertSettings?.escalationPolicyId;
  if (policyId != null && !(await hasEscalationPolicy(db, id, policyId))) {
    const field = 'alertSettings.escalationPolicyId';
    throw invalidField(field, `has no escalation policy ${policyId}`);
  }
  const settings = {
    ...known.settings,
    ...(badges === undefined ? {} : { badges }),
    ...(secretDetection === undefined ? {} : { secretDetection }),
  };
  const columns = {
    ...(name === undefined ? {} : { name }),
    ...(plan === undefined ? {} : { plan }),
    ...(runtimeId === undefined ? {} : { runtime_id: runtimeId }),
    ...(alertSettings === undefined
      ? {}
      : { alert_settings_json: alertSettings && JSON.stringify(alertSettings) }),
    settings_json: JSON.stringify(settings),
  };
  await db
    .updateTable('accounts')
    .set((set) => ({
      ...columns,
      // Runtime and secret detection affect the checks that agents hold.
      environment_revision: set('environment_revision', '+', 1),
    }))
    .where('id', '=', id)
    .execute();
  const [changed] = await listAccounts(db, id);
  return changed;
}

/** The account of a fresh installation: the oldest account, or a new one when there is none. */
export async function findOrCreateAccount(
  deps: Pick<Services, 'db' | 'clock' | 'newId'>,
): Promise<string> {
  const known = await deps.db
    .selectFrom('accounts')
    .select('id')
    .orderBy('created_at')
    .limit(1)
    .executeTakeFirst();
  return known?.id ?? (await createAccount(deps, 'Main account'));
}

/** Call it when something changed that checks inherit from their account. */
export async function raiseEnvironmentRevision(db: Db, accountId: string): Promise<void> {
  await db
    .updateTable('accounts')
    .set((set) => ({ environment_revision: set('environment_revision', '+', 1) }))
    .where('id', '=', accountId)
    .execute();
}

/** Locks accounts, in whose names their people and keys are counted and changed. */
export async function lockAccounts(db: Db, ids: readonly string[]): Promise<void> {
  await lockRows(
    db.selectFrom('accounts').select('id').where('id', 'in', ids).orderBy('id'),
  ).execute();
}
