/** Incidents as feeds: RSS, Atom and JSON Feed. */
import { Feed } from 'feed';
import type { Locale } from './languages/locale.ts';
import type { IncidentView, UpdateView } from './view/incidents.ts';
import { isKnown } from './view/states.ts';
import type { ServiceView, StatusPageView } from './view/view.ts';
import { escapeText, html, type Markup } from '../core/html.ts';
import { anchorOf } from './html/place.ts';
import { excerpt, prose } from './html/text.ts';

export type FeedFormat = 'rss' | 'atom' | 'json';

/** Entries are incidents, which change, or single updates, for readers that show only new entries. */
export type FeedEntry = 'incident' | 'update';

const maxEntries = 30;
/** Updates per incident; the others are on its page. */
const maxUpdates = 20;

/** XML 1.0 does not allow these characters, not even escaped. */

const unspeakable = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]|\p{Surrogate}/gu;

function updateMarkup(locale: Locale, { status, description, publicAt }: UpdateView): Markup {
  return html`<p><strong>${locale.status(status)}</strong> · ${locale.instant(publicAt)}</p>
    ${prose(excerpt(description))}`;
}

const stateIn = (locale: Locale, service: ServiceView): string =>
  isKnown(service) ? locale.state(service.state) : locale.texts.notMeasured;

interface Item {
  title: string;
  link: string;
  id: string;
  date: Date;
  content: string;
}

function incidentItem(incident: IncidentView, { address, locale }: FeedContext): Item {
  const { titled, concerns } = locale.texts.incident;
  const link = `${address}/incidents/${incident.id}`;
  const names = locale.list(incident.services.map(({ name }) => name));
  return {
    title: titled(locale.status(incident.status), incident.name),
    link,
    id: link,
    date: new Date(incident.updatedAt),
    content: html`<p>${concerns(names)}</p>
      ${incident.updates.slice(0, maxUpdates).map((update) => updateMarkup(locale, update))}`.text,
  };
}

function updateItem(
  incident: IncidentView,
  update: UpdateView,
  { address, locale }: FeedContext,
): Item {
  const link = `${address}/incidents/${incident.id}`;
  return {
    title: locale.texts.incident.titled(locale.status(update.status), incident.name),
    link,
    id: `${link}#${update.id}`,
    date: new Date(update.publicAt),
    content: updateMarkup(locale, update).text,
  };
}

interface FeedContext {
  address: string;
  locale: Locale;
}

interface FeedParts extends FeedContext {
  view: StatusPageView;
  /** Its incidents alone; otherwise those of the whole page. */
  service?: ServiceView;
  format: FeedFormat;
  entry: FeedEntry;
  /** Path of the feed below the address. */
  path: string;
}

/** Renders a feed. Feed readers treat titles as HTML, so titles are escaped twice in XML. */
export function feedText({
  view,
  service,
  address,
  locale,
  format,
  entry,
  path,
}: FeedParts): string {
  const plain = (text: string): string => text.replace(unspeakable, '\uFFFD');
  const markup = (text: string): string =>
    format === 'json' ? plain(text) : escapeText(plain(text));
  const self = `${address}${path}`;
  const title = plain(
    service === undefined ? view.page.name : `${service.name} – ${view.page.name}`,
  );
  const link = service === undefined ? `${address}/` : `${address}/#${anchorOf(service)}`;
  const feed = new Feed({
    id: link,
    link,
    title,
    // Atom requires an author; entries without one inherit it.
    author: { name: plain(view.page.name) },
    description: service === undefined ? locale.headline(view) : stateIn(locale, service),
    updated: new Date(view.updatedAt),
    generator: false,
    language: locale.language,
    ttl: 5,
    feed: self,
    feedLinks: { [format]: self },
  });
  const incidents = [...view.openIncidents, ...view.pastIncidents].filter(
    ({ services }) => service === undefined || services.some(({ id }) => id === service.id),
  );
  const items = incidents.flatMap((incident) =>
    entry === 'incident'
      ? [incidentItem(incident, { address, locale })]
      : incident.updates.map((update) => updateItem(incident, update, { address, locale })),
  );
  const newest = items
    .sort((left, right) => right.date.getTime() - left.date.getTime())
    .slice(0, maxEntries);
  // RSS readers show the description, others the content.
  const body = format === 'rss' ? 'description' : 'content';
  for (const { content, title, ...item } of newest) {
    feed.addItem({ ...item, title: markup(title), [body]: plain(content) });
  }
  if (format === 'json') return feed.json1();
  return format === 'atom' ? feed.atom1() : feed.rss2();
}
