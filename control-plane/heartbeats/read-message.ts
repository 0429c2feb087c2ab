/** What a job sends along with a ping. */
import type { Readable } from 'node:stream';
import { variablesOfCheck } from '../checks/index.ts';
import type { Services } from '../core/services.ts';

const maxMessageBytes = 10_000;
/** Shorter values stand in any text. */
const minSecretLength = 4;
const mask = '********';

/** Forms in which programs print a value. */
function formsOf(value: string): string[] {
  const encoded = encodeURIComponent(value.toWellFormed());
  return [
    value,
    encoded,
    JSON.stringify(value).slice(1, -1),
    Buffer.from(value).toString('base64'),
  ];
}

/** The beginning of a body as text, without values of hidden variables; null for an empty one. */
export async function readMessage(
  services: Services,
  { checkId, accountId }: { checkId: string; accountId: string },
  body: Readable,
): Promise<string | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of body.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > maxMessageBytes * 2) break;
    }
  } catch {
    // The ping counts, whatever came of its body.
  }
  if (size === 0) return null;
  let text = Buffer.concat(chunks).toString('utf8');
  const variables = await variablesOfCheck(services, accountId, checkId);
  const hidden = variables
    .filter(({ value, isHidden }) => isHidden && value.length >= minSecretLength)
    .flatMap(({ value }) => formsOf(value))
    .sort((left, right) => right.length - left.length);
  for (const form of new Set(hidden)) text = text.replaceAll(form, mask);
  // Of the databases, one takes no zero bytes in texts.
  return text.slice(0, maxMessageBytes).replaceAll('\0', '').toWellFormed();
}
