/** The texts of status pages in English; the other languages have the same ones. */
import { html, type Markup } from '../../core/html.ts';
import type { Severity } from '../view/facts.ts';
import type { IncidentView } from '../view/incidents.ts';
import type { NoticeView } from '../view/notices.ts';
import type { ServiceState } from '../view/states.ts';
import { pluralsOf } from './plural.ts';

const plural = pluralsOf('en');

export const en = {
  /** The name of the language in that language. */
  name: 'English',
  states: {
    major_outage: 'Major outage',
    partial_outage: 'Partial outage',
    degraded_performance: 'Degraded performance',
    under_maintenance: 'Under maintenance',
    operational: 'Operational',
  } as Record<ServiceState, string>,
  allOperational: 'All systems operational',
  noProblemKnown: 'No known problems',
  notMeasured: 'Not measured at the moment',
  statuses: {
    INVESTIGATING: 'Investigating',
    IDENTIFIED: 'Identified',
    MONITORING: 'Monitoring',
    RESOLVED: 'Resolved',
    scheduled: 'Scheduled',
    in_progress: 'In progress',
    verifying: 'Verifying',
    completed: 'Completed',
    cancelled: 'Cancelled',
  } as Record<IncidentView['status'] | NoticeView['status'], string>,
  severities: {
    CRITICAL: 'Critical',
    MAJOR: 'Major',
    MEDIUM: 'Medium',
    MINOR: 'Minor',
  } as Record<Severity, string>,
  /** Words that are no longer at the beginning of a text. */
  inSentence: (words: string) => words.toLowerCase(),
  lessThanAMinute: 'less than a minute',
  frame: {
    skip: 'Skip to content',
    pages: 'Pages',
    status: 'Status',
    history: 'History',
    subscribe: 'Subscribe',
    languages: 'Languages',
    timesIn: (zone: string) => `All times are in ${zone}.`,
    changeZone: 'Change',
    zoneTitle: 'Time zone',
    zoneLabel: 'Show times in',
    showZone: 'Show',
    signOut: 'Sign out',
    calendar: 'Calendar',
  },
  page: {
    description: (headline: string, page: string) =>
      `${headline}. Current status and history of ${page}.`,
    find: 'Find a service',
    currentStatus: 'Current status',
    asOf: (time: Markup) => html`As of ${time}`,
    affected: (some: number, all: number) => `${some} of ${all} services`,
    openIncidents: 'Current incidents',
    maintenance: 'Maintenance',
    pastIncidents: 'Past incidents',
    history: 'Incident history',
    noPastIncidents: 'No incidents were resolved in the last 14 days.',
  },
  uptime: {
    noData: 'no data yet',
    share: (percent: string) => `${percent} uptime`,
    shareSince: (percent: string, day: string) => `${percent} uptime since ${day}`,
    today: 'Today',
    noIncidents: (day: string) => `${day}: no incidents`,
    notWatchedBefore: (day: string) => `Not watched before ${day}`,
    lastDays: (count: number) => `last ${count} days`,
    since: (day: string) => `since ${day}`,
    summary: (service: string, period: string, percent: string, incidents: string) =>
      `${service}, ${period}: uptime ${percent}, ${incidents}`,
    help: 'How uptime is counted',
    definition:
      'It is the share of the last 90 days without an outage. A major outage counts with all of its time, a partial outage with 30% of it; degraded performance counts as up. Maintenance and the time before a service was watched are left out.',
    none: 'no incidents',
    onDays: (count: number) =>
      plural(count, { one: 'incidents on 1 day', other: `incidents on ${count} days` }),
  },
  incident: {
    of: (state: string, services: string) => `${state} of ${services}`,
    soFar: (since: Markup, duration: string) => html`since ${since}, ${duration} so far`,
    earlierUpdates: (count: number) => `Earlier updates (${count})`,
    allUpdates: 'All updates',
    updates: 'Updates',
    currentStatus: 'Current status',
    titled: (status: string, name: string) => `${status}: ${name}`,
    concerns: (services: string) => `Affects ${services}.`,
  },
  history: {
    inMonth: (month: string) => `Incidents in ${month}`,
    description: (page: string, month: string) => `Incidents of ${page} in ${month}.`,
    none: 'None.',
    incidents: 'Incidents',
    months: 'Months',
  },
  maintenance: {
    of: (page: string) => `Maintenance of ${page}`,
    concerns: (services: string) => `affects ${services}`,
    willConcern: (services: string) => `will affect ${services}`,
    again: (ranges: Markup) => html`Again ${ranges}`,
  },
  forms: {
    updatesByMail: 'Get updates by e-mail',
    aboutMails: 'A mail for every update of an incident. You can stop them with one click.',
    address: 'E-mail address',
    onlySome: 'Only some services',
    allOtherwise: 'Without a choice you get updates of all of them.',
    servicesGone: 'The services that you chose are no longer on this page. Please choose again.',
    subscribe: 'Subscribe',
    invalidAddress: 'This is not an e-mail address. Please check it.',
    tryLater: 'Please try again later',
    tooManyRequests: 'There were too many requests within the last hour.',
    checkMail: 'Check your mail',
    mailSent:
      'We have sent you a mail with a link. Follow it within a day to confirm that you want mails about this page.',
    toPage: 'To the status page',
    confirmTitle: 'Confirm your subscription',
    willGetUpdates: 'You will get every update of an incident.',
    confirm: 'Confirm',
    unsubscribe: 'Unsubscribe',
    willGetNoUpdates: 'You will get no more updates of this status page.',
    linkOutdated: 'This link no longer works',
    linkReplaced: 'It is too old, or a newer one has replaced it.',
    subscribed: 'You are subscribed',
    unsubscribed: 'You are unsubscribed',
    noMoreUpdates: 'You will get no more updates.',
    privatePage: 'This page is private',
    enterPassword: 'Enter its password to go on.',
    password: 'Password',
    continue: 'Continue',
    wrongPassword: 'This is not the password.',
    tooManyAttempts: 'Too many attempts. Please wait some minutes.',
  },
  webhook: {
    updates: 'Get updates by webhook',
    howTo:
      'A request to your URL for every update of an incident, signed as Standard Webhooks describe it.',
    url: 'URL (https)',
    invalidUrl: 'No request can be sent to this URL. It must begin with https://. Please check it.',
    checkRequests: 'Look at what your URL has received',
    requestSent:
      'We have sent a request with a link to your URL. Open the link within a day, or send a POST to it, to confirm that you want updates.',
    full: 'This page takes no more webhooks.',
    secret: 'The requests are signed with this secret. It is shown only now:',
  },
  slack: {
    updates: 'Get updates in Slack',
    howTo:
      'Send this line in the channel that should get every update of an incident. Slack needs its RSS app for this.',
  },
  errors: {
    nothingHere: 'There is nothing here',
    noSuchPage: 'No status page has this address.',
    seeStatus: 'See the current status',
    tryInAMinute: 'Please try again in a minute',
    tooManyFromAddress: 'There were too many requests from your address.',
    notAllowed: 'This cannot be done here',
    unreadable: 'This could not be read',
  },
  mail: {
    affected: (services: string) => `Affected: ${services}`,
    readMore: 'Read more',
    reason: (page: string) => `You get this mail because you subscribed to ${page}.`,
    unsubscribe: 'Unsubscribe',
    confirmTitle: 'Confirm your subscription',
    asked: (page: string) =>
      `Somebody, hopefully you, asked for mails about incidents on ${page} to be sent to this address.`,
    onlyAbout: (services: string) => `Only about: ${services}`,
    confirm: 'Confirm subscription',
    linkWorks:
      'The link works for 24 hours. If you did not ask for this, do nothing: you will hear no more of it.',
    changeLinkWorks:
      'The link works for 24 hours. If you did not ask for this, do nothing: your subscription stays as it is.',
  },
};

export type Texts = typeof en;
