/**
 * Maintenance windows: times in which checks with certain tags do not run, or run without alerts. Spec:
 * Maintenance window.
 */
import { z } from 'zod';
import { tags } from './check.ts';
import {
  pageQuery,
  pathInteger,
  isoDate,
  isoInstant,
  queryInteger,
  severity,
  storedOf,
  timestamp,
  timezone,
  updateOf,
} from './primitives.ts';
import { projectBindings } from './project-bindings.ts';
import { defineRoutes, get, patch, post, put, remove, resourceOperations } from './route.ts';

/** ISO 8601 with an offset, or local to the time zone; a date alone is midnight. */
function instantLike(example: string) {
  const description = 'ISO 8601; without an offset, local time in `timezone`';
  return isoDate.meta({ override: { type: 'string', format: 'date-time', description, example } });
}

const ids = <Id extends z.ZodType>(id: Id, max: number) =>
  z.array(id).max(max).meta({ example: [] });
const scope = z.object({
  checkIds: ids(z.uuid(), 1000).default([]),
  groupIds: ids(z.int(), 100).default([]),
  serviceIds: ids(z.uuid(), 300).default([]),
  statusPageIds: ids(z.uuid(), 100).default([]),
});
const nothing = { checkIds: [], groupIds: [], serviceIds: [], statusPageIds: [] };

/** The shape of existing clients. spec: open */
const visibilityFields = {
  enabled: z.boolean().default(true),
  severity: severity.default('MINOR'),
  affectAllServices: z.boolean().default(false).meta({
    description: 'Affects every service of its pages; otherwise those of `serviceIds`',
  }),
  showAffectedServices: z.boolean().default(true),
  statusPageIds: ids(z.uuid(), 100).default([]).meta({
    example: [],
    description: 'Without any, the pages that show one of its services',
  }),
  serviceIds: ids(z.uuid(), 300).default([]),
  notifyOnStart: z.boolean().default(false),
  notifyOnEnd: z.boolean().default(false),
  reminderMinutesBefore: z.array(z.int().min(1).max(43_200)).max(10).default([]).meta({
    description: 'Subscribers are notified so many minutes before the start',
  }),
  suppressAutoIncidents: z.boolean().default(false).meta({
    description: 'Checks open no incident of its services meanwhile',
  }),
  autoStart: z.boolean().default(true).meta({
    description: 'Otherwise it begins on the pages when a person says so',
  }),
  autoEnd: z.boolean().default(true).meta({
    description:
      'Otherwise it ends on the pages when a person says so, and `ownerAlertChannelIds` are notified when it overruns',
  }),
};
const describedVisibility = {
  description:
    'How status pages show it; null: with the services that its paused checks report to. Checks follow the schedule in any case',
};
export const visibility = z.object(visibilityFields);
/** Existing clients send no `repeatUnit` for a window that does not repeat. */
const fields = {
  name: z.string().trim().min(1).max(255),
  startsAt: instantLike('2099-01-01T22:00:00Z'),
  endsAt: instantLike('2099-01-01T23:00:00Z'),
  /** Values from the field's practice; null for a window that does not repeat. spec: open */
  repeatUnit: z.enum(['DAY', 'WEEK', 'MONTH']).nullable().default(null),
  tags: tags.exactOptional(),
  repeatInterval: z.int().min(1).max(1000).nullable().default(null),
  repeatEndsAt: instantLike('2099-12-31T00:00:00Z').nullable().default(null),
  timezone: timezone
    .nullable()
    .meta({
      override: {
        type: ['string', 'null'],
        description: 'IANA time zone in which repeats keep their local time; UTC without one',
        example: 'Europe/Berlin',
      },
    })
    .default(null),
  description: z.string().max(2000).nullable().default(null),
  pauseAllChecks: z
    .boolean()
    .meta({
      description:
        'Pauses every check, whatever its tags; otherwise a window without tags pauses none',
    })
    .default(false),
  silenceAlertsTags: tags
    .meta({ description: 'Checks and groups with any of these tags run, and send no alerts' })
    .default([]),
  silenceAllAlerts: z
    .boolean()
    .meta({ description: 'Every check runs, and none sends alerts' })
    .default(false),
  pauseScope: scope
    .meta({
      description:
        'Pauses these checks, and those of these groups, services and status pages, whatever their tags',
    })
    .default(nothing),
  silenceScope: scope
    .meta({
      description:
        'These checks, and those of these groups, services and status pages, run and send no alerts',
    })
    .default(nothing),
  statusPageVisibility: visibility.nullable().meta(describedVisibility).default(null),
  ownerAlertChannelIds: ids(z.int(), 20)
    .meta({
      example: [],
      description: 'Channels of its owner, notified when an occurrence overruns',
    })
    .default([]),
};
const createBody = z.object(fields);

