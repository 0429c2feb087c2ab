import type { Services } from '../core/services.ts';
import type { alertOnCertificate } from '../alerting/index.ts';
import { settleCertificate } from './count-certificate-days.ts';

const checksAtOnce = 200;

/**
 * Counts anew the days of certificates that have come a day closer to their end, and tells alerting:
 * thresholds are crossed by time alone, also while no agent looks. Gives true when there are more.
 */
export async function watchCertificates(
  services: Services,
  alert?: typeof alertOnCertificate,
): Promise<boolean> {
  const { db, clock, deliveries } = services;
  const { settled, hasNews } = await db.transaction().execute(async (transaction) => {
    const due = await transaction
      .selectFrom('check_certificates')
      .select(['account_id as accountId', 'check_id as checkId'])
      .distinct()
      .where('due_at', '<=', clock.now())
      .limit(checksAtOnce)
      .execute();
    let isTold = false;
    for (const check of due) {
      if (await settleCertificate(services, transaction, check, alert)) isTold = true;
    }
    return { settled: due.length, hasNews: isTold };
  });
  if (hasNews) deliveries.wake();
  return settled === checksAtOnce;
}
