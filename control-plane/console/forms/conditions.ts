/** Fields that have no effect with the values beside them are not asked for, and values that contradict each other. */
import { isValues, valueAt, type Values } from './values.ts';

type Condition = (beside: Values, whole: Values) => boolean;

const isNoSingleRetry: Condition = ({ type }) => type !== 'SINGLE_RETRY';
const callsMethod: Condition = ({ mode }) => mode !== 'HEALTH';
const mayUseTls: Condition = ({ url, grpcConfig }) =>
  isValues(grpcConfig) ? grpcConfig.tls === true : !/^http:/i.test(String(url));

const conditions: Record<string, Condition> = {
  frequencyOffset: () => false,
  'cards.id': () => false,
  'cards.statusPageId': () => false,
  alertSettings: (_beside, whole) => whole.useGlobalAlertSettings !== true,
  'alertSettings.runBasedEscalation': (beside) => beside.escalationType !== 'TIME_BASED',
  'alertSettings.timeBasedEscalation': (beside) => beside.escalationType === 'TIME_BASED',
  'alertSettings.reminders.interval': (beside) => beside.amount !== 0,
  'alertSettings.parallelRunFailureThreshold.percentage': (beside) => beside.enabled === true,
  'retryStrategy.baseBackoffSeconds': isNoSingleRetry,
  'retryStrategy.maxRetries': isNoSingleRetry,
  'retryStrategy.maxDurationSeconds': isNoSingleRetry,
  'request.body': (beside) => beside.bodyType !== 'NONE',
  'request.skipSSL': mayUseTls,
  'request.httpVersion': mayUseTls,
  'request.port': (beside) => beside.protocol !== 'ICMP',
  'request.grpcConfig.service': (beside) => beside.mode === 'HEALTH',
  'request.grpcConfig.method': callsMethod,
  'request.grpcConfig.message': callsMethod,
  'request.grpcConfig.storeResponseBody': callsMethod,
  'request.grpcConfig.serviceDefinition': callsMethod,
  'request.grpcConfig.protoContent': (beside) =>
    beside.mode !== 'HEALTH' && beside.serviceDefinition === 'PROTO_FILE',
  'request.sslClientCertificateId': (_beside, whole) =>
    valueAt(whole, 'request.sslConfig.clientCertificateMode') === 'explicit',
  'heartbeat.period': (beside) => (beside.cron ?? '') === '',
  'heartbeat.periodUnit': (beside) => (beside.cron ?? '') === '',
  'heartbeat.timezone': (beside) => (beside.cron ?? '') !== '',
  engineVersion: (beside) => beside.engine != null,
  sslExpiryThreshold: (beside) => beside.sslExpiry === true,
  repeatInterval: (beside) => beside.repeatUnit != null,
  repeatEndsAt: (beside) => beside.repeatUnit != null,
  tags: (beside) => beside.pauseAllChecks !== true,
  silenceAlertsTags: (beside) => beside.silenceAllAlerts !== true,
};

/** `path` has no places in lists: `cards.name`. */
export function isAsked(path: string, beside: Values | undefined, whole: Values) {
  return conditions[path]?.(beside ?? {}, whole) ?? true;
}

const baseline = 'request.sslConfig.securityBaseline';

interface Order {
  low: string;
  high: string;
  message: string;
  mayBeEqual?: boolean;
}

/** The field `high` of each must be above `low`, or not below it. */
const orders: readonly Order[] = [
  {
    low: 'degradedResponseTime',
    high: 'maxResponseTime',
    message: 'Must be above the degraded limit',
  },
  {
    low: 'degradedPacketLossThreshold',
    high: 'maxPacketLossThreshold',
    message: 'Must be above the degraded limit',
  },
  { low: 'startsAt', high: 'endsAt', message: 'Must be after the start' },
  { low: 'startsAt', high: 'repeatEndsAt', message: 'Must be after the start' },
  {
    low: `${baseline}.minTLSVersion.value`,
    high: `${baseline}.recommendedTLSVersion.value`,
    message: 'Must not be below the minimum',
    mayBeEqual: true,
  },
  {
    low: `${baseline}.minKeySizeBits.value`,
    high: `${baseline}.recommendedKeySizeBits.value`,
    message: 'Must not be below the minimum',
    mayBeEqual: true,
  },
  {
    low: 'retryStrategy.baseBackoffSeconds',
    high: 'retryStrategy.maxDurationSeconds',
    message: 'Ends before the first retry',
  },
];

/** By the path of the field to mark. */
export function contradictions(values: Values): Map<string, string> {
  const wrong = orders.filter(({ low, high, mayBeEqual = false }) => {
    const [from, to] = [valueAt(values, low), valueAt(values, high)];
    if (from == null || from === '' || to == null || to === '') return false;
    // Instants and versions are in the order of their texts.
    const [less, more] = typeof from === 'number' ? [from, Number(to)] : [String(from), String(to)];
    return more < less || (!mayBeEqual && more === less);
  });
  return new Map(wrong.map(({ high, message }) => [high, message]));
}
