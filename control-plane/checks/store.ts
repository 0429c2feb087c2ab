/** Stored checks: rows ↔ wire. */
import { effectiveRetryStrategy } from '@monitor/shared/domain/retry.ts';
import type { AssignedCheck } from '@monitor/shared/contract/agent-protocol.ts';
import type { RetryStrategy } from '@monitor/shared/contract/check.ts';
import type { EnvironmentVariable } from '@monitor/shared/contract/primitives.ts';
import type { Role } from '@monitor/shared/contract/route.ts';
import type { WorkSignature } from '@monitor/shared/contract/work-signature.ts';
import {
  checkTypes,
  findAgentType,
  isPinged,
  type CheckType,
} from '@monitor/shared/contract/checks/index.ts';
import { fromFlag, fromJson, stampsOf, toFlag } from '../db/columns.ts';
import { ownRows } from '../db/own-rows.ts';
import { containsIgnoringCase, eachOf, jsonValue } from '../db/expressions.ts';
import { prepareQuery } from '../db/prepared.ts';
import { readPage, type Page, type PageRequest } from '../db/page.ts';
import type { Db, RowOf } from '../db/tables.ts';
import {
  presentCredentials,
  presentHeartbeat,
  presentVariables,
} from '../core/decide/hidden-values.ts';
import { orderedLocations } from '../core/decide/locations.ts';

export type CheckRow = RowOf<'checks'>;

/** Wire fields of a check as they are stored, without the fields that only responses have. */
export type CheckFields = Record<string, unknown> & {
  name: string;
  activated: boolean;
  tags: string[];
  groupId: number | null;
  groupOrder: number | null;
};

/** The descriptions of checks that have one. */
export async function descriptionsOf(
  db: Db,
  accountId: string,
  checkIds: readonly string[],
): Promise<Map<string, string>> {
  if (checkIds.length === 0) return new Map();
  const rows = await db
    .selectFrom('checks')
    .select(['id', 'body_json'])
    .where('account_id', '=', accountId)
    .where('id', 'in', eachOf(checkIds))
    .execute();
  return new Map(
    rows.flatMap(({ id, body_json: body }) => {
      const { description } = fromJson<{ description?: string | null }>(body);
      return description ? [[id, description]] : [];
    }),
  );
}

/** Wire fields with a column of their own; `alertChannelSubscriptions` has a table. */
type FieldColumns = Pick<
  CheckRow,
  | 'name'
  | 'activated'
  | 'frequency'
  | 'frequency_offset'
  | 'run_parallel'
  | 'group_id'
  | 'group_order'
  | 'body_json'
>;

/** Fields of checks that run in locations; HEARTBEAT has none of them. */
export interface ScheduledFields {
  frequency: number;
  frequencyOffset: number;
  runParallel: boolean;
  locations: string[] | null;
  privateLocations: string[] | null;
  retryStrategy: RetryStrategy | 'FALLBACK' | null;
  doubleCheck: boolean;
  /** Absent from checks of earlier versions. */
  signature?: WorkSignature | null;
}

/** All wire fields of a stored check except those only responses have. */
export function fieldsOf(row: CheckRow): CheckFields {
  // Checks from before these fields lack them.
  const body: Record<string, unknown> = {
    ...{ intent: null, aiAutoRepairEnabled: null },
    ...fromJson<Record<string, unknown>>(row.body_json),
  };
  const scheduled = isPinged(row.type)
    ? {}
    : {
        frequency: row.frequency,
        frequencyOffset: row.frequency_offset,
        runParallel: fromFlag(row.run_parallel),
      };
  const { isFallback = false, inlinedGroup: _group, ...stored } = body;
  return {
    ...stored,
    ...(isFallback === true && stored['retryStrategy'] === null && { retryStrategy: 'FALLBACK' }),
    ...scheduled,
    name: row.name,
    activated: fromFlag(row.activated),
    groupId: row.group_id,
    groupOrder: row.group_order,
  } as CheckFields;
}

/** Splits wire fields into columns and the JSON body. */
export function toColumns(fields: CheckFields): FieldColumns {
  const {
    name,
    activated,
    frequency,
    frequencyOffset,
    runParallel,
    groupId,
    groupOrder,
    alertChannelSubscriptions: _table,
    ...body
  } = fields as CheckFields & Partial<ScheduledFields>;
  return {
    name,
    activated: toFlag(activated),
    frequency: frequency ?? 0,
    frequency_offset: frequencyOffset ?? 0,
    run_parallel: toFlag(runParallel ?? false),
    group_id: groupId,
    group_order: groupOrder,
    // Replicas of earlier releases hand a text on to agents, which know no such strategy.
    body_json: JSON.stringify(
      body.retryStrategy === 'FALLBACK' ? { ...body, retryStrategy: null, isFallback: true } : body,
    ),
  };
}

export interface CheckView {
  fields: CheckFields;
  role: Role;
  publicUrl: string;
  channels:
    { subscriptions: readonly unknown[]; alertChannels: Record<string, unknown> } | undefined;
}

function withPingUrl(heartbeat: unknown, publicUrl: string, role: Role): Record<string, unknown> {
  const settings = heartbeat as { pingToken: string };
  const pingUrl = `${publicUrl}/ping/${settings.pingToken}`;
  return presentHeartbeat({ ...settings, pingUrl }, role);
}

