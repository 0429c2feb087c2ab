/** Maintenance as a calendar to subscribe to. */
import ical, { ICalEventStatus } from 'ical-generator';
import type { StatusPageView } from './view/view.ts';
import { listWords } from './html/text.ts';

/** The text of a calendar with what was, is and will be. */
export function calendarText(view: StatusPageView, address: string): string {
  const calendar = ical({
    // The library escapes line breaks everywhere but here, where they would end the property.
    name: `Maintenance of ${view.page.name.replace(/\s+/g, ' ')}`,
    prodId: { company: 'monitor', product: 'status page', language: 'EN' },
    ttl: 3600,
    url: `${address}/maintenance.ics`,
  });
  for (const notice of view.notices) {
    const names = listWords(notice.services.map(({ name }) => name));
    calendar.createEvent({
      id: `${notice.id}@${view.page.id}`,
      start: new Date(notice.startsAt),
      end: new Date(notice.endsAt),
      // An event that did not change must read the same each time it is asked for.
      stamp: new Date(notice.plannedAt),
      summary: notice.name,
      description: [notice.description ?? '', `Concerns ${names}.`].join('\n').trim(),
      url: `${address}/`,
      status: ICalEventStatus.CONFIRMED,
    });
  }
  return calendar.toString();
}
