import type { CheckType } from '@monitor/shared/contract/checks/index.ts';

/** The facts of a FINAL result for alerting. Instants and durations in milliseconds. */
export interface RunVerdict {
  accountId: string;
  checkId: string;
  checkType: CheckType;
  resultId: string;
  runLocation: string;
  /** The slot; null for a triggered run, and for one by a clock that was ahead. */
  scheduledFor: number | null;
  startedAt: number;
  stoppedAt: number;
  hasFailures: boolean;
  hasErrors: boolean;
  isDegraded: boolean;
  responseTimeMs: number;
  statusCode: string | null;
  statusText: string | null;
  /** The failure in one line. */
  error: string | null;
}
