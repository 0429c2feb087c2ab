/** What is said to people: written down in the moment it is decided, so that nothing is looked up later. */
import type { z } from 'zod';
import type { alertType } from '@monitor/shared/contract/alert-notification.ts';
import type { CheckType } from '@monitor/shared/contract/checks/index.ts';

export type AlertType = z.infer<typeof alertType>;

/** One of the last runs, for the chart. Oldest first where they are listed. */
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
  /** That people gave a private location; absent for others. */
  locationName?: string;
  startedAt: number;
  responseTimeMs: number;
  statusCode: string | null;
  statusText: string | null;
  /** What failed, in one line; already scrubbed by the agent. */
  error: string | null;
  /** The location was overloaded when it ran; absent otherwise. */
  overload?: { since: number; reason: string | null };
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
  /** When the stretch of failing or degraded runs began that this is about. */
  since: number | null;
  isReminder: boolean;
  /** 0 for the alert itself, 1 and up for reminders. */
  reminderSequence: number;
  ssl: { daysRemaining: number; domain: string } | null;
  /**
   * Why this closes what was told without a recovery: the check is not watched any more, or has a new
   * certificate. Absent in what older versions stored.
   */
  withdrawn?: 'deactivated' | 'deleted' | 'renewed' | null;
  /** The same from the first alert to the recovery: what deduplicates in paging systems. */
  incidentKey: string;
  recentRuns: RecentRun[];
}

/** A location with checks that has had no agent for a while, or has one again. */
export interface LocationFacts {
  kind: 'location';
  at: number;
  location: string;
  /** Name people gave it, or the slug. */
  locationName: string;
  isServed: boolean;
  unservedSince: number;
  checks: { id: string; name: string }[];
  incidentKey: string;
}

/** Checks of a location that get nothing but errors of ours, or do no longer. */
export interface FaultFacts {
  kind: 'faults';
  at: number;
  location: string;
  /** Name people gave it, or the slug. */
  locationName: string;
  /** Of the errors it is about; null for all that comes from the location. */
  code: string | null;
  isOver: boolean;
  /** Over because there are results again, not because nothing runs any more. */
  isConclusive: boolean;
  since: number;
  /** How many there were; with those that follow, of no meaning when it is over. */
  runs: number;
  mostCommonCode: string | null;
  /** The newest sentence of the most common error; already scrubbed by the agent. */
  message: string | null;
  checks: { id: string; name: string }[];
  incidentKey: string;
}

/** Somebody tries a channel out. */
export interface TestFacts {
  kind: 'test';
  at: number;
}

export type NotificationFacts = AlertFacts | LocationFacts | FaultFacts | TestFacts;

/** A mail that is ready to go. */
export interface Mail {
  to: string;
  subject: string;
  text: string;
  html: string;
  headers: Record<string, string>;
}
