/**
 * Certificates arrive with results. Each location of a check stores the newest one it has seen;
 * `decide/certificate-expiry.ts` chooses among the locations.
 */
import type { ItemOutcome } from '@monitor/shared/contract/agent-protocol.ts';
import type { CertificateConsumer } from '../results/index.ts';
import { checkTypes, type CheckType } from '@monitor/shared/contract/checks/index.ts';
import { hiddenCertificate } from '@monitor/shared/contract/encrypted-result.ts';
import {
  certificateTargetOf,
  effectiveFields,
  findCheck,
  groupOf,
  locationsOf,
} from '../checks/index.ts';
import { wakeOutbox } from '../notifications/index.ts';
import { encryptsResults } from '../scheduling/index.ts';
import { settleCertificate } from './count-certificate-days.ts';

/** Stores one certificate in the transaction of its batch. */
export const recordCertificate: CertificateConsumer = async (
  services,
  db,
  { accountId, location },
  item,
) => {
  const { id, checkId, host, port } = item;
  const without = (outcome: ItemOutcome) => ({ outcome, afterCommit: null });
  const row = await findCheck(db, accountId, checkId);
  if (row === undefined) {
    return without({ id, outcome: 'refused', reason: 'the check does not exist' });
  }
  const effective = effectiveFields(row, await groupOf(db, row));
  const target = certificateTargetOf(checkTypes[row.type as CheckType], effective);
  const isWanted = locationsOf(effective).includes(location);
  // The check was changed after this certificate was seen.
  if (!isWanted || target?.host !== host || target.port !== port)
    return without({ id, outcome: 'late' });
  const known = await db
    .selectFrom('check_certificates')
    .select('measured_at')
    .where('account_id', '=', accountId)
    .where('check_id', '=', checkId)
    .where('location', '=', location)
    .executeTakeFirst();
  // The clock of an agent may be ahead.
  const measuredAt = Math.min(item.measuredAt, services.clock.now());
  if (known !== undefined && known.measured_at >= measuredAt)
    return without({ id, outcome: 'duplicate' });
  // Whatever the agent sent: it may not know the keys of its location yet.
  const isHidden = await encryptsResults(db, { accountId, location });
  const { issuer, subject, fingerprint256 } = isHidden ? hiddenCertificate : item;
  const seen = {
    ...{ host, port, measured_at: measuredAt, due_at: measuredAt },
    valid_from: item.validFrom,
    valid_to: item.validTo,
    ...{ issuer, subject, fingerprint256 },
    problem: item.problem,
  };
  await db
    .insertInto('check_certificates')
    .values({ check_id: checkId, account_id: accountId, location, ...seen })
    .onConflict((conflict) => conflict.columns(['check_id', 'location']).doUpdateSet(seen))
    .execute();
  const isQueued = await settleCertificate(services, db, { accountId, checkId });
  const afterCommit = wakeOutbox(services, isQueued);
  return { outcome: { id, outcome: 'accepted' }, afterCommit };
};
