/** Maintenance windows: times at which checks with certain tags do not run. Spec: Maintenance window. */
import { z } from 'zod';
import { tags } from './check.ts';
import { pageQuery, pathInteger, timestamp } from './primitives.ts';
import { defineRoute } from './route.ts';

/** ISO 8601, with an offset or in UTC; a date alone is its first moment. */
function instantLike(example: string) {
  return z
    .union([z.iso.datetime({ offset: true }), z.iso.datetime({ local: true }), z.iso.date()])
    .meta({
      override: {
        type: 'string',
        format: 'date-time',
        description: 'ISO 8601, in UTC unless it has an offset',
        example,
      },
    });
}
const startsAt = instantLike('2099-01-01T22:00:00Z');
const endsAt = instantLike('2099-01-01T23:00:00Z');
const repeatEndsAt = instantLike('2099-12-31T00:00:00Z').nullable();

/** Values from the field's practice; null means that it does not repeat. spec: open */
const repeatUnit = z.enum(['DAY', 'WEEK', 'MONTH']).nullable();
const repeatInterval = z.int().min(1).max(1000).nullable();
const name = z.string().trim().min(1).max(255);

/** `repeatUnit` is required; null is how existing clients say that it does not repeat. */
const createBody = z.object({
  name,
  startsAt,
  endsAt,
  repeatUnit,
  tags: tags.default([]),
  repeatInterval: repeatInterval.default(null),
  repeatEndsAt: repeatEndsAt.default(null),
});

const updateBody = z.object({
  name: name.exactOptional(),
  startsAt: startsAt.exactOptional(),
  endsAt: endsAt.exactOptional(),
  repeatUnit: repeatUnit.exactOptional(),
  tags: tags.exactOptional(),
  repeatInterval: repeatInterval.exactOptional(),
  repeatEndsAt: repeatEndsAt.exactOptional(),
});

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
    created_at: timestamp,
    updated_at: timestamp.nullable(),
  })
  .meta({ id: 'MaintenanceWindow' });

const tag = 'Maintenance windows';
const byId = z.object({ id: pathInteger });

const bounds = ['gt', 'gte', 'lt', 'lte'] as const;
type BoundKey = `${'startsAt' | 'endsAt'}[${(typeof bounds)[number]}]`;

/** `startsAt[gte]=2026-11-21` and the like. */
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
  authentication: 'apiKey',
  body: createBody,
  status: 201,
  response: maintenanceWindow,
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

export const maintenanceWindowRoutes = {
  listMaintenanceWindows,
  createMaintenanceWindow,
  getMaintenanceWindow,
  updateMaintenanceWindow,
  deleteMaintenanceWindow,
};
