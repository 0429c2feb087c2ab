import { effectiveFields, groupOf } from './effective-check.ts';
import { signedPart } from './signatures.ts';
import { fieldsOf, locationsOf, runsOnAgents, type CheckRow } from './store.ts';
import type { Services } from '../core/services.ts';

const signatureProblems = {
  NONE: null,
  VALID: null,
  CHANGED:
    'the signature is not of what the check is now: agents that run only signed work refuse it until it is signed again',
  UNREADABLE: 'the signature cannot be read: agents that run only signed work refuse the check',
} as const;

async function signatureWarnings(services: Services, row: CheckRow): Promise<string[]> {
  if (fieldsOf(row)['signature'] == null) return [];
  const { state } = await signedPart(services, row);
  return [signatureProblems[state] ?? []].flat();
}

async function locationWarnings({ db, hub }: Services, row: CheckRow): Promise<string[]> {
  const locations = locationsOf(effectiveFields(row, await groupOf(db, row)));
  if (locations.length === 0) return ['the check has no location, so it never runs'];
  const unserved = locations.filter((location) => !hub.isServed(row.account_id, location));
  if (unserved.length === 0) return [];
  const names = unserved.join(', ');
  return unserved.length === locations.length
    ? [`no agent serves ${names}: the check has no results until one does`]
    : [`no agent serves ${names}: the check does not run there until one does`];
}

/** Why a check that was just saved cannot run, or not in all of its locations; empty without problems. */
export async function checkWarnings(services: Services, row: CheckRow): Promise<string[]> {
  const repairs =
    fieldsOf(row)['aiAutoRepairEnabled'] === true
      ? ['nothing repairs checks here: `aiAutoRepairEnabled` has no effect']
      : [];
  if (!runsOnAgents(row.type) || row.activated === 0) return repairs;
  return [
    ...repairs,
    ...(await locationWarnings(services, row)),
    ...(await signatureWarnings(services, row)),
  ];
}
