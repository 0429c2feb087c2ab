/** Fields that have no effect with the values beside them are not asked for. */
import type { Values } from './values.ts';

type Condition = (beside: Values, whole: Values) => boolean;

const conditions: Record<string, Condition> = {
  frequencyOffset: () => false,
  'cards.id': () => false,
  'cards.statusPageId': () => false,
  alertSettings: (_beside, whole) => whole.useGlobalAlertSettings !== true,
  'alertSettings.runBasedEscalation': (beside) => beside.escalationType !== 'TIME_BASED',
  'alertSettings.timeBasedEscalation': (beside) => beside.escalationType === 'TIME_BASED',
  'alertSettings.reminders.interval': (beside) => beside.amount !== 0,
  'alertSettings.parallelRunFailureThreshold.percentage': (beside) => beside.enabled === true,
  'retryStrategy.baseBackoffSeconds': (beside) => beside.type !== 'SINGLE_RETRY',
  'retryStrategy.maxRetries': (beside) => beside.type !== 'SINGLE_RETRY',
  'retryStrategy.maxDurationSeconds': (beside) => beside.type !== 'SINGLE_RETRY',
  'request.body': (beside) => beside.bodyType !== 'NONE',
  sslExpiryThreshold: (beside) => beside.sslExpiry === true,
  repeatInterval: (beside) => beside.repeatUnit != null,
  repeatEndsAt: (beside) => beside.repeatUnit != null,
  tags: (beside) => beside.pauseAllChecks !== true,
};

/** `path` has no places in lists: `cards.name`. */
export function isAsked(path: string, beside: Values, whole: Values) {
  return conditions[path]?.(beside, whole) ?? true;
}
