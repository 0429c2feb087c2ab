/** The audit log: who did what to what, from where. */
import { z } from 'zod';
import { cursorPage, cursorQuery, queryInstant, timestamp } from './primitives.ts';
import { defineRoute } from './route.ts';

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
  from: queryInstant.exactOptional(),
  to: queryInstant.exactOptional(),
  actorId: z.string().max(100).exactOptional(),
  operation: z.string().max(100).exactOptional(),
  outcome: auditOutcome.exactOptional(),
  resourceType: z.string().max(100).exactOptional(),
  resourceId: z.string().max(100).exactOptional(),
  search: z.string().max(100).exactOptional().meta({
    description: 'In the names of actors and resources, operations and addresses',
  }),
};

const tag = 'Audit log';

const listAuditLog = defineRoute({
  operationId: 'listAuditLog',
  method: 'GET',
  path: '/v1/audit-log',
  tag,
  summary: 'List what was done, the newest first',
  authentication: 'apiKey',
  role: 'ADMIN',
  query: z.object({
    ...filters,
    ...cursorQuery,
  }),
  status: 200,
  response: cursorPage(auditEntry),
  errors: [400],
});

const exportAuditLog = defineRoute({
  operationId: 'exportAuditLog',
  method: 'GET',
  path: '/v1/audit-log/export',
  tag,
  summary: 'Stream what was done, the oldest first, as lines of JSON or as CSV',
  authentication: 'apiKey',
  role: 'ADMIN',
  rateLimit: { requests: 10, seconds: 60 },
  query: z.object({ ...filters, format: z.enum(['ndjson', 'csv']).default('ndjson') }),
  status: 200,
  responseStream: 'application/x-ndjson',
  errors: [400],
});

export const auditRoutes = { listAuditLog, exportAuditLog };
