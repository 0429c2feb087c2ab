/** The checks that alerting evaluates, read once for all results of a commit. */
import { checkTypes, isPinged, type CheckType } from '@monitor/shared/contract/checks/index.ts';
import type { CheckGroupFields } from '@monitor/shared/contract/check-group.ts';
import type { RetryStrategy } from '@monitor/shared/contract/check.ts';
import { effectiveRetryStrategy } from '@monitor/shared/domain/retry.ts';
import { fromJson } from '../db/columns.ts';
import type { Db } from '../db/tables.ts';
import { effectiveAlertSettings, rulesOf, type AlertRules, type Mute } from './decide/rules.ts';
import {
  type CheckFields,
  type CheckRow,
  effectiveFields,
  fieldsOf,
  findCheck,
  groupFieldsOf,
  groupOf,
  type GroupRow,
  locationsOf,
  runsOnAgents,
  type ScheduledFields,
  hostOfCheck,
} from '../checks/index.ts';
import type { triggerIncident } from '@monitor/shared/contract/check.ts';
import type { z } from 'zod';
import type { Mutes } from './mutes.ts';

/** The fields of a check that alerting needs, with the settings of its group applied. */
export interface AlertedCheck {
  row: CheckRow;
  type: CheckType;
  groupName: string | null;
  tags: string[];
  description: string | null;
  /** The host that it asks; null without a single one. */
  host: string | null;
  isActive: boolean;
  triggerIncident: z.output<typeof triggerIncident> | null;
  locations: string[];
  /** Null where its alerts do not escalate. */
  escalationPolicyId: string | null;
  rules: AlertRules;
  /** How long after a tick a location may still report a result for it. */
  tickLastsMs: number;
}

/** A run may wait for a permit on its agent, and its result for the connection. */
const handingInMs = 60_000;

type AlertFields = CheckFields &
  Partial<ScheduledFields> & {
    muted: boolean;
    description: string | null;
    triggerIncident: AlertedCheck['triggerIncident'];
  };

interface AlertingFields {
  useGlobalAlertSettings: boolean;
  alertSettings: unknown;
}

function tickLastsMs(type: string, fields: AlertFields): number {
  const { maxRunMs, isRetried } = checkTypes[type as CheckType];
  const { retryStrategy = null, doubleCheck = false } = fields;
  const strategy = isRetried ? effectiveRetryStrategy({ retryStrategy, doubleCheck }) : null;
  return maxRunMs + retryingMs(strategy, maxRunMs) + handingInMs;
}

/** Time from the first attempt to the end of the last one. */
function retryingMs(strategy: RetryStrategy | null, maxRunMs: number): number {
  if (strategy === null) return 0;
  const isImmediate = strategy.baseBackoffSeconds === 0;
  return isImmediate
    ? strategy.maxRetries * maxRunMs
    : strategy.maxDurationSeconds * 1000 + maxRunMs;
}

/** Period of checks that run more often than every minute, in ms. */
const subMinuteMs = 60_000;

/**
 * Extends a maintenance until the first run after it has ended: only that run can show whether the
 * check still fails.
 */
function withNextRun(mute: Mute | null, row: CheckRow, tickLastsMs: number): Mute | null {
  if (mute?.reason !== 'MAINTENANCE') return mute;
  return { ...mute, until: mute.until + nextRunMs({ row, tickLastsMs }) };
}

/** How long it takes until the next run of a check has reported; no run follows a missed ping. */
export function nextRunMs({ row, tickLastsMs }: Pick<AlertedCheck, 'row' | 'tickLastsMs'>): number {
  if (!runsOnAgents(row.type)) return 0;
  return (row.frequency === 0 ? subMinuteMs : row.frequency * 60_000) + tickLastsMs;
}

export class AlertedChecks {
  readonly #db: Db;
  readonly #mutes: Mutes;
  readonly #checks = new Map<string, AlertedCheck | undefined>();
  readonly #accounts = new Map<string, unknown>();

  constructor(db: Db, mutes: Mutes) {
    this.#db = db;
    this.#mutes = mutes;
  }

  /** A check of an account; undefined when it was deleted. */
  async find(accountId: string, checkId: string): Promise<AlertedCheck | undefined> {
    if (!this.#checks.has(checkId)) {
      this.#checks.set(checkId, await this.#read(accountId, checkId));
    }
    return this.#checks.get(checkId);
  }

  /** The same as it would be with other alert settings of its own. */
  findWith(
    accountId: string,
    checkId: string,
    changed: Partial<AlertingFields>,
  ): Promise<AlertedCheck | undefined> {
    return this.#read(accountId, checkId, changed);
  }

  async #read(
    accountId: string,
    checkId: string,
    changed: Partial<AlertingFields> = {},
  ): Promise<AlertedCheck | undefined> {
    const row = await findCheck(this.#db, accountId, checkId);
    if (row === undefined) return undefined;
    const group = await groupOf(this.#db, row);
    const fields = effectiveFields(row, group) as AlertFields;
    const locations = locationsOf(fields);
    const settings = effectiveAlertSettings({
      check: { ...(fieldsOf(row) as unknown as AlertingFields), ...changed },
      group: group === undefined ? null : alertingOf(group),
      account: await this.#accountSettings(accountId),
    });
    const lastsMs = tickLastsMs(row.type, fields);
    const rules = rulesOf(settings, {
      runParallel: fields.runParallel ?? false,
      locations: locations.length,
      isPinged: isPinged(row.type),
      mute: fields.muted
        ? { reason: 'MUTED' }
        : withNextRun(await this.#mutes.now(accountId, checkId), row, lastsMs),
    });
    return {
      row,
      type: row.type as CheckType,
      groupName: group?.name ?? null,
      tags: fields.tags,
      description: fields.description,
      host: hostOfCheck(row.type, fields),
      isActive: fields.activated,
      triggerIncident: fields.triggerIncident,
      locations,
      escalationPolicyId: settings.escalationPolicyId ?? null,
      rules,
      tickLastsMs: lastsMs,
    };
  }

  async #accountSettings(accountId: string): Promise<unknown> {
    if (!this.#accounts.has(accountId)) {
      const account = await this.#db
        .selectFrom('accounts')
        .select('alert_settings_json')
        .where('id', '=', accountId)
        .executeTakeFirst();
      const text = account?.alert_settings_json ?? null;
      this.#accounts.set(accountId, text === null ? null : fromJson(text));
    }
    return this.#accounts.get(accountId);
  }
}

function alertingOf(
  row: GroupRow,
): Pick<CheckGroupFields, 'useGlobalAlertSettings' | 'alertSettings'> {
  const { useGlobalAlertSettings, alertSettings } = groupFieldsOf(row);
  return { useGlobalAlertSettings, alertSettings };
}
