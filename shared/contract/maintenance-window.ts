/**
 * Maintenance windows: times in which checks with certain tags do not run, or run without alerts. Spec:
 * Maintenance window.
 */
import { z } from 'zod';
import { tags } from './check.ts';
import {
  pageQuery,
  pathInteger,
  queryInteger,
  timestamp,
  timezone as anyTimezone,
} from './primitives.ts';
import { defineRoute } from './route.ts';

/** ISO 8601 with an offset, or local to the time zone; a date alone is midnight. */
function instantLike(example: string) {
  return z
    .union([
      z.iso.datetime({ offset: true }),
      // ISO 8601 allows to omit seconds; with an offset zod needs an option for that.
      z.iso.datetime({ offset: true, precision: -1 }),
      z.iso.datetime({ local: true }),
      z.iso.date(),
    ])
    .meta({
      override: {
        type: 'string',
        format: 'date-time',
        description: 'ISO 8601; without an offset, local time in `timezone`',
        example,
      },
    });
}
const startsAt = instantLike('2099-01-01T22:00:00Z');
const endsAt = instantLike('2099-01-01T23:00:00Z');
const repeatEndsAt = instantLike('2099-12-31T00:00:00Z').nullable();

/** Values from the field's practice; null for a window that does not repeat. spec: open */
const repeatUnit = z.enum(['DAY', 'WEEK', 'MONTH']).nullable();
const repeatInterval = z.int().min(1).max(1000).nullable();
const name = z.string().trim().min(1).max(255);
const description = z.string().max(2000).nullable();
const pauseAllChecks = z.boolean().meta({
  description: 'Pauses every check, whatever its tags; otherwise a window without tags pauses none',
});
const silenceAlertsTags = tags.meta({
  description: 'Checks and groups with any of these tags run, and send no alerts',
});
const silenceAllAlerts = z
  .boolean()
  .meta({ description: 'Every check runs, and none sends alerts' });

const timezone = anyTimezone.nullable().meta({
  override: {
    type: ['string', 'null'],
    description: 'IANA time zone in which repeats keep their local time; UTC without one',
    example: 'Europe/Berlin',
  },
});

/** Existing clients send no `repeatUnit` for a window that does not repeat. */
const createBody = z.object({
  name,
  startsAt,
  endsAt,
  repeatUnit: repeatUnit.default(null),
  tags: tags.exactOptional(),
  repeatInterval: repeatInterval.default(null),
  repeatEndsAt: repeatEndsAt.default(null),
  timezone: timezone.default(null),
  description: description.default(null),
  pauseAllChecks: pauseAllChecks.default(false),
  silenceAlertsTags: silenceAlertsTags.default([]),
  silenceAllAlerts: silenceAllAlerts.default(false),
});

const updateBody = z.object({
  name: name.exactOptional(),
  startsAt: startsAt.exactOptional(),
  endsAt: endsAt.exactOptional(),
  repeatUnit: repeatUnit.exactOptional(),
  tags: tags.exactOptional(),
  repeatInterval: repeatInterval.exactOptional(),
  repeatEndsAt: repeatEndsAt.exactOptional(),
  timezone: timezone.exactOptional(),
  description: description.exactOptional(),
  pauseAllChecks: pauseAllChecks.exactOptional(),
  silenceAlertsTags: silenceAlertsTags.exactOptional(),
  silenceAllAlerts: silenceAllAlerts.exactOptional(),
});

/** Id of an occurrence: its window and its start, so it is stable. */
const maintenanceId = z.string().meta({ example: '7-1763712000000' });
const span = { startsAt: timestamp, endsAt: timestamp };

export const maintenanceWindow = z
  .object({
    id: z.int(),
    name,
    startsAt: timestamp,
    endsAt: timestamp,
    repeatUnit,
    tags,
    repeatInterval,
    repeatEndsAt: timestamp.nullable(),
    timezone: z.string().nullable(),
    description,
    pauseAllChecks,
    silenceAlertsTags,
    silenceAllAlerts,
    nextOccurrences: z
      .array(z.object({ id: maintenanceId, ...span }))
      .max(5)
      .meta({
        description: 'The next five that take place, one in progress first',
      }),
    created_at: timestamp,
    updated_at: timestamp.nullable(),
    warnings: z.array(z.string()).exactOptional().meta({
      description: 'Set when the window applies to no check',
    }),
  })
  .meta({ id: 'MaintenanceWindow' });

export const maintenance = z
  .object({
    id: maintenanceId,
    maintenanceWindowId: z.int(),
    ...span,
    status: z.enum(['SCHEDULED', 'IN_PROGRESS', 'COMPLETED', 'CANCELLED']),
  })
  .meta({ id: 'Maintenance' });

const tag = 'Maintenance windows';
const byId = z.object({ id: pathInteger });
const occurrence = z.object({ id: pathInteger, maintenanceId: z.string() });

