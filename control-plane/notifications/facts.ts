/** The content of notifications, stored at the time of the decision, so that nothing is looked up later. */
import type { z } from 'zod';
import type { alertType } from '@monitor/shared/contract/alert-notification.ts';
import type { RootCause } from '@monitor/shared/contract/root-cause.ts';
import type { CheckType } from '@monitor/shared/contract/checks/index.ts';

export type AlertType = z.infer<typeof alertType>;

/** One of the last runs, for the chart; lists are oldest first. */
export interface RecentRun {
  startedAt: number;
  responseTimeMs: number;
  state: 'passing' | 'degraded' | 'failing';
}

interface AlertedCheck {
  id: string;
  name: string;
  type: CheckType;
  description: string | null;
  tags: string[];
  groupName: string | null;
}

interface AlertedResult {
  id: string;
  location: string;
  /** Display name of a private location; absent for others. */
  locationName?: string;
  startedAt: number;
  responseTimeMs: number;
  statusCode: string | null;
  statusText: string | null;
  /** The failure in one line, scrubbed by the agent. */
  error: string | null;
  /** The location was overloaded during the run; absent otherwise. */
  overload?: { since: number; reason: string | null };
}

/** The first few checks, and how many more. */
export interface AlsoFailing {
  names: string[];
  more: number;
}

/** An alert about a check. Instants in milliseconds. */
export interface AlertFacts {
  kind: 'alert';
  /** `check_alerts.id`. */
  alertId: string;
  alertType: AlertType;
  at: number;
  check: AlertedCheck;
  /** Null for a certificate. */
  result: AlertedResult | null;
  /** Start of the failing or degraded runs that this is about. */
  since: number | null;
  isReminder: boolean;
  /** 0 for the alert itself, otherwise the number of the reminder. */
  reminderSequence: number;
  ssl: { daysRemaining: number; domain: string } | null;
  /**
   * Why the alert is closed without a recovery: the check is no longer watched, or its certificate
   * was renewed. Absent in rows of older versions.
   */
  withdrawn?: 'deactivated' | 'deleted' | 'renewed' | null;
  /** Deduplication key of paging systems; the same from the first alert to the recovery. */
  incidentKey: string;
  /** Who took it on; absent when nobody did. */
  acknowledged?: { by: string; at: number };
  /** Other checks that began to fail within minutes of it; absent without any. */
  alsoFailing?: AlsoFailing;
  /** Why it fails, from what else ran in that minute; absent in rows of older versions. */
  rootCause?: RootCause;
  /** The step of an escalation policy that sends it; absent otherwise. */
  escalation?: { policy: string; step: number };
  recentRuns: RecentRun[];
}

/** A location with checks that has had no agent for a while, or has one again. */
export interface LocationFacts {
  kind: 'location';
  at: number;
  location: string;
  /** Display name, or the slug. */
  locationName: string;
  isServed: boolean;
  unservedSince: number;
  checks: { id: string; name: string }[];
  incidentKey: string;
}

/** Checks of a location with nothing but agent errors, or with conclusive results again. */
export interface AgentHealthFacts {
  kind: 'faults';
  at: number;
  location: string;
  /** Display name, or the slug. */
  locationName: string;
  /** Code of the errors; null for all results of the location. */
  code: string | null;
  isOver: boolean;
  /** It ended because of conclusive results, not because nothing runs any more. */
  isConclusive: boolean;
  since: number;
  /** Number of runs; this and the following fields have no meaning at the end. */
  runs: number;
  mostCommonCode: string | null;
  /** The newest message of the most common error, scrubbed by the agent. */
  message: string | null;
  checks: { id: string; name: string }[];
  incidentKey: string;
}

/** A check of a group; lists are cut. */
export interface GroupedCheck {
  id: string;
  name: string;
  error: string | null;
  /** Absent without one. */
  description?: string;
}

/** Alerts with one cause, sent together; a later notification has what was added and what recovered. */
export interface GroupFacts {
  kind: 'group';
  at: number;
  groupId: string;
  incidentKey: string;
  /** `the host api.shop.example`; null for several causes. */
  cause: string | null;
  /** 1 for the first notification about the group. */
  sequence: number;
  since: number;
  /** Since the last notification; the lists have the first few. */
  began: { count: number; isFailing: boolean; checks: GroupedCheck[] };
  ended: { count: number; checks: GroupedCheck[] };
  reminded: number;
  /** Checks of the group whose problem lasts. */
  open: number;
  /** Checks of the group so far. */
  total: number;
  /** Who took outages of the group on; absent when nobody did. */
  acknowledgedBy?: string[];
  /** Checks that are not of the group and began to fail within minutes of it; absent without any. */
  alsoFailing?: AlsoFailing;
  /** Why its checks fail, the surest first; absent without any. */
  rootCauses?: RootCause[];
  /** Alerts that waited because of the limit of the channel. */
  heldBack: number;
  maxPerHour: number;
  /** Until when the channel gets no further notification; null while it may get one. */
  limitedUntil: number | null;
}

/** A published maintenance that is to be ended by a person, and has reached its end. */
export interface OverrunFacts {
  kind: 'maintenance';
  at: number;
  windowId: number;
  name: string;
  startedAt: number;
  plannedEnd: number;
  incidentKey: string;
}

/** The control plane is away from its agents, or back: agents send this. */
export interface ControlPlaneFacts {
  kind: 'control-plane';
  /** When the message was made. */
  at: number;
  isOver: boolean;
}

/** A report in words of its own. */
export interface ReportFacts {
  kind: 'report';
  at: number;
  label: string;
  title: string;
  reason: string;
  details: { label: string; value: string }[];
  link: { url: string; text: string };
  incidentKey: string;
}

/** A test of a channel, or of a device of the person who tests it. */
export interface TestFacts {
  kind: 'test';
  isOfDevice?: true;
  at: number;
}

export type NotificationFacts =
  | AlertFacts
  | LocationFacts
  | AgentHealthFacts
  | GroupFacts
  | OverrunFacts
  | ControlPlaneFacts
  | ReportFacts
  | TestFacts;

/** A request to a subscriber of a status page; where it goes stands in the subscription. */
export interface SubscriberRequest {
  subscriptionId: string;
  body: string;
}

/** A complete mail. */
export interface Mail {
  to: string;
  subject: string;
  text: string;
  html: string;
  headers: Record<string, string>;
}
