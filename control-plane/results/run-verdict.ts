import type { CheckType } from '@monitor/shared/contract/checks/index.ts';

/** What alerting needs to know of the FINAL result of a run. Instants and durations in milliseconds. */
export interface RunVerdict {
  accountId: string;
  checkId: string;
  checkType: CheckType;
  resultId: string;
  runLocation: string;
  /** The slot; null for a run that was triggered. */
  scheduledFor: number | null;
  startedAt: number;
  stoppedAt: number;
  hasFailures: boolean;
  hasErrors: boolean;
  isDegraded: boolean;
  responseTimeMs: number;
  statusCode: string | null;
  statusText: string | null;
  /** What failed, in one line. */
  error: string | null;
}
