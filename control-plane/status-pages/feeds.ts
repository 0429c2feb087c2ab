/** Incidents as feeds: RSS, Atom and JSON Feed. */
import { Feed } from 'feed';
import type { IncidentView, UpdateView } from './view/incidents.ts';
import { overallWords } from './view/states.ts';
import type { StatusPageView } from './view/view.ts';
import { escapeText, html, type Markup } from '../core/html.ts';
import { instantWords, listWords, excerpt, prose, wordsOfStatus } from './html/text.ts';

export type FeedFormat = 'rss' | 'atom' | 'json';

/** Entries are incidents, which change, or single updates, for readers that show only new entries. */
export type FeedEntry = 'incident' | 'update';

const maxEntries = 30;
/** Updates per incident; the others are on its page. */
const maxUpdates = 20;

/** XML 1.0 does not allow these characters, not even escaped. */

const unspeakable = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]|\p{Surrogate}/gu;

function updateMarkup({ status, description, publicAt }: UpdateView): Markup {
  return html`<p><strong>${wordsOfStatus(status)}</strong> · ${instantWords(publicAt)}</p>
    ${prose(excerpt(description))}`;
}

interface Item {
  title: string;
  link: string;
  id: string;
  date: Date;
  content: string;
}

function incidentItem(incident: IncidentView, address: string): Item {
  const link = `${address}/incidents/${incident.id}`;
  const names = listWords(incident.services.map(({ name }) => name));
  return {
    title: `${wordsOfStatus(incident.status)}: ${incident.name}`,
    link,
    id: link,
    date: new Date(incident.updatedAt),
    content: html`<p>Concerns ${names}.</p>
      ${incident.updates.slice(0, maxUpdates).map(updateMarkup)}`.text,
  };
}

function updateItem(incident: IncidentView, update: UpdateView, address: string): Item {
  const link = `${address}/incidents/${incident.id}`;
  return {
    title: `${wordsOfStatus(update.status)}: ${incident.name}`,
    link,
    id: `${link}#${update.id}`,
    date: new Date(update.publicAt),
    content: updateMarkup(update).text,
  };
}

interface FeedParts {
  view: StatusPageView;
  address: string;
  format: FeedFormat;
  entry: FeedEntry;
  /** Path of the feed below the address. */
  path: string;
}

/** Renders a feed. Feed readers treat titles as HTML, so titles are escaped twice in XML. */
export function feedText({ view, address, format, entry, path }: FeedParts): string {
  const plain = (text: string): string => text.replace(unspeakable, '\uFFFD');
  const markup = (text: string): string =>
    format === 'json' ? plain(text) : escapeText(plain(text));
  const self = `${address}${path}`;
  const feed = new Feed({
    id: `${address}/`,
    link: `${address}/`,
    title: plain(view.page.name),
    // Atom requires an author; entries without one inherit it.
    author: { name: plain(view.page.name) },
    description: overallWords(view.state),
    updated: new Date(view.updatedAt),
    generator: false,
    language: 'en',
    ttl: 5,
    feed: self,
    feedLinks: { [format]: self },
  });
  const incidents = [...view.openIncidents, ...view.pastIncidents];
  const items = incidents.flatMap((incident) =>
    entry === 'incident'
      ? [incidentItem(incident, address)]
      : incident.updates.map((update) => updateItem(incident, update, address)),
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
