import { createReadStream, createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import {
  DecryptionError,
  isEncryptedFile,
  openFile,
  openKeyFile,
  openResult,
  parseKeyFile,
  type Envelope,
  type OpenKey,
} from '@monitor/shared/encryption/encryption.ts';
import { readAtMost } from '@monitor/shared/read-at-most.ts';
import { jsonProblem } from '@monitor/shared/read-json.ts';
import { isFields, type Fields } from '@monitor/shared/fields.ts';
import type { Command } from 'commander';
import { commandDoors } from '../doors.ts';
import { readPassphrase } from '../encryption/passphrase.ts';
import { AgentError } from '../errors.ts';
import { processEnvironment } from '../guard-process.ts';
import { printableValue } from '../printable.ts';

const help = `
Decrypts results and their files. A result is JSON as the API gives it: one, or
a list of them, with the details in their usual place afterwards. A file is what
the link of the result downloads; its real name is under "files" of the result.
Without a file, standard input is read. Nothing is sent anywhere.

The passphrase of the key, if it has one, is typed, or comes from
RESULT_KEY_PASSPHRASE, or from the file in RESULT_KEY_PASSPHRASE_FILE.

Examples:
  monitor-agent decrypt --key-file results.key result.json
  curl -H "Authorization: Bearer $KEY" "$URL/v2/check-results/$CHECK" |
    monitor-agent decrypt --key-file results.key
  monitor-agent decrypt -k results.key -o trace.zip file-0f3a8c5be1f27d46

Exit codes: 0 decrypted, 2 the key, or what it should open, is not right.
`;

const { keyBytes, jsonBytes } = commandDoors.decrypt.reads;

interface Options {
  readonly keyFile: string;
  readonly output?: string;
}

async function readable(path: string): Promise<string> {
  try {
    return await readAtMost(path, keyBytes);
  } catch (error) {
    const why = `${String(error).replace(/^\w+: /, '')}; name the file that encryption-key has made`;
    throw new AgentError('CONFIG_INVALID', `cannot read the key in ${path}: ${why}`);
  }
}

/** A result of the API, decrypted, or anything else as it is. */
async function opened(value: unknown, key: OpenKey): Promise<unknown> {
  if (Array.isArray(value)) return Promise.all(value.map((item) => opened(item, key)));
  if (!isFields(value)) return value;
  const { encryptedResult, ...rest } = value;
  // Without an envelope, there is no more than the metrics.
  if (!isFields(encryptedResult) || encryptedResult['envelope'] === null) {
    const entries = Object.entries(value).map(async ([name, part]) => [
      name,
      await opened(part, key),
    ]);
    return Object.fromEntries((await Promise.all(entries)) as [string, unknown][]);
  }
  const { checkId, id, runLocation, attempts } = rest as Fields & {
    checkId: string;
    id: string;
    runLocation: string;
    attempts: number;
  };
  try {
    const context = { checkId, resultId: id, location: runLocation, attempt: attempts };
    const content = await openResult(encryptedResult['envelope'] as Envelope, context, key);
    const { field, details, errorMessages, files } = content;
    return { ...rest, ...(field === null ? {} : { [field]: details }), errorMessages, files };
  } catch (error) {
    if (!(error instanceof DecryptionError)) throw error;
    throw new DecryptionError(`the result ${String(id)} cannot be decrypted: ${error.message}`);
  }
}

/** Writes to a file that appears when it is whole, or to standard output. */
async function write(pieces: AsyncIterable<Uint8Array>, output: string | undefined): Promise<void> {
  if (output === undefined) {
    for await (const piece of pieces) {
      if (!process.stdout.write(piece)) {
        await new Promise((resolve) => process.stdout.once('drain', resolve));
      }
    }
    return;
  }
  const partial = `${output}.partial`;
  try {
    await pipeline(pieces, createWriteStream(partial, { mode: 0o600 }));
    await rename(partial, output);
  } finally {
    await rm(partial, { force: true });
  }
}

/** What a terminal would obey, or show in another order than it is. JSON escapes the rest. */
const controls = /[\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

async function* textOf(value: unknown): AsyncGenerator<Uint8Array> {
  const text = JSON.stringify(value, null, 2).replace(
    controls,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  yield Buffer.from(`${text}\n`);
}

/** The first piece, and all of them: what it is shows in the first bytes. */
async function withFirst(
  source: AsyncIterable<Buffer>,
): Promise<{ first: Buffer; all: AsyncIterable<Buffer> }> {
  const pieces = source[Symbol.asyncIterator]();
  const start = await pieces.next();
  const first = start.done === true ? Buffer.alloc(0) : start.value;
  async function* all(): AsyncGenerator<Buffer> {
    yield first;
    for (let next = await pieces.next(); next.done !== true; next = await pieces.next()) {
      yield next.value;
    }
  }
  return { first, all: all() };
}

async function decrypt(file: string | undefined, { keyFile, output }: Options): Promise<void> {
  const key = await openKeyFile(parseKeyFile(await readable(keyFile)), () =>
    readPassphrase(processEnvironment),
  );
  const source = file === undefined ? process.stdin : createReadStream(file);
  const { first, all } = await withFirst(source as AsyncIterable<Buffer>);
  if (isEncryptedFile(first)) {
    if (output === undefined && process.stdout.isTTY) {
      throw new DecryptionError(
        'it is a file, which a terminal cannot show; name one with --output',
      );
    }
    const pieces = openFile(all, key, null, ({ checkId, resultId, location, attempt }) => {
      const of = `of result ${resultId}, attempt ${attempt}, of check ${checkId} in ${location}`;
      process.stderr.write(`${printableValue(of)}\n`);
    });
    await write(pieces, output);
    return;
  }
  const text = await readAtMost(all, jsonBytes).catch((error: unknown) => {
    throw error instanceof RangeError ? new DecryptionError(error.message) : error;
  });
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    const problem = jsonProblem(text) ?? '';
    throw new DecryptionError(`it is neither a result as JSON (${problem}) nor an encrypted file`);
  }
  await write(textOf(await opened(json, key)), output);
}

/** `monitor-agent decrypt`: reads encrypted results with a private key. */
export function registerDecrypt(program: Command): void {
  program
    .command('decrypt')
    .description('decrypt results, and files of results, with your private key')
    .argument('[file]', 'a result as JSON, or a file of a result; standard input without it')
    .requiredOption('-k, --key-file <file>', 'file with the private key')
    .option('-o, --output <file>', 'where to write it; standard output without it')
    .addHelpText('after', help)
    .action(async (file: string | undefined, options: Options) => {
      try {
        await decrypt(file, options);
      } catch (error) {
        const isExpected = error instanceof DecryptionError || (error as { code?: unknown }).code;
        if (error instanceof AgentError || !isExpected) throw error;
        const { message } = error as Error;
        throw new AgentError(
          'CONFIG_INVALID',
          `${file ?? 'standard input'} with the key in ${options.keyFile}: ${message}`,
        );
      }
    });
}
