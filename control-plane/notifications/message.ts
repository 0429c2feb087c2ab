/** The text of a notification, before channel types format it. */
import { findCheckType } from '@monitor/shared/contract/checks/index.ts';
import { dataCenterLocations } from '@monitor/shared/contract/primitives.ts';
import { oneLine } from '../core/escape.ts';
import type {
  AlertFacts,
  AlertType,
  ControlPlaneFacts,
  LocationFacts,
  NotificationFacts,
  OverrunFacts,
  RecentRun,
} from './facts.ts';
import { agentHealthMessage } from './agent-health-message.ts';
import { groupMessage } from './group-message.ts';
import { linkToAgents, linkToCheck, linkToMaintenance, linkToResult } from './links.ts';
import {
  alsoFailingText,
  causeLines,
  count,
  durationText,
  instantText,
  namesText,
} from './phrases.ts';

/** Severity of a message: it decides colours, and whether paging systems open or close an alert. */
export type Tone = 'failing' | 'degraded' | 'recovered' | 'withdrawn' | 'notice';

/** True for messages that close an alert: a recovery, or the end of monitoring. */
export function isClosing(tone: Tone): tone is 'recovered' | 'withdrawn' {
  return tone === 'recovered' || tone === 'withdrawn';
}

export interface Message {
  tone: Tone;
  /** One or two words, in capitals for subjects: `FAILING`. */
  label: string;
  /** A sentence: `Check "Checkout" has failed`. */
  title: string;
  /** Name of the check or of the location. */
  subject: string;
  /** The reason in one line; empty without one. */
  reason: string;
  /** Further facts, in order. */
  details: { label: string; value: string }[];
  /** Link for further reading, with its text. */
  link: { url: string; text: string };
  /** Links that change something, after they asked. */
  actions: readonly { url: string; text: string }[];
  /** Oldest first. */
  recentRuns: readonly RecentRun[];
  /** The same from the first alert to the recovery. */
  incidentKey: string;
  /** Instant of the event. */
  at: number;
}

interface Wording {
  tone: Tone;
  label: string;
  /** Follows the name of the check. */
  says: string;
  /** The same for reminders. */
  repeats: string;
}

const failing: Wording = {
  tone: 'failing',
  label: 'FAILING',
  says: 'has failed',
  repeats: 'is still failing',
};
const degraded: Wording = {
  tone: 'degraded',
  label: 'DEGRADED',
  says: 'is degraded',
  repeats: 'is still degraded',
};
const recovered: Wording = {
  tone: 'recovered',
  label: 'RECOVERED',
  says: 'has recovered',
  repeats: 'has recovered',
};

const wordings: Readonly<Record<AlertType, Wording>> = {
  NO_ALERT: { tone: 'notice', label: 'NOTICE', says: 'has news', repeats: 'has news' },
  ALERT_FAILURE: failing,
  ALERT_FAILURE_REMAIN: failing,
  ALERT_DEGRADED_FAILURE: failing,
  ALERT_DEGRADED: degraded,
  ALERT_DEGRADED_REMAIN: degraded,
  ALERT_FAILURE_DEGRADED: { ...degraded, says: 'no longer fails, but is degraded' },
  ALERT_RECOVERY: recovered,
  ALERT_DEGRADED_RECOVERY: recovered,
  ALERT_SSL: { tone: 'degraded', label: 'CERTIFICATE', says: '', repeats: '' },
};

const withdrawals: Readonly<Record<NonNullable<AlertFacts['withdrawn']>, Wording>> = {
  deactivated: {
    tone: 'withdrawn',
    label: 'DEACTIVATED',
    says: 'was deactivated and is no longer watched',
    repeats: '',
  },
  deleted: {
    tone: 'withdrawn',
    label: 'DELETED',
    says: 'was deleted and is no longer watched',
    repeats: '',
  },
  renewed: { tone: 'recovered', label: 'CERTIFICATE', says: '', repeats: '' },
};

/** Display name of a location. */
export function locationName(location: string): string {
  return location in dataCenterLocations
    ? dataCenterLocations[location as keyof typeof dataCenterLocations]
    : location;
}

type Certificate = NonNullable<AlertFacts['ssl']>;

function certificateTitle(
  { domain, daysRemaining: days }: Certificate,
  isRenewed: boolean,
): string {
  if (days < 0) return `The certificate of ${domain} has expired`;
  if (isRenewed) return `The certificate of ${domain} is now good for ${count(days, 'day')}`;
  return days === 0
    ? `The certificate of ${domain} expires today`
    : `The certificate of ${domain} expires in ${count(days, 'day')}`;
}

/** The link of an alert; a deleted check has no page. */
function linkOf({ check, result, withdrawn }: AlertFacts, publicUrl: string): Message['link'] {
  if (withdrawn === 'deleted') return { url: publicUrl, text: 'Open the monitor' };
  return result === null
    ? { url: linkToCheck(publicUrl, check.id), text: 'Open the check' }
    : { url: linkToResult(publicUrl, check.id, result.id), text: 'Open the result' };
}

