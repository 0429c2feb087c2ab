/** Parses a submission of an agent, without the database. */
import {
  maxItemBytes,
  submission,
  type ArtifactDeclaration,
  type ItemOutcome,
  type ResultSubmission,
  type Submission,
} from '@monitor/shared/contract/agent-protocol.ts';
import { resultFields, type ResultField } from '@monitor/shared/contract/check-result.ts';
import {
  encryptedContentType,
  encryptedFileName,
  encryptedText,
} from '@monitor/shared/contract/encrypted-result.ts';
import { findCheckType } from '@monitor/shared/contract/checks/index.ts';
import { encodeEncryptedPayload, encodeJson, type EncodedPayload } from '../db/columns.ts';
import { encryptedPayload } from './decide/encrypted-payload.ts';

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

const encryptedOverhead = 1.5;

/** Why an encrypted result is refused: something in it is readable; null for none. */
function whyReadable(item: ResultSubmission): string | null {
  const details = resultFields.find((field) => item[field] !== null);
  if (details !== undefined) return `${details}: must be null beside encryptedResult`;
  if (item.errorMessages.length > 0) return 'errorMessages: must be empty beside encryptedResult';
  if (item.learnedScript !== null) return 'learnedScript: must be null beside encryptedResult';
  const isHidden = ({ name, contentType, withheld }: ArtifactDeclaration): boolean =>
    encryptedFileName.test(name) &&
    contentType === encryptedContentType &&
    (withheld === null || withheld === encryptedText);
  const file = item.artifacts.findIndex((artifact) => !isHidden(artifact));
  return file === -1 ? null : `artifacts.${file}: is not encrypted beside encryptedResult`;
}

/** The envelope, with the numbers that analytics read and nothing else that an agent may have put there. */
function encryptedPayloadOf(
  item: ResultSubmission,
  encrypted: NonNullable<ResultSubmission['encryptedResult']>,
): EncodedPayload | string {
  const readable = whyReadable(item);
  if (readable !== null) return readable;
  const maxLength = maxBytesOf(item.checkType) * encryptedOverhead;
  const length = encrypted.envelope?.ciphertext.length ?? 0;
  if (length > maxLength) {
    return `encryptedResult.envelope.ciphertext: has ${length} characters, at most ${maxLength} are taken`;
  }
  return encodeEncryptedPayload(encryptedPayload(item.checkType, encrypted));
}

/** The details of a result in the shape of its type; an agent without the type has none. */
function payloadOf(item: ResultSubmission): EncodedPayload | string | null {
  const { encryptedResult: encrypted } = item;
  if (encrypted != null) return encryptedPayloadOf(item, encrypted);
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
