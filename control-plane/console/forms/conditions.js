/** Fields that have no effect with the values beside them are not asked for. */
/** @import { Values } from './values.js' */

/** @typedef {(beside: Values, whole: Values) => boolean} Condition */

/** @type {Record<string, Condition>} */
const conditions = {
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

/**
 * @param {string} path without places in lists: `cards.name`
 * @param {Values} beside
 * @param {Values} whole
 */
export function isAsked(path, beside, whole) {
  return conditions[path]?.(beside, whole) ?? true;
}