/** Why a check is degraded whose details do not say; null where time is not what degrades it. */
export function slowness(checkType: string, responseTimeMs: number): string | null {
  return findCheckType(checkType)?.degradedBy === 'response-time'
    ? `${Math.round(responseTimeMs)} ms are above its degraded limit`
    : null;
}

function reasonOf({ check, result, ssl, withdrawn }: AlertFacts, tone: Tone): string {
  if (withdrawn === 'deactivated' || withdrawn === 'deleted') {
    return 'its alert is closed without a recovery';
  }
  if (ssl !== null || result === null) return '';
  if (result.error !== null && result.error.trim() !== '') return oneLine(result.error);
  // A successful response is not the reason of the alert.
  if (tone === 'degraded') return slowness(check.type, result.responseTimeMs) ?? '';
  return result.statusCode === null
    ? ''
    : oneLine(`${result.statusCode} ${result.statusText ?? ''}`);
}

/** Adds a sentence about an overloaded location, where times may include delays of the agent. */
function withOverload(
  reason: string,
  result: AlertFacts['result'],
  timezone: string | null,
): string {
  if (result?.overload === undefined) return reason;
  const { since, reason: because } = result.overload;
  const name = oneLine(result.locationName ?? locationName(result.location));
  const lasts =
    since === 0 ? 'was overloaded' : `is overloaded since ${instantText(since, timezone)}`;
  const why = because === null ? '' : `: ${oneLine(because)}`;
  const said = `The location ${name} ${lasts}${why}; times measured there include the agent's own waiting.`;
  return reason === '' ? said : `${reason}. ${said}`;
}

/** `it lasted 1 h 10 min; acknowledged by Ann`. */
function recoveryText({ since, at, acknowledged }: AlertFacts): string {
  const parts = [
    ...(since === null ? [] : [`it lasted ${durationText(at - since)}`]),
    ...(acknowledged === undefined ? [] : [`acknowledged by ${oneLine(acknowledged.by)}`]),
  ];
  return parts.join('; ');
}

function alertMessage(
  facts: AlertFacts,
  publicUrl: string,
  timezone: string | null,
): Omit<Message, 'actions'> {
  const { check, result, ssl, since, at, withdrawn = null } = facts;
  const wording = withdrawn === null ? wordings[facts.alertType] : withdrawals[withdrawn];
  const name = oneLine(check.name);
  const says = facts.isReminder ? wording.repeats : wording.says;
  const isOver = wording.tone === 'recovered';
  const isExpired = withdrawn === null && ssl !== null && ssl.daysRemaining < 0;
  const lines: [string, string | null][] = [
    ['Check', `${name} (${check.type})`],
    ['Group', check.groupName],
    ['Location', result && (result.locationName ?? locationName(result.location))],
    ['Status', result?.statusCode ? `${result.statusCode} ${result.statusText ?? ''}` : null],
    ['Response time', result && `${Math.round(result.responseTimeMs)} ms`],
    ['Run at', result && instantText(result.startedAt, timezone)],
    [isOver ? 'Began' : 'Since', since === null ? null : instantText(since, timezone)],
    ['Lasted', since !== null && isOver ? durationText(at - since) : null],
    [
      'Acknowledged',
      facts.acknowledged === undefined
        ? null
        : `by ${facts.acknowledged.by}, ${instantText(facts.acknowledged.at, timezone)}`,
    ],
    ...(isOver ? [] : causeLines(facts.rootCause === undefined ? [] : [facts.rootCause])),
    [
      'What else failed',
      facts.alsoFailing === undefined ? null : alsoFailingText(facts.alsoFailing),
    ],
    [
      'Escalation',
      facts.escalation === undefined
        ? null
        : `step ${facts.escalation.step} of ${facts.escalation.policy}`,
    ],
    ['Reminder', facts.isReminder ? String(facts.reminderSequence) : null],
    ['Domain', ssl && ssl.domain],
    ['Tags', check.tags.length === 0 ? null : check.tags.join(', ')],
    ['About', check.description],
  ];
  return {
    tone: isExpired ? 'failing' : wording.tone,
    label: facts.isReminder && !isOver ? `STILL ${wording.label}` : wording.label,
    title:
      ssl === null || wording.tone === 'withdrawn'
        ? `Check "${name}" ${says}`
        : certificateTitle(ssl, withdrawn === 'renewed'),
    subject: name,
    reason: withOverload(
      isOver ? (ssl === null ? recoveryText(facts) : '') : reasonOf(facts, wording.tone),
      result,
      timezone,
    ),
    details: lines.flatMap(([label, value]) => {
      const text = oneLine(value ?? '');
      return text === '' ? [] : [{ label, value: text }];
    }),
    link: linkOf(facts, publicUrl),
    recentRuns: facts.recentRuns,
    incidentKey: facts.incidentKey,
    at,
  };
}

