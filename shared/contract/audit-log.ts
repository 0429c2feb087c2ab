/** The audit log: who did what to what, from where. */
import { z } from 'zod';
import { cursorPage, cursorQuery, timestamp, windowQuery } from './primitives.ts';
import { defineRoutes, get } from './route.ts';

export const auditActorKind = z
  .enum(['PERSON', 'API_KEY', 'AGENT', 'OPERATOR', 'NOBODY'])
  .meta({ id: 'AuditActorKind' });
export const auditOutcome = z.enum(['DONE', 'REFUSED']).meta({ id: 'AuditOutcome' });

const changed = z.record(z.string(), z.unknown()).nullable();

export const auditEntry = z
  .object({
    id: z.uuid(),
    at: timestamp,
    actor: z.object({
      kind: auditActorKind,
      id: z.string().nullable(),
      name: z.string().meta({ description: 'At that time' }),
    }),
    address: z.string().nullable().meta({ description: 'Where the request came from' }),
    operation: z.string().meta({
      description: 'An operation of this API, or `signIn`, `signOut` and the like',
      example: 'updateCheck',
    }),
    outcome: auditOutcome,
    resource: z
      .object({ type: z.string(), id: z.string().nullable(), name: z.string().nullable() })
      .nullable(),
    before: changed.meta({ description: 'Fields that changed, as readers may see them' }),
    after: changed,
  })
  .meta({ id: 'AuditEntry' });

const filters = {
  ...windowQuery,
  actorId: z.string().max(100).exactOptional(),
  operation: z.string().max(100).exactOptional(),
  outcome: auditOutcome.exactOptional(),
  resourceType: z.string().max(100).exactOptional(),
  resourceId: z.string().max(100).exactOptional(),
  search: z.string().max(100).exactOptional().meta({
    description: 'In the names of actors and resources, operations and addresses',
  }),
};

export const auditRoutes = defineRoutes('Audit log', {
  listAuditLog: get('/v1/audit-log', 'List what was done, the newest first', {
    role: 'ADMIN',
    query: z.object({
      ...filters,
      ...cursorQuery,
    }),
    response: cursorPage(auditEntry),
  }),
  exportAuditLog: get(
    '/v1/audit-log/export',
    'Stream what was done, the oldest first, as lines of JSON or as CSV',
    {
      role: 'ADMIN',
      rateLimit: { requests: 10, seconds: 60 },
      query: z.object({ ...filters, format: z.enum(['ndjson', 'csv']).default('ndjson') }),
      responseStream: 'application/x-ndjson',
    },
  ),
});
