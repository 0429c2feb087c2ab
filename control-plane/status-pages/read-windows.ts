/**
 * Maintenance windows of a page: those that are published there, and those that nobody has said it of and that pause
 * a check of one of its services.
 */
import type { Db } from '../db/tables.ts';
import {
  checksOfServices,
  heldBetween,
  selectionOf,
  updatesOf,
  windowsSince,
} from '../maintenance/index.ts';
import { affectedServices } from './decide/affected-services.ts';
import type { WindowFacts } from './view/facts.ts';
import { knownAheadMs } from './view/notices.ts';

interface PageKey {
  accountId: string;
  pageId: string;
}

/** The services of the page. */
async function servicesOf(db: Db, { accountId, pageId }: PageKey): Promise<string[]> {
  const rows = await db
    .selectFrom('card_services')
    .innerJoin('status_page_cards', 'status_page_cards.id', 'card_services.card_id')
    .select('card_services.service_id')
    .distinct()
    .where('status_page_cards.account_id', '=', accountId)
    .where('status_page_cards.status_page_id', '=', pageId)
    .execute();
  return rows.map(({ service_id: id }) => id);
}

/** Windows, present and past versions, that count or are shown: since an instant, and ahead of now. */
export async function readWindows(
  db: Db,
  key: PageKey,
  since: number,
  now: number,
): Promise<WindowFacts[]> {
  const windows = (await windowsSince(db, key.accountId, since)).filter(
    (window) => heldBetween(window, since, now + knownAheadMs).length > 0,
  );
  if (windows.length === 0) return [];
  const services = await servicesOf(db, key);
  const checks = windows.some(({ visibility }) => visibility === null)
    ? await checksOfServices(db, key.accountId, services)
    : [];
  const ids = [...new Set(checks.map(({ checkId }) => checkId))];
  const isSelected =
    ids.length === 0 ? () => false : await selectionOf(db, key.accountId, windows, ids);
  const shown = windows.flatMap((window) => {
    if (window.visibility !== null) {
      const serviceIds = affectedServices(window.visibility, key.pageId, services);
      return serviceIds === null ? [] : [{ window, serviceIds }];
    }
    const concerned = checks.filter(({ checkId }) => isSelected(window, checkId));
    const serviceIds = [...new Set(concerned.map(({ serviceId }) => serviceId))];
    return serviceIds.length === 0 ? [] : [{ window, serviceIds }];
  });
  const published = shown.flatMap(({ window }) => (window.visibility === null ? [] : [window.id]));
  const range = { from: since, to: now + knownAheadMs };
  const updates =
    published.length === 0 ? [] : await updatesOf(db, key.accountId, published, range);
  const byWindow = Map.groupBy(updates, (update) => update.window_id);
  return shown.map((each) => ({
    ...each,
    updates: (byWindow.get(each.window.id) ?? []).map((row) => ({
      ...{ scheduledAt: row.starts_at, status: row.status, description: row.description },
      createdAt: row.created_at,
    })),
  }));
}