function locationMessage(
  facts: LocationFacts,
  publicUrl: string,
  timezone: string | null,
): Omit<Message, 'actions'> {
  const name = oneLine(facts.locationName);
  const { isServed, unservedSince, checks, at } = facts;
  const names = namesText(checks.map((check) => oneLine(check.name)));
  return {
    tone: isServed ? 'recovered' : 'failing',
    label: isServed ? 'AGENT IS BACK' : 'NO AGENT',
    title: isServed ? `Location "${name}" has an agent again` : `Location "${name}" has no agent`,
    subject: name,
    reason: isServed
      ? ''
      : `${count(checks.length, 'check')} ${checks.length === 1 ? 'does' : 'do'} not run there`,
    details: [
      { label: 'Location', value: name === facts.location ? name : `${name} (${facts.location})` },
      { label: isServed ? 'Began' : 'Since', value: instantText(unservedSince, timezone) },
      ...(isServed ? [{ label: 'Lasted', value: durationText(at - unservedSince) }] : []),
      ...(names === '' ? [] : [{ label: 'Checks', value: names }]),
    ],
    link: { url: linkToAgents(publicUrl), text: 'Open the agents' },
    recentRuns: [],
    incidentKey: facts.incidentKey,
    at,
  };
}

function overrunMessage(
  { name: given, at, startedAt, plannedEnd, incidentKey }: OverrunFacts,
  publicUrl: string,
  timezone: string | null,
): Omit<Message, 'actions'> {
  const name = oneLine(given);
  return {
    tone: 'notice',
    label: 'OVERRUN',
    title: `Maintenance "${name}" is not over`,
    subject: name,
    reason: 'its planned end has passed: alerts are sent again, and pages still show it',
    details: [
      { label: 'Began', value: instantText(startedAt, timezone) },
      { label: 'Planned end', value: instantText(plannedEnd, timezone) },
      { label: 'What to do', value: 'complete it, or extend it' },
    ],
    link: { url: linkToMaintenance(publicUrl), text: 'Open maintenance' },
    recentRuns: [],
    incidentKey,
    at,
  };
}

/** Agents send it later, so it says nothing of a time. */
function controlPlaneMessage(
  { at, isOver }: ControlPlaneFacts,
  publicUrl: string,
): Omit<Message, 'actions'> {
  return {
    tone: isOver ? 'recovered' : 'failing',
    label: isOver ? 'BACK' : 'AWAY',
    title: isOver
      ? 'Agents reach the control plane again'
      : 'Agents do not reach the control plane',
    subject: 'Control plane',
    reason: isOver
      ? 'results that they kept meanwhile arrive now'
      : 'it sends no alerts meanwhile; agents run their checks and keep the results',
    details: [{ label: 'Address', value: publicUrl }],
    link: { url: publicUrl, text: 'Open the monitor' },
    recentRuns: [],
    incidentKey: 'control-plane',
    at,
  };
}

function textsOf(
  facts: NotificationFacts,
  id: string,
  publicUrl: string,
  timezone: string | null,
): Omit<Message, 'actions'> {
  switch (facts.kind) {
    case 'alert':
      return alertMessage(facts, publicUrl, timezone);
    case 'location':
      return locationMessage(facts, publicUrl, timezone);
    case 'faults':
      return agentHealthMessage(facts, publicUrl, timezone);
    case 'group':
      return groupMessage(facts, publicUrl, timezone);
    case 'maintenance':
      return overrunMessage(facts, publicUrl, timezone);
    case 'control-plane':
      return controlPlaneMessage(facts, publicUrl);
    case 'report':
      return { ...facts, tone: 'notice', subject: facts.title, recentRuns: [] };
    case 'test':
      return {
        tone: 'notice',
        label: 'TEST',
        title: facts.isOfDevice
          ? 'This is a test of notifications on this device'
          : 'This is a test of an alert channel',
        subject: 'Test',
        reason: `${facts.isOfDevice ? 'you tested this device' : 'a user tested this channel'}; nothing is wrong`,
        details: [{ label: 'Sent', value: instantText(facts.at, timezone) }],
        link: { url: publicUrl, text: 'Open the monitor' },
        recentRuns: [],
        incidentKey: `test-${id}`,
        at: facts.at,
      };
  }
}

/** The message for a stored fact. `publicUrl` is the base of its links; instants are in UTC and `timezone`. */
export function messageOf(
  facts: NotificationFacts,
  id: string,
  publicUrl: string,
  timezone: string | null = null,
): Message {
  const texts = textsOf(facts, id, publicUrl, timezone);
  return {
    ...texts,
    // A line break in a name would begin a line of the message that somebody else wrote.
    label: oneLine(texts.label),
    title: oneLine(texts.title),
    subject: oneLine(texts.subject),
    reason: oneLine(texts.reason),
    details: texts.details.map(({ label, value }) => ({
      ...{ label: oneLine(label), value: oneLine(value) },
    })),
    actions: [],
  };
}

/** `Check "Checkout" has failed: status was 500`. */
export function sentenceOf({ title, reason }: Message): string {
  return reason === '' ? title : `${title}: ${reason}`;
}

/** `[FAILING] Checkout: status was 500`. */
export function subjectOf({ label, subject, title, reason }: Message): string {
  const name = label === 'CERTIFICATE' ? title : subject;
  return `[${label}] ${reason === '' ? name : `${name}: ${reason}`}`;
}
