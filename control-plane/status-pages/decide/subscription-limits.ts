/** How far strangers can make us send mail: the form of a status page is public. */

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** What has been asked lately, counted from the requests that are on record. */
export interface RecentRequests {
  /** To this page within the hour. */
  ofPage: number;
  /** From this visitor, to any page, within the hour. */
  ofVisitor: number;
}

export const requestsCountMs = hourMs;
/** A request is on record for as long as it counts. */
export const requestsKeptMs = dayMs;
export const addressCountMs = dayMs;

/** The link in the mail works for so long. */
export const verificationMs = dayMs;
/** A subscription that nobody confirmed is forgotten after that. */
export const unconfirmedKeptMs = 30 * dayMs;

const requestsToPage = 500;
const requestsOfVisitor = 30;
const mailsToAddress = 5;
const betweenMailsMs = 5 * minuteMs;

/**
 * Whether a visitor has to wait. It does not depend on the address, so it tells nothing about who is
 * subscribed. An outage makes many people of one office subscribe at once: thirty an hour may.
 */
export function mustWait({ ofPage, ofVisitor }: RecentRequests): boolean {
  return ofPage >= requestsToPage || ofVisitor >= requestsOfVisitor;
}

/** Whether an address gets another mail that asks to confirm: five a day, five minutes apart. */
export function mayAskAgain(
  asked: { lastAt: number | null; mailsToday: number },
  now: number,
): boolean {
  if (asked.mailsToday >= mailsToAddress) return false;
  return asked.lastAt === null || now - asked.lastAt >= betweenMailsMs;
}

/** Whether the link of a mail that was written at an instant still works. */
export function isTokenValid(sentAt: number | null, now: number): boolean {
  return sentAt !== null && now - sentAt < verificationMs;
}
