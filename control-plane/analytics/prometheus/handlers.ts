/** The Prometheus endpoint of an account. */
import type { prometheusRoutes } from '@monitor/shared/contract/prometheus.ts';
import { notFound } from '../../errors/api-error.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Services } from '../../core/services.ts';
import { checkFamilies } from './check-families.ts';
import type { Family } from '../../core/metric-family.ts';
import { exposition } from './exposition.ts';
import { locationFamilies } from './location-families.ts';

/** Answers are cached this long, so that several scrapers cost as much as one. */
const freshForMs = 30_000;
const maxAccounts = 1_000;

interface Scrape {
  at: number;
  text: Promise<string>;
}

/** Other names for the same metrics; see `compat/prometheus-names.ts`. */
export type FurtherNames = (families: readonly Family[]) => Family[];

function write(
  { hub, readPool }: Services,
  accountId: string,
  now: number,
  furtherNames: FurtherNames | null,
): Promise<string> {
  return readPool.read(accountId, async (db) => {
    const families = [
      ...(await checkFamilies(db, accountId, now, furtherNames !== null)),
      ...(await locationFamilies({ db, hub }, accountId, now)),
    ];
    return exposition([...families, ...(furtherNames?.(families) ?? [])]);
  });
}

export function prometheusHandlers(
  services: Services,
  furtherNames: FurtherNames | null = null,
): Handlers<typeof prometheusRoutes> {
  const scrapes = new Map<string, Scrape>();

  const scrape = async (accountId: string): Promise<string> => {
    const now = services.clock.now();
    const known = scrapes.get(accountId);
    if (known !== undefined && now - known.at < freshForMs && now >= known.at) return known.text;
    if (scrapes.size >= maxAccounts) scrapes.clear();
    const fresh = { at: now, text: write(services, accountId, now, furtherNames) };
    scrapes.set(accountId, fresh);
    try {
      return await fresh.text;
    } catch (error) {
      if (scrapes.get(accountId) === fresh) scrapes.delete(accountId);
      throw error;
    }
  };

  return {
    getPrometheusMetrics: (_input, { principal }) => scrape(principal.accountId),

    getPrometheusMetricsOfAccount: async ({ params }, { principal }) => {
      if (params.accountId !== principal.accountId) throw notFound('account', params.accountId);
      return scrape(principal.accountId);
    },
  };
}