const bounds = ['gt', 'gte', 'lt', 'lte'] as const;
type BoundKey = `${'startsAt' | 'endsAt'}[${(typeof bounds)[number]}]`;

/** Filters such as `startsAt[gte]=2026-11-21`. */
const boundFilters = Object.fromEntries(
  ['startsAt', 'endsAt'].flatMap((field) =>
    bounds.map((bound) => [
      `${field}[${bound}]`,
      z
        .string()
        .refine((text) => !Number.isNaN(Date.parse(text)), 'must be a date')
        .transform((text) => Date.parse(text))
        .exactOptional()
        .meta({ override: { type: 'string', format: 'date-time' } }),
    ]),
  ),
) as Record<BoundKey, z.ZodExactOptional<z.ZodPipe<z.ZodString, z.ZodTransform<number, string>>>>;

const listMaintenanceWindows = defineRoute({
  operationId: 'listMaintenanceWindows',
  method: 'GET',
  path: '/v1/maintenance-windows',
  tag,
  summary: 'List maintenance windows',
  authentication: 'apiKey',
  query: z.object({ ...pageQuery, ...boundFilters }),
  status: 200,
  response: z.array(maintenanceWindow),
  errors: [400],
  paged: true,
});

const createMaintenanceWindow = defineRoute({
  operationId: 'createMaintenanceWindow',
  method: 'POST',
  path: '/v1/maintenance-windows',
  tag,
  summary: 'Create a maintenance window',
  description:
    'One that is said to apply to nothing, by an empty `tags`, is refused; one without `tags` is warned of.',
  authentication: 'apiKey',
  body: createBody,
  status: 201,
  response: maintenanceWindow,
  errors: [400],
});

const previewMaintenanceWindow = defineRoute({
  operationId: 'previewMaintenanceWindow',
  method: 'POST',
  path: '/v1/maintenance-windows/preview',
  onlyReads: true,
  tag,
  summary: 'The next occurrences of a window before it is saved',
  authentication: 'apiKey',
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
  errors: [400],
});

const getMaintenanceWindow = defineRoute({
  operationId: 'getMaintenanceWindow',
  method: 'GET',
  path: '/v1/maintenance-windows/{id}',
  tag,
  summary: 'Read a maintenance window',
  authentication: 'apiKey',
  params: byId,
  status: 200,
  response: maintenanceWindow,
  errors: [400, 404],
});

const updateMaintenanceWindow = defineRoute({
  operationId: 'updateMaintenanceWindow',
  method: 'PUT',
  path: '/v1/maintenance-windows/{id}',
  tag,
  summary: 'Change a maintenance window',
  description: 'Fields that are absent stay as they are.',
  authentication: 'apiKey',
  params: byId,
  body: updateBody,
  status: 200,
  response: maintenanceWindow,
  errors: [400, 404],
});

const deleteMaintenanceWindow = defineRoute({
  operationId: 'deleteMaintenanceWindow',
  method: 'DELETE',
  path: '/v1/maintenance-windows/{id}',
  tag,
  summary: 'Delete a maintenance window',
  authentication: 'apiKey',
  params: byId,
  status: 204,
  errors: [400, 404],
});

const listMaintenances = defineRoute({
  operationId: 'listMaintenances',
  method: 'GET',
  path: '/v1/maintenance-windows/{id}/maintenances',
  tag,
  summary: 'List the occurrences of a maintenance window',
  description:
    'Present and future occurrences soonest first, then past ones newest first; at most a hundred of each.',
  authentication: 'apiKey',
  params: byId,
  query: z.object({ ...pageQuery, limit: queryInteger(1, 50).default(10) }),
  status: 200,
  response: z.array(maintenance),
  errors: [400, 404],
  paged: true,
});

const getMaintenance = defineRoute({
  operationId: 'getMaintenance',
  method: 'GET',
  path: '/v1/maintenance-windows/{id}/maintenances/{maintenanceId}',
  tag,
  summary: 'Read an occurrence of a maintenance window',
  authentication: 'apiKey',
  params: occurrence,
  status: 200,
  response: maintenance,
  errors: [400, 404],
});

const cancelMaintenance = defineRoute({
  operationId: 'cancelMaintenance',
  method: 'DELETE',
  path: '/v1/maintenance-windows/{id}/maintenances/{maintenanceId}',
  tag,
  summary: 'Call off an occurrence of a maintenance window',
  description:
    'Other occurrences stay. An occurrence in progress ends now, and checks run again from their next slot; a past one answers 409.',
  authentication: 'apiKey',
  params: occurrence,
  status: 204,
  errors: [400, 404, 409],
});

export const maintenanceWindowRoutes = {
  listMaintenanceWindows,
  createMaintenanceWindow,
  previewMaintenanceWindow,
  getMaintenanceWindow,
  updateMaintenanceWindow,
  deleteMaintenanceWindow,
  listMaintenances,
  getMaintenance,
  cancelMaintenance,
};
