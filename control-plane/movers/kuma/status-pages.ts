/** Status pages of Uptime Kuma: their sections become cards, and their monitors services. */
import { customDomain, pageSlug } from '@monitor/shared/contract/primitives.ts';
import { ref, type Plan, type Ref } from '../plan.ts';
import type { SourceObject } from '../source-object.ts';

const unfollowed = ': pages do not follow their visitors';
const reasons: Readonly<Record<string, string>> = {
  footer_text: ' has no counterpart',
  custom_css: ': pages have colours of their own here',
  ...{ google_analytics_tag_id: unfollowed, analytics_id: unfollowed },
  ...{ analytics_type: unfollowed, analytics_script_url: unfollowed },
  search_engine_index: ' has no counterpart',
  show_powered_by: ' follows the plan here',
};

export interface Section {
  section: SourceObject;
  /** Monitors in their order. */
  monitors: { id: number; name: string; link: SourceObject; hasCheck: boolean }[];
}

export const serviceId = (monitor: number) => `service-${monitor}`;

/** One service for the account, on whichever pages it stands. */
function service(plan: Plan, id: number, name: string): Ref {
  if (!plan.has(serviceId(id))) {
    plan.add('status-page-service', serviceId(id), { name: name.slice(0, 255) });
  }
  return ref(serviceId(id));
}

const maxServices = 200;
const maxCards = 100;

export function convertStatusPage(
  plan: Plan,
  id: number,
  page: SourceObject,
  sections: readonly Section[],
  domains: readonly string[],
): void {
  const title = page.text('title');
  const entry = plan.entry('status page', String(id), title);
  page.skip('id', 'created_date', 'modified_date', 'password');
  if (!page.flag('published')) entry.nothing('the status page is not published');
  const given = page.text('slug');
  const url = given.replace(/[^A-Za-z0-9]+/g, '-').replace(/^-+|-+$/g, '');
  if (!pageSlug.safeParse(url).success) entry.nothing(`its address \`${given}\` is not usable`);
  entry.changed(url !== given && `address \`${given}\` → \`${url}\``);
  const domain = domains.find((one) => customDomain.safeParse(one).success);
  const others = domains.filter((one) => one !== domain);
  entry.notCarried(...others.map((other) => `domain ${other}: a page has one domain here`));
  const icon = page.text('icon');
  const isLink = /^https?:\/\//i.test(icon);
  const isUploaded = !isLink && !['', '/icon.svg'].includes(icon);
  entry.notCarried(isUploaded && 'its icon was uploaded: upload it again');
  const description = entry.cut('description', page.text('description'), 500);
  const theme = page.text('theme').toUpperCase();
  const cards = sections.map(({ section, monitors }) => {
    const beyond = `monitors beyond the first ${maxServices} of a section`;
    entry.notCarried(monitors.length > maxServices && beyond);
    const services = monitors.slice(0, maxServices).map(({ id: monitor, name, link, hasCheck }) => {
      const staysUp = `shows «${name}», which has no check: its service stays up`;
      entry.approximate(!hasCheck && staysUp);
      link.skip('id', 'monitor_id', 'group_id', 'weight');
      const links = ` of «${name}»: services have no links`;
      entry.leftovers(link, { send_url: links, custom_url: links });
      return service(plan, monitor, name);
    });
    return { name: section.text('name').slice(0, 255) || 'Services', services };
  });
  entry.notCarried(cards.length > maxCards && `sections beyond the first ${maxCards}`);
  plan.say(
    'CHANGED',
    cards.some((card) => card.services.length > 0) &&
      'Status pages: a service is down while an incident is open; each check opens one of severity MAJOR, without mails to subscribers.',
  );
  plan.add('status-page', `status-page-${id}`, {
    name: plan.name(entry, title),
    url,
    cards: cards.slice(0, maxCards),
    description: description === '' ? null : description,
    ...(domain === undefined ? {} : { customDomain: domain }),
    ...(isLink ? { logo: icon } : {}),
    ...(['LIGHT', 'DARK', 'AUTO'].includes(theme) ? { defaultTheme: theme } : {}),
  });
  entry.leftovers(page, reasons);
}
