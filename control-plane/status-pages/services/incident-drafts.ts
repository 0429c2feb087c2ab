/** Drafts of incidents that services opened: listed, published, dismissed. */
import type { z } from 'zod';
import type {
  incidentDraft,
  incidentDraftRoutes,
} from '@monitor/shared/contract/incident-draft.ts';
import type { Services } from '../../core/services.ts';
import { fromJson, toTimestamp } from '../../db/columns.ts';
import { eachOf } from '../../db/expressions.ts';
import { lockRows } from '../../db/lock.ts';
import { ownRows, updateOwnRows } from '../../db/own-rows.ts';
import type { Db, RowOf } from '../../db/tables.ts';
import { notFound } from '../../errors/api-error.ts';
import type { Handlers } from '../../http/handlers.ts';
import { openIncident, presentIncidents, toServiceWire } from '../../incidents/index.ts';
import { type StoredRule, textOf } from '../decide/service-incidents.ts';

type Row = RowOf<'service_incidents'>;
type Wire = z.input<typeof incidentDraft>;

async function toWire(db: Db, accountId: string, group: readonly Row[]): Promise<Wire[]> {
  const [first] = group;
  const affected = await ownRows(db, 'services', accountId)
    .where(
      'id',
      'in',
      group.map(({ service_id: id }) => id),
    )
    .orderBy('seq')
    .execute();
  const opens = affected.flatMap(({ rule_json: rule }) =>
    rule === null ? [] : (fromJson<StoredRule>(rule).opens ?? []),
  );
  const text = textOf(opens);
  if (first === undefined || text === null) return [];
  const { name, severity, description, notifySubscribers } = text;
  return [
    {
      ...{ id: first.group_id, name, severity, description, notifySubscribers },
      services: affected.map(toServiceWire),
      cause: group.find(({ cause }) => cause !== null)?.cause ?? null,
      created_at: toTimestamp(Math.min(...group.map(({ created_at: at }) => at))),
    },
  ];
}

export function incidentDraftHandlers(services: Services): Handlers<typeof incidentDraftRoutes> {
  const { db, clock, commits } = services;
  const drafts = (unit: Db, accountId: string) =>
    ownRows(unit, 'service_incidents', accountId).where('state', '=', 'DRAFT');
  /** Locked: its services may recover meanwhile. */
  const draftOf = async (unit: Db, accountId: string, draftId: string) => {
    const query = drafts(unit, accountId).where('group_id', '=', draftId).orderBy('service_id');
    const rows = await lockRows(query).execute();
    if (rows.length === 0) throw notFound('draft of an incident', draftId);
    return rows;
  };
  /** Of the rows that were locked: another service may join meanwhile, and stays a draft. */
  const set = (unit: Db, accountId: string, rows: readonly Row[], columns: Partial<Row>) =>
    updateOwnRows(unit, 'service_incidents', accountId)
      .set(columns)
      .where('service_id', 'in', eachOf(rows.map(({ service_id: id }) => id)))
      .execute();

  return {
    async listIncidentDrafts(_request, { principal: { accountId } }) {
      const rows = await drafts(db, accountId)
        .orderBy('created_at', 'desc')
        .orderBy('service_id')
        .execute();
      const found: Wire[] = [];
      for (const group of Map.groupBy(rows, ({ group_id: id }) => id).values()) {
        found.push(...(await toWire(db, accountId, group)));
      }
      return found;
    },

    publishIncidentDraft: ({ params: { draftId }, body }, { principal: { accountId } }) =>
      commits.run(async (unit) => {
        const locked = await draftOf(unit, accountId, draftId);
        const [draft] = await toWire(unit, accountId, locked);
        if (draft === undefined) throw notFound('draft of an incident', draftId);
        const { name, severity, description, notifySubscribers } = { ...draft, ...body };
        const at = clock.now();
        const incidentId = await openIncident(services, unit, {
          ...{ accountId, checkId: null, at },
          serviceIds: draft.services.map(({ id }) => id),
          template: { name, severity, description, notifySubscribers },
        });
        await set(unit, accountId, locked, { state: 'OPENED', incident_id: incidentId });
        const rows = await ownRows(unit, 'incidents', accountId)
          .where('id', '=', incidentId)
          .execute();
        const [incident] = await presentIncidents(unit, accountId, rows, at);
        if (incident === undefined) throw notFound('incident', incidentId);
        return incident;
      }),

    dismissIncidentDraft: ({ params: { draftId } }, { principal: { accountId } }) =>
      commits.run(async (unit) => {
        const locked = await draftOf(unit, accountId, draftId);
        await set(unit, accountId, locked, { state: 'DISMISSED' });
        return undefined;
      }),
  };
}