/** Id of an occurrence: its window and its start, so it is stable. */
const maintenanceId = z.string().meta({ example: '7-1763712000000' });
const span = { startsAt: timestamp, endsAt: timestamp };

export const maintenanceWindow = z
  .object({
    id: z.int(),
    ...storedOf(fields),
    startsAt: timestamp,
    endsAt: timestamp,
    tags,
    repeatEndsAt: timestamp.nullable(),
    timezone: z.string().nullable(),
    nextOccurrences: z
      .array(z.object({ id: maintenanceId, ...span }))
      .max(5)
      .meta({
        description: 'The next five that take place, one in progress first',
      }),
    created_at: timestamp,
    updated_at: timestamp.nullable(),
    projectBindings,
    warnings: z.array(z.string()).exactOptional().meta({
      description:
        'Set when the window applies to no check, no status page shows it, or its owner is never notified',
    }),
  })
  .meta({ id: 'MaintenanceWindow' });

const statuses = ['SCHEDULED', 'IN_PROGRESS', 'VERIFYING', 'COMPLETED'] as const;
const settableStatus = z.enum(statuses);
const anyStatus = z.enum([...statuses, 'CANCELLED']);

/** The newest that are read of an occurrence. */
export const maxUpdates = 50;
const maintenanceUpdate = z
  .object({
    id: z.string(),
    maintenanceId,
    maintenanceWindowId: z.int(),
    description: z.string(),
    status: anyStatus,
    notifySubscribers: z.boolean(),
    created_at: timestamp,
    updated_at: timestamp.nullable(),
  })
  .meta({ id: 'MaintenanceUpdate' });

export const maintenance = z
  .object({
    id: maintenanceId,
    maintenanceWindowId: z.int(),
    ...span,
    status: anyStatus,
    updates: z
      .array(maintenanceUpdate)
      .max(maxUpdates)
      .meta({ description: 'Those of people, newest first; at most the newest 50' }),
  })
  .meta({ id: 'Maintenance' });

const byId = { id: pathInteger };
const occurrence = z.object({ id: pathInteger, maintenanceId: z.string() });
const ofOccurrence = '/v1/maintenance-windows/{id}/maintenances/{maintenanceId}';
const occurrenceChange = {
  status: settableStatus.exactOptional(),
  endsAt: instantLike('2099-01-01T23:30:00Z')
    .exactOptional()
    .meta({ description: 'Another end: of an occurrence that is extended, or ends earlier' }),
};
const updateText = z.string().trim().min(1).max(5000);
const byUpdate = occurrence.extend({ updateId: z.string() });

const bounds = ['gt', 'gte', 'lt', 'lte'] as const;
type BoundKey = `${'startsAt' | 'endsAt'}[${(typeof bounds)[number]}]`;

/** Filters such as `startsAt[gte]=2026-11-21`. */
const boundFilters = Object.fromEntries(
  ['startsAt', 'endsAt'].flatMap((field) =>
    bounds.map((bound) => [
      `${field}[${bound}]`,
      z
        .string()
        .refine((text) => !Number.isNaN(isoInstant(text)), 'must be a date')
        .transform(isoInstant)
        .exactOptional()
        .meta({ override: { type: 'string', format: 'date-time' } }),
    ]),
  ),
) as Record<BoundKey, z.ZodExactOptional<z.ZodPipe<z.ZodString, z.ZodTransform<number, string>>>>;

