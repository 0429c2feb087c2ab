/** Something an agent handed in, as far as it can be read without the database. */
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

/** What a monitor saw: some headers, the beginning of a body, a traceroute. */
const maxMonitorBytes = 2_097_152;

export type ReadItem =
  | { data: Submission; payload: EncodedPayload | null }
  /** It is refused alone, and the others of its batch flow on. */
  | { data?: undefined; refused: ItemOutcome };

/** The field that holds what runs of a type saw; null for a type that is not known here. */
function resultFieldOf(checkType: string): ResultField | null {
  return findCheckType(checkType)?.resultField ?? null;
}

function maxBytesOf(checkType: string): number {
  const runtime = findCheckType(checkType)?.runtime ?? 'never';
  return runtime === 'never' ? maxMonitorBytes : maxItemBytes;
}

/** What is answered about an item that is not taken. */
export function refusal(item: unknown, reason: string): ItemOutcome {
  const id =
    typeof item === 'object' && item !== null && 'id' in item && typeof item.id === 'string'
      ? item.id.slice(0, 100)
      : null;
  return { id, outcome: 'refused', reason };
}

/** What a run saw, in the shape of its type: an agent that does not know the type has no such thing. */
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

/** Parses one item. Never throws: one that is nested too deeply to be read is refused as well. */
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
