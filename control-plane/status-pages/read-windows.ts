/** Maintenance windows of a page: windows that apply to a check that reports to one of its services. */
import type { Kysely } from 'kysely';
import { jsonValue } from '../db/expressions.ts';
import type { Database } from '../db/tables.ts';
import { heldBetween, selectionOf, windowsSince } from '../maintenance/index.ts';
import type { WindowFacts } from './view/facts.ts';
import { knownAheadMs } from './view/notices.ts';

interface PageKey {
  accountId: string;
  pageId: string;
}

/** Checks of the account that report to a service of the page. */
function reportingChecks(
  db: Kysely<Database>,
  { accountId, pageId }: PageKey,
): Promise<{ id: string; serviceId: string }[]> {
  const reportsTo = jsonValue<string>('checks.body_json', '$.triggerIncident.serviceId');
  return db
    .selectFrom('checks')
    .select((select) => ['checks.id', select.parens(reportsTo).as('serviceId')])
    .where('checks.account_id', '=', accountId)
    .where(
      reportsTo,
      'in',
      db
        .selectFrom('card_services')
        .innerJoin('status_page_cards', 'status_page_cards.id', 'card_services.card_id')
        .where('status_page_cards.status_page_id', '=', pageId)
        .select('card_services.service_id'),
    )
    .execute();
}

/** Windows, present and past versions, that count or are shown: since an instant, and ahead of now. */
export async function readWindows(
  db: Kysely<Database>,
  key: PageKey,
  since: number,
  now: number,
): Promise<WindowFacts[]> {
  const windows = (await windowsSince(db, key.accountId, since)).filter(
    (window) => heldBetween(window, since, now + knownAheadMs).length > 0,
  );
  if (windows.length === 0) return [];
  const checks = await reportingChecks(db, key);
  if (checks.length === 0) return [];
  const ids = checks.map(({ id }) => id);
  const isSelected = await selectionOf(db, key.accountId, windows, ids);
  return windows.flatMap((window) => {
    const concerned = checks.filter(({ id }) => isSelected(window, id));
    const serviceIds = [...new Set(concerned.map(({ serviceId }) => serviceId))];
    return serviceIds.length === 0 ? [] : [{ window, serviceIds }];
  });
}
