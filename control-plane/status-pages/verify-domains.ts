/** Verifies custom domains of status pages. DNS look-ups run outside of transactions. */
import { sql } from 'kysely';
import { largerOf, smallerOf } from '../db/expressions.ts';
import type { Db, RowOf } from '../db/tables.ts';
import type { Services } from '../core/services.ts';
import { formsOf, type Claim } from './status-page-domains.ts';

type PageRow = RowOf<'status_pages'>;
type DomainServices = Pick<Services, 'clock' | 'commits' | 'db' | 'domains' | 'logger'>;

const minuteMs = 60_000;
const maxWaitMs = 6 * 60 * minuteMs;
const pagesAtOnce = 20;

function claimOf(page: PageRow): Claim | null {
  const { claimed_domain: domain, domain_challenge: challenge } = page;
  return domain === null || challenge === null ? null : { domain, challenge };
}

/** The page that is served under a domain. */
export function holderOf(db: Db, domain: string): Promise<PageRow | undefined> {
  return db
    .selectFrom('status_pages')
    .selectAll()
    .where('custom_domain', 'in', formsOf(domain))
    .executeTakeFirst();
}

/**
 * Looks up the proof of a page's domain and serves the page there when it is found. A page that has
 * the domain already keeps it only while its own proof still exists.
 */
export async function verifyDomain(services: DomainServices, page: PageRow): Promise<void> {
  const { clock, commits, db, domains, logger } = services;
  const claim = claimOf(page);
  if (claim === null || page.custom_domain === claim.domain) return;
  const prove = async (one: Claim, otherwise: boolean): Promise<boolean> => {
    try {
      return await domains.isProven(one);
    } catch (error) {
      logger.info({ err: error, domain: one.domain }, 'the DNS of a status page did not answer');
      return otherwise;
    }
  };
  const isProven = await prove(claim, false);
  const holder = await holderOf(db, claim.domain);
  const held = holder === undefined ? null : claimOf(holder);
  const isHeld =
    holder !== undefined && (!isProven || (held !== null && (await prove(held, true))));
  const isServed = !isHeld && (isProven || domains.isAllowed(claim.domain));

  await commits.run(async (unit) => {
    const present = await unit
      .selectFrom('status_pages')
      .selectAll()
      .where('id', '=', page.id)
      .executeTakeFirst();
    if (present?.domain_challenge !== claim.challenge) return;
    const presentHolder = await holderOf(unit, claim.domain);
    // A page that took the domain in the meantime must prove it at the next check.
    const mayServe = isServed && presentHolder?.id === holder?.id;
    if (mayServe && presentHolder !== undefined) {
      await unit
        .updateTable('status_pages')
        .set({ custom_domain: null })
        .where('id', '=', presentHolder.id)
        .execute();
    }
    await unit
      .updateTable('status_pages')
      .set({
        domain_checked_at: clock.now(),
        ...(mayServe ? { custom_domain: claim.domain } : {}),
      })
      .where('id', '=', page.id)
      .execute();
  });
}

/** Checks the domains that are due: after a minute at first, up to every six hours later. */
export async function verifyDomains(services: DomainServices): Promise<void> {
  const now = services.clock.now();
  const tenthMs = sql`(${now} - domain_claimed_at) / 10`;
  const waitMs = smallerOf(largerOf(tenthMs, sql.lit(minuteMs)), sql.lit(maxWaitMs));
  const due = await services.db
    .selectFrom('status_pages')
    .selectAll()
    .where('claimed_domain', 'is not', null)
    .where('custom_domain', 'is', null)
    .where(sql<boolean>`coalesce(domain_checked_at + ${waitMs}, 0) <= ${now}`)
    .orderBy('domain_checked_at')
    .limit(pagesAtOnce)
    .execute();
  await Promise.all(due.map((page) => verifyDomain(services, page)));
}
