/** Handlers of the audit log. */
import { Readable } from 'node:stream';
import type { z } from 'zod';
import type { auditEntry, auditRoutes } from '@monitor/shared/contract/audit-log.ts';
import { csvOf } from '../core/decide/csv.ts';
import type { Services } from '../core/services.ts';
import { fromJson, toTimestamp } from '../db/columns.ts';
import { invalidQuery } from '../errors/api-error.ts';
import { asStream } from '../http/answer.ts';
import type { Handlers } from '../http/handlers.ts';
import { type AuditRow, readAuditLog } from './read.ts';

type Entry = z.input<typeof auditEntry>;

const rowsAtOnce = 500;

function toWire(row: AuditRow): Entry {
  const { resource_type: type, before_json: before, after_json: after } = row;
  return {
    id: row.id,
    at: toTimestamp(row.at),
    actor: { kind: row.actor_kind, id: row.actor_id, name: row.actor_name },
    address: row.address,
    operation: row.operation,
    outcome: row.outcome,
    resource: type === null ? null : { type, id: row.resource_id, name: row.resource_name },
    before: before === null ? null : fromJson(before),
    after: after === null ? null : fromJson(after),
  };
}

const columns = [
  ...['at', 'actorKind', 'actorId', 'actorName', 'address', 'operation', 'outcome'],
  ...['resourceType', 'resourceId', 'resourceName', 'before', 'after'],
];

function toCsv(rows: readonly AuditRow[]): string {
  const cells = rows.map((row) => ({
    ...{ at: toTimestamp(row.at), actorKind: row.actor_kind, actorId: row.actor_id },
    ...{ actorName: row.actor_name, address: row.address, operation: row.operation },
    ...{ outcome: row.outcome, resourceType: row.resource_type, resourceId: row.resource_id },
    ...{ resourceName: row.resource_name, before: row.before_json, after: row.after_json },
  }));
  return csvOf(columns, cells);
}

const toLines = (rows: readonly AuditRow[]): string =>
  rows.map((row) => `${JSON.stringify(toWire(row))}\n`).join('');

export function auditHandlers({ db }: Pick<Services, 'db'>): Handlers<typeof auditRoutes> {
  return {
    listAuditLog: async ({ query }, { principal }) => {
      const { limit, nextId, ...filters } = query;
      const beyond = nextId === undefined ? undefined : Number(nextId);
      if (beyond !== undefined && !Number.isSafeInteger(beyond)) {
        throw invalidQuery('nextId', 'must be the `nextId` of the page before');
      }
      const page = { limit: limit + 1, order: 'desc' as const, beyond };
      const rows = await readAuditLog(db, principal.accountId, filters, page);
      const entries = rows.slice(0, limit);
      const last = entries.at(-1);
      return {
        length: entries.length,
        entries: entries.map(toWire),
        nextId: rows.length > limit && last !== undefined ? String(last.seq) : null,
      };
    },

    exportAuditLog: ({ query: { format, ...filters } }, { principal }) => {
      const isCsv = format === 'csv';
      // A page at a time, so that a log of any length takes little memory and no long transaction.
      const pages = async function* (): AsyncGenerator<string> {
        if (isCsv) yield toCsv([]);
        for (let beyond: number | undefined; ;) {
          const page = { limit: rowsAtOnce, order: 'asc' as const, beyond };
          const rows = await readAuditLog(db, principal.accountId, filters, page);
          const text = isCsv ? toCsv(rows).slice(toCsv([]).length) : toLines(rows);
          if (text !== '') yield text;
          if (rows.length < rowsAtOnce) return;
          beyond = rows.at(-1)?.seq;
        }
      };
      const name = isCsv ? 'audit-log.csv' : 'audit-log.ndjson';
      return Promise.resolve(
        asStream(Readable.from(pages()), {
          'Content-Type': isCsv
            ? 'text/csv; charset=utf-8; header=present'
            : 'application/x-ndjson',
          'Content-Disposition': `attachment; filename="${name}"`,
          'Cache-Control': 'no-store',
        }),
      );
    },
  };
}
