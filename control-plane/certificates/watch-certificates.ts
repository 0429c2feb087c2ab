import type { Services } from '../core/services.ts';
import type { alertOnCertificate } from '../alerting/index.ts';
import { lockChecks } from '../checks/index.ts';
import { settleCertificate } from './count-certificate-days.ts';
import { inTransaction } from '../db/unit.ts';

const checksAtOnce = 200;

/**
 * Counts the remaining days of certificates that lost a day, and evaluates their alerts: thresholds
 * are passed by time alone, even while no agent reports. True when there may be more.
 */
export async function watchCertificates(
  services: Services,
  alert?: typeof alertOnCertificate,
): Promise<boolean> {
  const { db, clock, outbox } = services;
  const { settled, hasNews } = await inTransaction(db, async (transaction) => {
    const due = await transaction
      .selectFrom('check_certificates')
      .select(['account_id as accountId', 'check_id as checkId'])
      .distinct()
      .where('due_at', '<=', clock.now())
      .limit(checksAtOnce)
      .execute();
    const checkIds = due.map(({ checkId }) => checkId);
    const locked = new Set(await lockChecks(transaction, checkIds));
    let isQueued = false;
    for (const check of due.filter(({ checkId }) => locked.has(checkId))) {
      if (await settleCertificate(services, transaction, check, alert)) isQueued = true;
    }
    return { settled: due.length, hasNews: isQueued };
  });
  if (hasNews) outbox.wake();
  return settled === checksAtOnce;
}