export const maintenanceWindowRoutes = defineRoutes('Maintenance windows', {
  ...resourceOperations('MaintenanceWindow', '/v1/maintenance-windows', {
    by: byId,
    response: maintenanceWindow,
    list: {
      query: z.object({ ...pageQuery, ...boundFilters }),
      response: z.array(maintenanceWindow),
      paged: true,
    },
    create: {
      description:
        'One that is said to apply to nothing, by an empty `tags`, is refused; one without `tags` is warned of.',
      body: createBody,
    },
    beside: {
      previewMaintenanceWindow: post(
        '/v1/maintenance-windows/preview',
        'The next occurrences of a window before it is saved',
        {
          onlyReads: true,
          role: 'READ_ONLY',
          rateLimit: { requests: 60, seconds: 60 },
          body: createBody.pick({
            ...{ startsAt: true, endsAt: true, repeatUnit: true },
            ...{ repeatInterval: true, repeatEndsAt: true, timezone: true },
          }),
          status: 200,
          response: z
            .object({
              nextOccurrences: z
                .array(z.object(span))
                .max(3)
                .meta({ description: 'One in progress first' }),
            })
            .meta({ id: 'MaintenanceWindowPreview' }),
        },
      ),
    },
    update: {
      description:
        'Fields that are absent stay as they are, also those of `statusPageVisibility`; a scope is replaced as a whole.',
      body: updateOf({
        ...fields,
        statusPageVisibility: updateOf(visibilityFields).nullable().meta(describedVisibility),
      }),
    },
  }),
  listMaintenances: get(
    '/v1/maintenance-windows/{id}/maintenances',
    'List the occurrences of a maintenance window',
    {
      description:
        'Present and future occurrences soonest first, then past ones newest first; at most a hundred of each.',
      params: z.object(byId),
      query: z.object({ ...pageQuery, limit: queryInteger(1, 50).default(10) }),
      response: z.array(maintenance),
      paged: true,
    },
  ),
  getMaintenance: get(
    '/v1/maintenance-windows/{id}/maintenances/{maintenanceId}',
    'Read an occurrence of a maintenance window',
    { params: occurrence, response: maintenance },
  ),
  updateMaintenance: patch(ofOccurrence, 'Begin, verify, extend or complete an occurrence', {
    description:
      'With `status` IN_PROGRESS it begins now, also ahead of its start with the duration that was planned, or opens again; with COMPLETED it ends, and checks run again from their next slot. After its end it is opened or extended from now.',
    params: occurrence,
    body: z.object(occurrenceChange),
    response: maintenance,
    errors: [409],
  }),
  createMaintenanceUpdate: post(`${ofOccurrence}/updates`, 'Write an update of an occurrence', {
    description:
      'It may change the occurrence as well. Status pages that publish the window show it, and their subscribers are notified if asked for.',
    params: occurrence,
    body: z.object({
      description: updateText,
      ...occurrenceChange,
      notifySubscribers: z.boolean().default(false),
    }),
    response: maintenanceUpdate,
    errors: [409],
  }),
  updateMaintenanceUpdate: put(
    `${ofOccurrence}/updates/{updateId}`,
    'Change the words of an update of an occurrence',
    {
      description: 'Nobody is notified again.',
      params: byUpdate,
      body: z.object({ description: updateText }),
      response: maintenanceUpdate,
    },
  ),
  deleteMaintenanceUpdate: remove(
    `${ofOccurrence}/updates/{updateId}`,
    'Delete an update of an occurrence',
    { params: byUpdate },
  ),
  cancelMaintenance: remove(
    '/v1/maintenance-windows/{id}/maintenances/{maintenanceId}',
    'Call off an occurrence of a maintenance window',
    {
      description:
        'Other occurrences stay. An occurrence in progress ends now, and checks run again from their next slot; a past one answers 409.',
      params: occurrence,
      errors: [409],
    },
  ),
});
