/** Explains decisions in plain English. */
import { causeText, type Cause } from './causes-of.ts';
import type { ChannelReason } from './channels.ts';
import { subjectOf, type AlertReason, type Decision } from './decision.ts';
import type { AlertRules } from './rules.ts';
import type { TickCount } from './tick.ts';

const ordinals = ['first', 'second', 'third', 'fourth', 'fifth'];

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** Text for the share of failing locations: "2 of 3 locations failed (the threshold is 80 %)". */
function tickText({ failing, degraded, conclusive, percentage }: TickCount): string {
  const affected = failing > 0 ? failing : degraded;
  const verb = failing > 0 ? 'failed' : 'degraded';
  const share = percentage === null ? '' : ` (the threshold is ${percentage} %)`;
  return `${affected} of ${counted(conclusive, 'location')} ${verb}${share}`;
}

function escalationText({ runs, lastsMs, to }: Decision, { escalation }: AlertRules): string {
  const adjective = to === 'degraded' ? 'degraded' : 'failed';
  if (escalation.type === 'RUN_BASED') {
    return `${runs} of ${counted(escalation.runs, `${adjective} run`)} in a row`;
  }
  const state = to === 'degraded' ? 'degraded' : 'failing';
  return `${state} for ${Math.floor(lastsMs / 60_000)} of ${counted(escalation.minutes, 'minute')}`;
}

function notReachedText(decision: Decision, rules: AlertRules): string {
  const so = escalationText(decision, rules);
  const { escalation } = rules;
  return escalation.type === 'RUN_BASED'
    ? `${so}; the ${ordinals[escalation.runs - 1] ?? 'last'} will alert`
    : `${so}; the alert comes if it lasts`;
}

function raisedText(decision: Decision, rules: AlertRules): string {
  const { from, to, reason, reminder } = decision;
  switch (reason) {
    case 'CONDITION_CHANGED':
      return `the check went from ${from} to ${to}, which alerts at once`;
    case 'RECOVERED':
      return 'the check passed again after an alert';
    case 'REMINDER_DUE': {
      const { amount } = rules.reminders;
      const of = amount >= 100_000 ? '' : ` of ${amount}`;
      return `the check is still ${to}: reminder ${reminder}${of}`;
    }
    default:
      return escalationText(decision, rules);
  }
}

/** Reasons why no alert was sent. `explain` words the reasons that depend on further facts. */
const plain: Partial<Record<AlertReason, string>> = {
  PASSING: 'the run passed and nothing changed',
  ALREADY_ALERTED: 'an alert for this is already open',
  NOTHING_TO_RECOVER: 'the check passed again before an alert was raised',
  MUTED: 'no alert was raised, because the check or its group is muted',
  DEACTIVATED: 'the check or its group is deactivated',
  INCONCLUSIVE: 'the run could not be carried out, which says nothing about the target',
  OUTDATED: 'a newer run was evaluated before',
  TICK_DECIDED: 'the runs of the other locations were evaluated before this one reported',
  OUTSIDE_SCHEDULE:
    'the check runs in parallel, and one triggered run does not stand for all locations',
  NO_CHANNEL: 'an alert was raised, but no alert channel is subscribed to it',
  NOT_COUNTED: 'only the last attempt of a run that was not cancelled counts',
  NOT_KEPT: 'the decision about this run was not kept',
};

function maintenanceText({ cause, to }: Decision, { isPinged }: AlertRules): string {
  if (cause === 'REMINDER') return 'the reminder waits for the first run after the maintenance';
  if (cause === 'ESCALATION') return 'the alert waits for the first run after the maintenance';
  return to === 'passing'
    ? `the check recovered during maintenance; ${isPinged === true ? 'its end' : 'the first pass after it'} will say so`
    : 'the check is in maintenance';
}

function notRaisedText(decision: Decision, rules: AlertRules): string {
  const { reason, tick, cause, to } = decision;
  switch (reason) {
    case 'THRESHOLD_NOT_REACHED':
      return notReachedText(decision, rules);
    case 'TICK_OPEN':
      return tick === null
        ? 'not all locations have reported'
        : `${tickText(tick)}, ${counted(tick.expected - tick.conclusive, 'location')} yet to report`;
    case 'MAINTENANCE':
      return maintenanceText(decision, rules);
    case 'MUTED':
      if (cause === 'REMINDER') return 'the reminder waits while the check or its group is muted';
      return to === 'passing'
        ? `the check recovered while muted; ${rules.isPinged === true ? 'its end' : 'the first pass after that'} will say so`
        : plainReason(reason);
    default:
      return plainReason(reason);
  }
}

function plainReason(reason: AlertReason): string {
  return plain[reason] ?? reason;
}

function asSentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

/** The sentence for a reason that needs no further facts. */
export function explainReason(reason: AlertReason): string {
  return asSentence(plainReason(reason));
}

/** Explains a decision: "2 of 3 failed runs in a row; the third will alert." */
export function explain(decision: Decision, rules: AlertRules): string {
  const { tick, isRaised, reason } = decision;
  const text = isRaised ? raisedText(decision, rules) : notRaisedText(decision, rules);
  const wasCounted = tick !== null && tick.failing + tick.degraded > 0 && reason !== 'TICK_OPEN';
  return asSentence(wasCounted ? `${text}; ${tickText(tick)}` : text);
}

const channelTexts: Record<Exclude<ChannelReason, 'WANTED'>, string> = {
  SUBSCRIPTION_OFF: 'Its subscription is off.',
  FAILURES_OFF: 'It is not subscribed to failures (sendFailure).',
  DEGRADED_OFF: 'It is not subscribed to degradations (sendDegraded).',
  RECOVERIES_OFF: 'It is not subscribed to recoveries (sendRecovery).',
  NEVER_TOLD: 'It was not notified of the problem, so it is not notified of the recovery.',
  CERTIFICATES_OFF: 'It is not subscribed to expiring certificates (sslExpiry).',
  NOT_YET: 'More days remain than its threshold (sslExpiryThreshold).',
  ALREADY_TOLD: 'It was notified of this certificate already.',
};

const wantedTexts = {
  failing: 'It is subscribed to failures.',
  degraded: 'It is subscribed to degradations.',
  recovery: 'It is subscribed to recoveries.',
  certificate: 'It is subscribed to expiring certificates.',
} as const;

/** Explains why a channel was notified or not. */
export function explainChannel(reason: ChannelReason, alertType: Decision['alertType']): string {
  if (reason !== 'WANTED') return channelTexts[reason];
  return wantedTexts[subjectOf(alertType) ?? 'failing'];
}

/** Explains with what a channel that groups got an alert; `alerts` is null while it waits. */
export function explainGroup(alerts: number | null, cause: Cause | null): string {
  if (alerts === null) return 'It waits for others of the same cause (grouping).';
  if (alerts === 1) return 'No other alert of the same cause waited with it.';
  const others = counted(alerts - 1, 'other');
  return cause === null
    ? `It was sent together with ${others}, because the channel had reached its limit (maxPerHour).`
    : `It was sent together with ${others}, which ${alerts === 2 ? 'shares' : 'share'} ${causeText(cause)}.`;
}
