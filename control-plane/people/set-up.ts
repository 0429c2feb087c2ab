/** The first person of an installation: a one-time link makes them, and no link works afterwards. */
import { findOrCreateAccount } from '../accounts/index.ts';
import type { PeopleDeps } from './deps.ts';
import { addressOfLink, makeLink } from './links.ts';
import { hasPeople } from './store.ts';

/**
 * Makes the link of the set-up; null when there are people. Links of other replicas keep working, as
 * each of them prints its own.
 */
export async function makeSetupLink(
  deps: Pick<PeopleDeps, 'db' | 'clock' | 'newId' | 'publicUrl'>,
): Promise<string | null> {
  const { db, clock, newId, publicUrl } = deps;
  if (await hasPeople(db)) return null;
  const accountId = await findOrCreateAccount({ db, clock, newId });
  const { token } = await makeLink(deps, {
    ...{ kind: 'SETUP', accountId, personId: null },
    ...{ email: '', role: 'OWNER', madeBy: 'the start of the control plane' },
  });
  return addressOfLink(publicUrl, 'SETUP', token);
}
