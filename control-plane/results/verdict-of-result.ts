/** The verdict of a FINAL result, from its submission or its row. */
import type { ResultSubmission } from '@monitor/shared/contract/agent-protocol.ts';
import { findCheckType, type CheckType } from '@monitor/shared/contract/checks/index.ts';
import { droppedError, encryptedError } from '@monitor/shared/contract/encrypted-result.ts';
import { errorLine } from '@monitor/shared/error-line.ts';
import { decodePayload, fromFlag } from '../db/columns.ts';
import { daysOf, isOfDays, runDayIn } from '../db/run-days.ts';
import type { Db, RowOf } from '../db/tables.ts';
import { isEarly } from './decide/admission.ts';
import { encryptedPayload } from './decide/encrypted-payload.ts';
import type { RunVerdict } from './run-verdict.ts';

/** Longer than any line on a screen; channels cut it further. */
const maxErrorLength = 500;

/** The error and response fields of the payloads of all types. */
interface Payload {
  /** Of an encrypted result, which has no other text. */
  envelope?: unknown;
  response?: { status?: unknown; statusText?: unknown } | null;
  requestError?: string | null;
  degradedReason?: string;
  assertions?: { error?: string; passed?: boolean; condition?: string }[];
  errors?: { message?: unknown }[];
}

const oneLine = (texts: readonly string[]): string | null =>
  errorLine(texts).slice(0, maxErrorLength) || null;

function errorOf(payload: Payload): string | null {
  const { envelope, requestError, assertions, errors, degradedReason } = payload;
  if (envelope !== undefined) return envelope === null ? droppedError : encryptedError;
  const assertion = assertions?.find(
    ({ error, passed }) => error !== undefined || passed === false,
  );
  const thrown = (errors ?? []).map(({ message }) => (typeof message === 'string' ? message : ''));
  const seen = requestError ?? assertion?.error;
  if (seen == null && thrown.length > 0) return oneLine(thrown);
  return oneLine([seen ?? assertion?.condition ?? degradedReason ?? '']);
}

/** Why a result failed, in one line, from any of its details; null where they do not say. */
export function errorOfDetails(result: Readonly<Record<string, unknown>>): string | null {
  const field = Object.keys(result).find((name) => /CheckResult$/.test(name) && result[name]);
  try {
    return field === undefined ? null : errorOf(result[field] as Payload);
  } catch {
    // Another installation may give anything.
    return null;
  }
}

function answerOf({ response }: Payload): Pick<RunVerdict, 'statusCode' | 'statusText'> {
  const { status, statusText } = response ?? {};
  return {
    statusCode: typeof status === 'number' ? String(status) : null,
    statusText: typeof statusText === 'string' && statusText !== '' ? statusText : null,
  };
}

function payloadIn(item: ResultSubmission): Payload | null {
  const { encryptedResult: encrypted } = item;
  if (encrypted != null) return encryptedPayload(item.checkType, encrypted);
  const type = findCheckType(item.checkType);
  return type === undefined ? null : (item[type.resultField] as Payload | null);
}

/** The verdict of a submitted result. A slot that is yet to come has a run of its own then. */
export function verdictOfSubmission(
  accountId: string,
  item: ResultSubmission,
  now: number,
): RunVerdict {
  const payload = payloadIn(item) ?? {};
  const isFine = !item.hasFailures && !item.hasErrors && !item.isDegraded;
  return {
    accountId,
    checkId: item.checkId,
    checkType: item.checkType as CheckType,
    resultId: item.id,
    runLocation: item.runLocation,
    scheduledFor: isEarly(item, now) ? null : item.scheduledFor,
    startedAt: item.startedAt,
    stoppedAt: item.stoppedAt,
    hasFailures: item.hasFailures,
    hasErrors: item.hasErrors,
    isDegraded: item.isDegraded,
    responseTimeMs: Math.floor(item.responseTime),
    ...answerOf(payload),
    error: isFine ? null : (oneLine(item.errorMessages) ?? errorOf(payload)),
  };
}

/** The verdict of a stored result with its payload. */
export async function verdictOfRow(db: Db, row: RowOf<'check_results'>): Promise<RunVerdict> {
  const stored = await db
    .selectFrom('result_payloads')
    .select(['encoding', 'payload', 'checksum'])
    .where('result_seq', '=', row.seq)
    .where(isOfDays('result_payloads', daysOf([row.run_day])))
    .executeTakeFirst();
  const payload = stored === undefined ? {} : ((decodePayload(stored) ?? {}) as Payload);
  const isFine = row.has_failures + row.has_errors + row.is_degraded === 0;
  return {
    accountId: row.account_id,
    checkId: row.check_id,
    checkType: row.check_type as CheckType,
    resultId: row.id,
    runLocation: row.run_location,
    scheduledFor: row.scheduled_for,
    startedAt: row.started_at,
    stoppedAt: row.stopped_at,
    hasFailures: fromFlag(row.has_failures),
    hasErrors: fromFlag(row.has_errors),
    isDegraded: fromFlag(row.is_degraded),
    responseTimeMs: row.response_time_ms,
    ...answerOf(payload),
    error: isFine ? null : errorOf(payload),
  };
}

/** The verdict of a result by its id; undefined when it was deleted. */
export async function findVerdict(
  db: Db,
  accountId: string,
  resultId: string,
): Promise<RunVerdict | undefined> {
  const row = await db
    .selectFrom('check_results')
    .selectAll()
    .select(runDayIn('check_results').as('run_day'))
    .where('account_id', '=', accountId)
    .where('id', '=', resultId)
    .executeTakeFirst();
  return row === undefined ? undefined : verdictOfRow(db, row);
}
