/**
 * JSON documents, and files of a document per line, as traces are. What holds neither a needle nor
 * the name of a sensitive header stays byte for byte; the rest is parsed, so that it is still JSON
 * afterwards and its references still lead somewhere.
 */
import { createReadStream } from 'node:fs';
import { open, readFile, stat, writeFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { mayHoldCredentials } from '../detect.ts';
import { Redactor } from '../redactor.ts';
import { scrubValue } from '../scrub-value.ts';
import { mask } from '../scrubber.ts';
import { maxParsedBytes, replaceFile, unscrubbable, type FileTask } from './file-task.ts';
import { hideSplitSecrets, snapshotMark } from './trace-snapshot.ts';

const newline = 0x0a;
/** What JSON may hide a form behind: `\u0041`, and forms with backslashes of their own. */
const hidingEscapes = ['\\u', '\\\\'].map((text) => Buffer.from(text));

/** The reviver gets the source text of a number, which lib.es2024 does not know yet. */
type Reviver = (key: string, value: unknown, context?: { source?: string }) => unknown;
const parse = JSON.parse as (text: string, reviver: Reviver) => unknown;
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };

/** Null when it is not JSON. */
function scrubDocument(text: string, { scrub }: FileTask): string | null {
  let isNumberHidden = false;
  let value: unknown;
  try {
    value = parse(text, (_key, item, context) => {
      const source = context?.source;
      if (typeof item !== 'number' || source === undefined) return item;
      if (scrub.text(source) !== source) {
        isNumberHidden = true;
        return mask;
      }
      return String(item) === source ? item : rawJSON(source);
    });
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
  const isSplitHidden = hideSplitSecrets(value, scrub.needles);
  const scrubbed = scrubValue(value, scrub);
  if (scrubbed === value && !isNumberHidden && !isSplitHidden) return text;
  const indent = /^\s*[[{]\r?\n(\s+)/.exec(text)?.[1];
  return JSON.stringify(scrubbed, null, indent) + (text.endsWith('\n') ? '\n' : '');
}

function needsLook(bytes: Buffer, task: FileTask): boolean {
  return (
    task.jsonMatcher().has(bytes) ||
    (!task.scrub.needles.isEmpty && bytes.includes(snapshotMark)) ||
    hidingEscapes.some((escape) => bytes.includes(escape)) ||
    (task.scrub.detect && mayHoldCredentials(bytes))
  );
}

/** As text: for what claims to be JSON and is not. */
function scrubPlain(bytes: Buffer, { scrub }: FileTask): Buffer {
  const redactor = new Redactor(scrub.needles);
  const redacted = Buffer.concat([...redactor.push(bytes), ...redactor.end()]);
  const text = redacted.toString('utf8');
  return scrub.detect ? Buffer.from(scrub.text(text)) : redacted;
}

function scrubLine(line: Buffer, task: FileTask): Buffer {
  if (!needsLook(line, task)) return line;
  const text = line.toString('utf8');
  const scrubbed = scrubDocument(text, task);
  if (scrubbed === null) return scrubPlain(line, task);
  return scrubbed === text ? line : Buffer.from(scrubbed);
}

class LineScrub {
  readonly #task: FileTask;
  hasFound = false;

  constructor(task: FileTask) {
    this.#task = task;
  }

  async *lines(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    let held: Buffer[] = [];
    let heldBytes = 0;
    for await (const chunk of chunks) {
      let at = 0;
      for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, at)) {
        held.push(chunk.subarray(at, end + 1));
        yield this.#scrub(Buffer.concat(held));
        held = [];
        heldBytes = 0;
        at = end + 1;
      }
      held.push(chunk.subarray(at));
      heldBytes += chunk.length - at;
      if (heldBytes > maxParsedBytes)
        throw unscrubbable(`it has JSON of more than ${maxParsedBytes} bytes in one piece`);
    }
    if (heldBytes > 0) yield this.#scrub(Buffer.concat(held));
  }

  #scrub(line: Buffer): Buffer {
    const scrubbed = scrubLine(line, this.#task);
    if (scrubbed !== line) this.hasFound = true;
    return scrubbed;
  }
}

function isOneDocument(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

async function scrubSmall(path: string, task: FileTask): Promise<boolean | null> {
  const bytes = await readFile(path);
  if (!needsLook(bytes, task)) return false;
  const text = bytes.toString('utf8').replace(/^\ufeff/, '');
  const firstLine = text.slice(0, text.indexOf('\n') + 1);
  if (firstLine.length > 2 && firstLine.length < text.length && isOneDocument(firstLine))
    return null;
  const scrubbed = scrubDocument(text, task);
  if (scrubbed === null) return null;
  if (scrubbed === text) return false;
  return replaceFile(path, async (temporary) => {
    await writeFile(temporary, scrubbed, { flag: 'wx', mode: 0o600 });
    return true;
  });
}

export async function scrubJsonFile(path: string, task: FileTask): Promise<boolean> {
  const { size } = await stat(path);
  if (size <= maxParsedBytes) {
    const isChanged = await scrubSmall(path, task);
    if (isChanged !== null) return isChanged;
  }
  return replaceFile(path, async (temporary) => {
    const scrub = new LineScrub(task);
    const target = await open(temporary, 'wx', 0o600);
    const source = createReadStream(path, { highWaterMark: 1_048_576 });
    await pipeline(
      Readable.from(scrub.lines(source as AsyncIterable<Buffer>), {
        objectMode: true,
        highWaterMark: 256,
      }),
      target.createWriteStream(),
    );
    return scrub.hasFound;
  });
}
