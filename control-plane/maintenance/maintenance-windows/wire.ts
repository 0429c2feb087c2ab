/** Maintenance windows and occurrences ↔ wire. */
import type { z } from 'zod';
import {
  type maintenance,
  type maintenanceWindow,
  type maintenanceWindowRoutes,
  visibility,
} from '@monitor/shared/contract/maintenance-window.ts';
import { invalidField } from '../../errors/api-error.ts';
import {
  fromFlag,
  fromJson,
  stampsOf,
  toFlag,
  toTimestamp,
  toTimestampOrNull,
} from '../../db/columns.ts';
import { overlapsItself } from '../decide/maintenance.ts';
import {
  nextHeld,
  noScope,
  type ListedOccurrence,
  type PlannedWindow,
  type WindowScope,
} from '../decide/planned-maintenance.ts';
import type { UpdateRow } from '../maintenance-updates.ts';
import { wallClockOf } from '../../core/decide/wall-clock.ts';
import { readInstant } from '../../core/instant.ts';
import type { WindowRow } from './store.ts';

type Wire = z.input<typeof maintenanceWindow>;
/** Nothing may be said of the tags. */
export type WindowFields = Omit<
  z.output<typeof maintenanceWindowRoutes.createMaintenanceWindow.body>,
  'tags'
> & {
  tags?: string[] | null;
};

type Shown = NonNullable<WindowFields['statusPageVisibility']>;
/** As bodies give them: a change may name a part of the visibility. */
export type GivenFields = Omit<WindowFields, 'statusPageVisibility'> & {
  statusPageVisibility: Partial<Shown> | null;
};

/** Fields as bodies give them; parts of the visibility that are absent stay as they were. */
export function completeFields(
  { statusPageVisibility: given, ...rest }: GivenFields,
  before: WindowRow | null,
): WindowFields {
  const known = before === null ? null : fieldsOf(before).statusPageVisibility;
  return {
    ...rest,
    statusPageVisibility: given === null ? null : visibility.parse({ ...known, ...given }),
  };
}

const listedAhead = 5;
const applyingToNothing = 'it applies to no check: it has no tags, and pauses or silences not all';

const shownNowhere =
  'no status page shows it: "statusPageVisibility" is not enabled, or names no service and no page';
const neverOverrunning =
  '"ownerAlertChannelIds" are never notified: it ends by itself, as "statusPageVisibility.autoEnd" is not false';
const overrunningUnnoticed =
  'nobody is notified when it overruns: it ends when a person says so, and "ownerAlertChannelIds" has no channel';

const scopeFields = (text: string): WindowFields['pauseScope'] => ({
  ...(noScope as WindowFields['pauseScope']),
  ...fromJson<object>(text),
});

/** The fields of a row, as a body has them. */
export function fieldsOf(row: WindowRow): WindowFields & { tags: string[] } {
  return {
    name: row.name,
    startsAt: toTimestamp(row.starts_at),
    endsAt: toTimestamp(row.ends_at),
    repeatUnit: row.repeat_unit as Wire['repeatUnit'],
    repeatInterval: row.repeat_interval,
    repeatEndsAt: toTimestampOrNull(row.repeat_ends_at),
    tags: fromJson<string[]>(row.tags_json),
    timezone: row.timezone,
    description: row.description,
    pauseAllChecks: row.pause_all_checks !== 0,
    silenceAlertsTags: fromJson<string[]>(row.mute_tags_json),
    silenceAllAlerts: row.mute_all_alerts !== 0,
    pauseScope: scopeFields(row.pause_scope_json),
    silenceScope: scopeFields(row.mute_scope_json),
    statusPageVisibility:
      row.visibility_json === null
        ? null
        : fromJson<WindowFields['statusPageVisibility']>(row.visibility_json),
    ownerAlertChannelIds: fromJson<number[]>(row.channel_ids_json),
  };
}

function occurrenceId(windowId: number, startsAt: number): string {
  return `${windowId}-${startsAt}`;
}

/** Parses the start from the id of an occurrence; null for an invalid id. */
export function startOfOccurrence(windowId: number, id: string): number | null {
  const [, window, startsAt] = /^(\d{1,15})-(-?\d{1,15})$/.exec(id) ?? [];
  return Number(window) === windowId ? Number(startsAt) : null;
}

export function windowToWire(row: WindowRow, window: PlannedWindow, now: number): Wire {
  const fields = fieldsOf(row);
  const warnings = warningsOf(fields);
  return {
    id: row.id,
    ...fields,
    nextOccurrences: nextHeld(window, now, listedAhead).map(
      ({ startsAt, endsAt, scheduledAt }) => ({
        id: occurrenceId(row.id, scheduledAt),
        startsAt: toTimestamp(startsAt),
        endsAt: toTimestamp(endsAt),
      }),
    ),
    ...stampsOf(row),
    ...(warnings.length > 0 && { warnings }),
  };
}

export function occurrenceToWire(
  window: PlannedWindow,
  { startsAt, endsAt, scheduledAt, status }: ListedOccurrence,
  updates: readonly UpdateRow[],
): z.input<typeof maintenance> {
  return {
    id: occurrenceId(window.id, scheduledAt),
    maintenanceWindowId: window.id,
    startsAt: toTimestamp(startsAt),
    endsAt: toTimestamp(endsAt),
    status,
    updates: updates.filter((row) => row.starts_at === scheduledAt).map(updateToWire),
  };
}

