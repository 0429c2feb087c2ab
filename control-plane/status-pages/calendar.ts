/** Maintenance as an iCalendar feed. */
import ical, { ICalEventStatus } from 'ical-generator';
import type { Locale } from './languages/locale.ts';
import { namedServices } from './view/notices.ts';
import type { StatusPageView } from './view/view.ts';

/** A calendar of past, present and future maintenance. */
export function calendarText(view: StatusPageView, address: string, locale: Locale): string {
  const { texts } = locale;
  const calendar = ical({
    // The library does not escape line breaks here, where they would end the property.
    name: texts.maintenance.of(view.page.name.replace(/\s+/g, ' ')),
    prodId: { company: 'monitor', product: 'status page', language: locale.language.toUpperCase() },
    ttl: 3600,
    url: `${address}/maintenance.ics`,
  });
  for (const notice of view.notices) {
    const names = locale.list(namedServices(notice).map(({ name }) => name));
    calendar.createEvent({
      id: `${notice.id}@${view.page.id}`,
      start: new Date(notice.startsAt),
      end: new Date(notice.endsAt),
      // An unchanged event must be byte-identical in every answer.
      stamp: new Date(notice.plannedAt),
      summary: notice.name,
      description: [notice.description ?? '', names && texts.incident.concerns(names)]
        .join('\n')
        .trim(),
      url: `${address}/`,
      status: ICalEventStatus.CONFIRMED,
    });
  }
  return calendar.toString();
}
