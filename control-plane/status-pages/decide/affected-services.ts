import type { Visibility } from '../../maintenance/decide/planned-maintenance.ts';

/** The services of a page that published maintenance affects; null where the page does not show it. */
export function affectedServices(
  { enabled, statusPageIds, serviceIds, affectAllServices }: Visibility,
  pageId: string,
  ofPage: readonly string[],
): string[] | null {
  if (!enabled) return null;
  const affected = ofPage.filter((id) => affectAllServices || serviceIds.includes(id));
  const isShown =
    statusPageIds.length > 0
      ? statusPageIds.includes(pageId)
      : affectAllServices || affected.length > 0;
  return isShown ? affected : null;
}
