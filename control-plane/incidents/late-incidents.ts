/** Incidents that published work suppressed: checks that still fail open them once it is over. */
import type { z } from 'zod';
import type { triggerIncident } from '@monitor/shared/contract/check.ts';
import { effectiveFields, findCheck, groupOf, lockChecks } from '../checks/index.ts';
import { ownRows } from '../db/own-rows.ts';
import type { Services } from '../core/services.ts';
import { suppressesIncidents } from '../maintenance/index.ts';
import { openIncidentOf } from './incident-automation.ts';

/** A recovery has deleted the others. */
export async function openLateIncidents(services: Services): Promise<void> {
  const { db, commits, clock, outbox } = services;
  const owed = await db.selectFrom('owed_incidents').selectAll().orderBy('check_id').execute();
  if (owed.length === 0) return;
  for (const ofService of Map.groupBy(owed, ({ service_id: id }) => id).values()) {
    const [first] = ofService;
    if (first === undefined) continue;
    const { account_id: accountId, service_id: serviceId } = first;
    if (await suppressesIncidents(db, accountId, serviceId, clock.now())) continue;
    await commits.run(async (unit) => {
      const ids = await lockChecks(
        unit,
        ofService.map(({ check_id: id }) => id),
      );
      for (const checkId of ids) {
        const row = await findCheck(unit, accountId, checkId);
        const isOwed = await ownRows(unit, 'owed_incidents', accountId)
          .where('check_id', '=', checkId)
          .executeTakeFirst();
        if (row === undefined || isOwed === undefined) continue;
        await unit.deleteFrom('owed_incidents').where('check_id', '=', checkId).execute();
        const fields = effectiveFields(row, await groupOf(unit, row));
        const template = fields['triggerIncident'] as z.output<typeof triggerIncident> | null;
        if (!fields.activated || template == null) continue;
        const check = { accountId, checkId, checkName: row.name, at: clock.now() };
        await openIncidentOf(services, unit, check, template);
      }
    });
  }
  outbox.wake();
}