type UpdateWire = z.input<typeof maintenance>['updates'][number];

export function updateToWire(row: UpdateRow): UpdateWire {
  return {
    id: row.id,
    maintenanceId: occurrenceId(row.window_id, row.starts_at),
    maintenanceWindowId: row.window_id,
    description: row.description,
    status: row.status as UpdateWire['status'],
    notifySubscribers: fromFlag(row.notify_subscribers),
    ...stampsOf(row),
  };
}

/** An instant without an offset is in the time zone of the window. */
export function instantOf(text: string, field: string, timezone: string | null): number {
  const hasOffset = /T.*(Z|[+-]\d{2}:?\d{2})$/i.test(text);
  if (hasOffset) return readInstant(text, field);
  const shown = readInstant(text.includes('T') ? `${text}Z` : text, field);
  return readInstant(toTimestamp(wallClockOf(timezone).instantOf(shown)), field);
}

function warningsOf(fields: WindowFields): string[] {
  const { statusPageVisibility: visibility, ownerAlertChannelIds } = fields;
  const endsByItself = visibility?.autoEnd !== false;
  const isUnseen =
    visibility !== null &&
    (!visibility.enabled ||
      (!visibility.affectAllServices &&
        visibility.serviceIds.length + visibility.statusPageIds.length === 0));
  return [
    ...(isIdle(fields) ? [applyingToNothing] : []),
    ...(isUnseen ? [shownNowhere] : []),
    ...(endsByItself && ownerAlertChannelIds.length > 0 ? [neverOverrunning] : []),
    ...(!endsByItself && ownerAlertChannelIds.length === 0 ? [overrunningUnnoticed] : []),
  ];
}

/** True for a window that would neither pause nor silence any check. */
export function isIdle(fields: WindowFields): boolean {
  const { tags, silenceAlertsTags, pauseScope, silenceScope, statusPageVisibility } = fields;
  const lists = [tags, silenceAlertsTags, ...[pauseScope, silenceScope].flatMap(listsOf)];
  if (lists.some((each) => each != null && each.length > 0)) return false;
  // Work that pages announce may leave checks alone.
  const isShown = statusPageVisibility?.enabled === true;
  return !fields.pauseAllChecks && !fields.silenceAllAlerts && !isShown;
}

const listsOf = (scope: WindowScope): (readonly unknown[])[] => Object.values(scope);

/** Refuses such a window, unless nothing was said of what it applies to. */
export function refuseIdle(fields: WindowFields): void {
  if (fields.tags == null || !isIdle(fields)) return;
  throw invalidField(
    'tags',
    'must not be empty: the window would apply to no check. Or set "pauseAllChecks", "silenceAllAlerts", "silenceAlertsTags", "pauseScope" or "silenceScope"',
  );
}

/** The columns of lists of ids. */
export function selectingColumns({
  pauseScope,
  silenceScope,
  statusPageVisibility: shown,
  ownerAlertChannelIds,
}: Omit<WindowFields, 'tags'>) {
  return {
    pause_scope_json: JSON.stringify(pauseScope),
    mute_scope_json: JSON.stringify(silenceScope),
    visibility_json: shown === null ? null : JSON.stringify(shown),
    channel_ids_json: JSON.stringify(ownerAlertChannelIds),
  };
}

/** The columns for the fields of a body. Refuses a window that never begins or overlaps itself. */
export function toColumns(fields: WindowFields) {
  const { name, repeatUnit, repeatInterval, timezone, description } = fields;
  const startsAt = instantOf(fields.startsAt, 'startsAt', timezone);
  const endsAt = instantOf(fields.endsAt, 'endsAt', timezone);
  const repeatEndsAt =
    fields.repeatEndsAt === null ? null : instantOf(fields.repeatEndsAt, 'repeatEndsAt', timezone);
  if (endsAt <= startsAt) throw invalidField('endsAt', 'must be after "startsAt"');
  if (repeatEndsAt !== null && repeatEndsAt < startsAt) {
    throw invalidField('repeatEndsAt', 'must not be before "startsAt"');
  }
  if (overlapsItself({ startsAt, endsAt, repeatUnit, repeatInterval, repeatEndsAt, timezone })) {
    throw invalidField(
      'endsAt',
      'must not be after the window begins again (a month counts as 28 days)',
    );
  }
  return {
    name,
    starts_at: startsAt,
    ends_at: endsAt,
    repeat_unit: repeatUnit,
    repeat_interval: repeatInterval,
    repeat_ends_at: repeatEndsAt,
    tags_json: JSON.stringify([...new Set(fields.tags ?? [])]),
    timezone,
    description,
    pause_all_checks: toFlag(fields.pauseAllChecks),
    mute_tags_json: JSON.stringify([...new Set(fields.silenceAlertsTags)]),
    mute_all_alerts: toFlag(fields.silenceAllAlerts),
    ...selectingColumns(fields),
    // Its notices are looked at once it is stored.
    due_at: fields.statusPageVisibility === null ? null : 0,
  };
}
