/** Parses a submission of an agent, without the database. */
import {
  maxItemBytes,
  submission,
  type ItemOutcome,
  type ResultSubmission,
  type Submission,
} from '@monitor/shared/contract/agent-protocol.ts';
import type { ResultField } from '@monitor/shared/contract/check-result.ts';
import { findCheckType } from '@monitor/shared/contract/checks/index.ts';
import { encodeJson, type EncodedPayload } from '../db/columns.ts';

/** Limit of monitor details: headers, the beginning of a body, a traceroute. */
const maxMonitorBytes = 2_097_152;

export type ReadItem =
  | { data: Submission; payload: EncodedPayload | null }
  /** Only this item is refused; the rest of its batch is accepted. */
  | { data?: undefined; refused: ItemOutcome };

/** The details field of a type; null for an unknown type. */
function resultFieldOf(checkType: string): ResultField | null {
  return findCheckType(checkType)?.resultField ?? null;
}

function maxBytesOf(checkType: string): number {
  const runtime = findCheckType(checkType)?.runtime ?? 'never';
  return runtime === 'never' ? maxMonitorBytes : maxItemBytes;
}

/** The answer about a refused item. */
export function refusal(item: unknown, reason: string): ItemOutcome {
  const id =
    typeof item === 'object' && item !== null && 'id' in item && typeof item.id === 'string'
      ? item.id.slice(0, 100)
      : null;
  return { id, outcome: 'refused', reason };
}

/** The details of a result in the shape of its type; an agent without the type has none. */
function payloadOf(item: ResultSubmission): EncodedPayload | string | null {
  const field = resultFieldOf(item.checkType);
  if (field === null || item[field] === null) return null;
  const json = Buffer.from(JSON.stringify(item[field]));
  const maxBytes = maxBytesOf(item.checkType);
  return json.length > maxBytes
    ? `${field}: has ${json.length} bytes, at most ${maxBytes} are taken`
    : encodeJson(json);
}

const refused = (item: unknown, reason: string): ReadItem => ({ refused: refusal(item, reason) });

/** Parses one item. Never throws: too deeply nested items are refused as well. */
export function readSubmission(item: unknown): ReadItem {
  try {
    const parsed = submission.safeParse(item);
    if (!parsed.success) {
      const issue = parsed.error.issues[0];
      const path = issue?.path.map(String).join('.') ?? '';
      return refused(item, `${path === '' ? 'item' : path}: ${issue?.message ?? 'is not valid'}`);
    }
    const { data } = parsed;
    const payload = data.kind === 'result' ? payloadOf(data) : null;
    return typeof payload === 'string' ? refused(item, payload) : { data, payload };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return refused(item, 'item: is nested too deeply');
  }
}
