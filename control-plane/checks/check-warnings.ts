import { effectiveFields, groupOf } from './effective-check.ts';
import { locationsOf, runsOnAgents, type CheckRow } from './store.ts';
import type { Services } from '../core/services.ts';

/** Why a check that was just saved cannot run, or not in all of its locations; empty without problems. */
export async function checkWarnings({ db, hub }: Services, row: CheckRow): Promise<string[]> {
  if (!runsOnAgents(row.type) || row.activated === 0) return [];
  const locations = locationsOf(effectiveFields(row, await groupOf(db, row)));
  if (locations.length === 0) return ['the check has no location, so it never runs'];
  const unserved = locations.filter((location) => !hub.isServed(row.account_id, location));
  if (unserved.length === 0) return [];
  const names = unserved.join(', ');
  return unserved.length === locations.length
    ? [`no agent serves ${names}: the check has no results until one does`]
    : [`no agent serves ${names}: the check does not run there until one does`];
}
