/** Who is on call as an iCalendar feed, behind a link that is signed and can be revoked. */
import { createHmac } from 'node:crypto';
import ical from 'ical-generator';
import { isSame } from '../../core/keys.ts';
import type { Services } from '../../core/services.ts';
import { shiftsBetween } from '../decide/rotation.ts';
import { fieldsOfPolicy, type PolicyRow } from './store.ts';

const dayMs = 86_400_000;
const shown = { pastMs: 28 * dayMs, comingMs: 180 * dayMs };

/** Of the link that was made last: with each new one the one before ends. */
const signatureOf = ({ secrets }: Pick<Services, 'secrets'>, { id, calendar_link_at }: PolicyRow) =>
  createHmac('sha256', secrets.deriveKey('on-call-calendars'))
    .update(`${id}\n${calendar_link_at}`)
    .digest('base64url');

/** Null for a policy without a link. */
export function calendarLinkOf(services: Services, row: PolicyRow): string | null {
  if (row.calendar_link_at === null) return null;
  const query = new URLSearchParams({ signature: signatureOf(services, row) });
  return `${services.publicUrl}/v1/on-call-calendars/${row.id}?${query.toString()}`;
}

export function isSignatureOf(services: Services, row: PolicyRow, signature: string): boolean {
  return row.calendar_link_at !== null && isSame(signatureOf(services, row), signature);
}

/** The shifts of a policy, or those of one person. */
export function onCallCalendar(row: PolicyRow, now: number, person?: string): string {
  const { name, rotation } = fieldsOfPolicy(row);
  // The library does not escape line breaks here, where they would end the property.
  const title = name.replace(/\s+/g, ' ');
  const calendar = ical({
    ...{ name: `On call: ${title}`, ttl: 3600 },
    prodId: { company: 'monitor', product: 'on call' },
  });
  const { shifts } =
    rotation === null
      ? { shifts: [] }
      : shiftsBetween(rotation, now - shown.pastMs, now + shown.comingMs);
  for (const shift of shifts) {
    if (person !== undefined && shift.person.toLowerCase() !== person.toLowerCase()) continue;
    calendar.createEvent({
      id: `${shift.from}-${row.id}`,
      start: new Date(shift.from),
      end: new Date(shift.until),
      // An unchanged event must be byte-identical in every answer.
      stamp: new Date(row.updated_at ?? row.created_at),
      summary: `On call: ${shift.person} (${title})`,
    });
  }
  return calendar.toString();
}
