/** What a job sends along with a ping. */
import { finished, type Readable } from 'node:stream';
import type { Clock } from '@monitor/shared/clock.ts';
import { variablesOfCheck } from '../checks/index.ts';
import { hideCredentials } from '../core/hide-credentials.ts';
import type { Services } from '../core/services.ts';

const maxMessageBytes = 10_000;
/** The ping is recorded after this time, whatever has come of its body. */
const maxReadMs = 5_000;

/** The beginning of a body; `isCut` where its end is missing. */
async function readBeginning(
  clock: Clock,
  body: Readable,
): Promise<{ bytes: Buffer; isCut: boolean }> {
  const read = Promise.withResolvers<boolean>();
  const chunks: Buffer[] = [];
  let size = 0;
  const keep = (chunk: Buffer): void => {
    chunks.push(chunk);
    size += chunk.length;
    if (size > maxMessageBytes * 2) read.resolve(true);
  };
  const cancel = clock.after(maxReadMs, () => {
    read.resolve(true);
  });
  const ignore = finished(body, { writable: false }, (error) => {
    read.resolve(error != null);
  });
  body.on('data', keep);
  const isCut = await read.promise;
  cancel();
  ignore();
  body.off('data', keep).pause();
  return { bytes: Buffer.concat(chunks), isCut };
}

/** The beginning of a body as text, without values of hidden variables; null for an empty one. */
export async function readMessage(
  services: Services,
  { checkId, accountId }: { checkId: string; accountId: string },
  body: Readable,
): Promise<string | null> {
  const { bytes, isCut } = await readBeginning(services.clock, body);
  if (bytes.length === 0) return null;
  let hidden: string[];
  try {
    const variables = await variablesOfCheck(services, accountId, checkId);
    hidden = variables.filter(({ isHidden }) => isHidden).map(({ value }) => value);
  } catch (error) {
    // The job did its part: its ping counts.
    const facts = { err: error, checkId };
    services.logger.warn(facts, 'a ping counts without its body: the secrets in it are not known');
    return null;
  }
  const text = hideCredentials(bytes.toString('utf8'), hidden, isCut);
  // Of the databases, one takes no zero bytes in texts.
  const said = text.slice(0, maxMessageBytes).replaceAll('\0', '').toWellFormed();
  return said === '' ? null : said;
}