/** A check as responses contain it. */
export function toWire(
  row: CheckRow,
  { fields, role, publicUrl, channels }: CheckView,
): Record<string, unknown> {
  const variables = fields['environmentVariables'] as EnvironmentVariable[] | null | undefined;
  return {
    id: row.id,
    checkType: row.type,
    ...fields,
    ...(isPinged(row.type) ? { heartbeat: withPingUrl(fields['heartbeat'], publicUrl, role) } : {}),
    ...('request' in fields ? { request: presentCredentials(fields['request'], role) } : {}),
    ...(variables === undefined ? {} : { environmentVariables: presentVariables(variables, role) }),
    alertChannelSubscriptions: channels?.subscriptions ?? [],
    alertChannels: channels?.alertChannels ?? { email: [], webhook: [], slack: [], sms: [] },
    ...stampsOf(row),
  };
}

/** All locations of a check in round-robin order; empty for a HEARTBEAT. */
export function locationsOf(fields: CheckFields): string[] {
  const { locations, privateLocations } = fields as Partial<ScheduledFields>;
  return orderedLocations(locations ?? [], privateLocations ?? []);
}

/** The schedule and definition of a check for an agent; `fields` with the settings of the group. */
export function toAssigned(
  row: CheckRow,
  fields: CheckFields,
  scheduleFrom: number,
  proxyUrl: string | null,
): Pick<
  AssignedCheck,
  | 'id'
  | 'accountId'
  | 'revision'
  | 'type'
  | 'name'
  | 'frequency'
  | 'frequencyOffset'
  | 'runParallel'
  | 'locations'
  | 'scheduleFrom'
  | 'retryStrategy'
  | 'definition'
  | 'proxyUrl'
  | 'signature'
> {
  const { retryStrategy, doubleCheck, runParallel, signature } =
    fields as unknown as ScheduledFields;
  const type = checkTypes[row.type as CheckType];
  return {
    id: row.id,
    accountId: row.account_id,
    revision: row.revision,
    type: row.type,
    name: row.name,
    frequency: row.frequency,
    frequencyOffset: row.frequency_offset,
    runParallel,
    locations: locationsOf(fields),
    scheduleFrom,
    retryStrategy: type.isRetried ? effectiveRetryStrategy({ retryStrategy, doubleCheck }) : null,
    definition: Object.fromEntries(type.definitionKeys.map((key) => [key, fields[key]])),
    proxyUrl,
    ...(signature == null ? {} : { signature }),
  };
}

/** True for types that agents run. */
export function runsOnAgents(type: string): boolean {
  return findAgentType(type) !== undefined;
}

const checkById = prepareQuery<{ accountId: string; id: string }, CheckRow>((db, argument) =>
  ownRows(db, 'checks', argument('accountId')).where('id', '=', argument('id')),
);

export async function findCheck(
  db: Db,
  accountId: string,
  id: string,
): Promise<CheckRow | undefined> {
  const [row] = await checkById.run(db, { accountId, id });
  return row;
}

/** The checks of a group, in its order. */
export async function checksOfGroup(
  db: Db,
  accountId: string,
  groupId: number,
): Promise<CheckRow[]> {
  return ownRows(db, 'checks', accountId)
    .where('group_id', '=', groupId)
    .orderBy((order) => order.fn.coalesce('group_order', order.lit(1_000_000_000)))
    .orderBy('created_at')
    .orderBy('id')
    .execute();
}

export interface CheckFilter {
  tags?: readonly string[];
  checkType?: string;
  search?: string;
  status?: 'passing' | 'failing' | 'degraded';
  /** Part of the URL of an API check. */
  apiUrlPattern?: string;
}

/** One page of an account's checks, newest first, and how many match in all. */
export async function listChecks(
  db: Db,
  accountId: string,
  filter: CheckFilter,
  page: PageRequest,
): Promise<Page<CheckRow>> {
  let query = db
    .selectFrom('checks')
    .selectAll('checks')
    .where('checks.account_id', '=', accountId)
    .where('checks.is_trial', '=', 0);
  const { tags, checkType, search, status, apiUrlPattern } = filter;
  if (tags !== undefined) {
    query = query.where('checks.id', 'in', (tagged) =>
      tagged
        .selectFrom('check_tags')
        .select('check_id')
        .where('account_id', '=', accountId)
        .where('tag', 'in', tags),
    );
  }
  if (checkType !== undefined) query = query.where('checks.type', '=', checkType);
  if (search !== undefined) {
    query = query.where((where) => containsIgnoringCase(where.ref('checks.name'), search));
  }
  if (status !== undefined) {
    query = query.where('checks.id', 'in', (inState) =>
      inState
        .selectFrom('check_statuses')
        .select('check_id')
        .where('account_id', '=', accountId)
        .where('last_started_at', '>', 0)
        .where('has_failures', '=', toFlag(status === 'failing'))
        .where('is_degraded', '=', toFlag(status === 'degraded')),
    );
  }
  if (apiUrlPattern !== undefined) {
    const url = jsonValue<string>('checks.body_json', '$.request.url');
    query = query.where('checks.type', '=', 'API').where(containsIgnoringCase(url, apiUrlPattern));
  }
  return readPage(query.orderBy('checks.created_at', 'desc').orderBy('checks.id'), page);
}
