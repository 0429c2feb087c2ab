/** Limits of subscription requests: the form is public, and sends mails and requests. */

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** Recent recorded requests. */
export interface RecentRequests {
  /** To this page within the hour. */
  ofPage: number;
  /** From this visitor, to any page, within the hour. */
  ofVisitor: number;
}

export const requestsCountMs = hourMs;
/** Requests are recorded as long as they count. */
export const requestsKeptMs = dayMs;
export const addressCountMs = dayMs;

/** Lifetime of the link in the mail. */
export const verificationMs = dayMs;
/** Unconfirmed subscriptions are deleted after this time. */
export const unconfirmedKeptMs = 30 * dayMs;

/** Webhooks of one page: each update is a request to all of them. */
export const webhooksOfPage = 500;
/** Requests that ask for confirmation to one host, for all pages: they must not trouble a stranger's server. */
const requestsToHost = 30;
/** A webhook to which nothing could be delivered for so long ends. */
export const webhookFailsMs = 3 * dayMs;

const requestsToPage = 500;
const requestsOfVisitor = 30;
const mailsToAddress = 5;
const betweenMailsMs = 5 * minuteMs;

/**
 * True when a visitor must wait. The decision does not depend on the mail address, so it does not
 * reveal subscribers. During an outage many people of one office subscribe, so thirty requests an
 * hour are allowed.
 */
export function mustWait({ ofPage, ofVisitor }: RecentRequests): boolean {
  return ofPage >= requestsToPage || ofVisitor >= requestsOfVisitor;
}

/** True when an address may get another confirmation mail: five a day, five minutes apart. */
export function mayAskAgain(
  asked: { lastAt: number | null; mailsToday: number },
  now: number,
): boolean {
  if (asked.mailsToday >= mailsToAddress) return false;
  return asked.lastAt === null || now - asked.lastAt >= betweenMailsMs;
}

export function hostMustWait(requestsToday: number): boolean {
  return requestsToday >= requestsToHost;
}

/** True while the link of a mail is valid. */
export function isTokenValid(sentAt: number | null, now: number): boolean {
  return sentAt !== null && now - sentAt < verificationMs;
}
