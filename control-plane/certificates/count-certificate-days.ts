/** The remaining days of the certificate of a check, in the status of the check. */
import { checkTypes, type CheckType } from '@monitor/shared/contract/checks/index.ts';
import type { Db } from '../db/tables.ts';
import { deleteOwnRows, updateOwnRows } from '../db/own-rows.ts';
import { certificateInForce, daysUntil, nextDayAt } from './decide/certificate-expiry.ts';
import {
  certificateTargetOf,
  type ChangedCheck,
  type CheckConsumer,
  domainOf,
} from '../checks/index.ts';
import type { Services } from '../core/services.ts';
import { writeCertificateDays } from '../results/index.ts';
import { alertOnCertificate } from '../alerting/index.ts';

interface CheckOfAccount {
  accountId: string;
  checkId: string;
}

interface Counted {
  domain: string;
  expiresAt: number;
  daysRemaining: number;
  /** False for a deactivated check: nobody is notified about it. */
  isActive: boolean;
}

/**
 * Writes the remaining days into the status of the check, and when to count them again. Gives the certificate in force; null when none is known.
 */
async function countDays(
  { clock, statuses }: Services,
  db: Db,
  { accountId, checkId }: CheckOfAccount,
): Promise<Counted | null> {
  const now = clock.now();
  const rows = await db
    .selectFrom('check_certificates as seen')
    .innerJoin('check_locations as place', (join) =>
      join
        .onRef('place.check_id', '=', 'seen.check_id')
        .onRef('place.location', '=', 'seen.location'),
    )
    .select(['seen.host', 'seen.port', 'seen.valid_to', 'seen.measured_at'])
    .where('seen.account_id', '=', accountId)
    .where('seen.check_id', '=', checkId)
    .execute();
  const counting = certificateInForce(
    rows.map(({ valid_to: validTo, measured_at: measuredAt, ...row }) => ({
      domain: domainOf(row),
      validTo,
      measuredAt,
    })),
  );
  const daysRemaining = counting === undefined ? null : daysUntil(counting.validTo, now);
  await writeCertificateDays(statuses, db, { accountId, checkId }, daysRemaining);
  const period = await db
    .selectFrom('schedule_periods')
    .select('id')
    .where('account_id', '=', accountId)
    .where('check_id', '=', checkId)
    .where('ends_at', 'is', null)
    .executeTakeFirst();
  const isActive = period !== undefined;
  const nextDay = nextDayAt(counting?.validTo ?? now, now);
  await updateOwnRows(db, 'check_certificates', accountId)
    .set({ due_at: nextDay })
    .where('check_id', '=', checkId)
    .execute();
  if (counting === undefined || daysRemaining === null) return null;
  return { domain: counting.domain, expiresAt: counting.validTo, daysRemaining, isActive };
}

/**
 * Counts the days and evaluates certificate alerts, in the transaction of the caller. True when
 * `services.outbox` must be woken after the commit.
 */
export async function settleCertificate(
  services: Services,
  db: Db,
  check: CheckOfAccount,
  alert: typeof alertOnCertificate = alertOnCertificate,
): Promise<boolean> {
  const counted = await countDays(services, db, check);
  if (counted?.isActive !== true) return false;
  const { isActive: _active, ...certificate } = counted;
  return alert(services, db, { ...check, ...certificate });
}

/** Deletes the certificates of the previous server after a check or its group has changed. */
async function dropOutdatedCertificates(
  services: Services,
  db: Db,
  { row, effective }: ChangedCheck,
): Promise<void> {
  const check = { accountId: row.account_id, checkId: row.id };
  const known = await db
    .selectFrom('check_certificates')
    .select(['location', 'host', 'port'])
    .where('account_id', '=', check.accountId)
    .where('check_id', '=', check.checkId)
    .execute();
  if (known.length === 0) return;
  const target = certificateTargetOf(checkTypes[row.type as CheckType], effective);
  const outdated = known.filter(({ host, port }) => host !== target?.host || port !== target.port);
  if (outdated.length > 0) {
    await deleteOwnRows(db, 'check_certificates', check.accountId)
      .where('check_id', '=', check.checkId)
      .where(
        'location',
        'in',
        outdated.map(({ location }) => location),
      )
      .execute();
  }
  await countDays(services, db, check);
}

export const certificatesOfChecks: CheckConsumer = {
  changed: async (services, db, change) => {
    await dropOutdatedCertificates(services, db, change);
    return null;
  },
};
