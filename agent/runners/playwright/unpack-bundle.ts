/**
 * Unpacks the bundle of a suite, which anybody may have made. Everything in it is looked at before
 * anything is written, and files and folders are all it may hold: no links, no devices, no way out.
 */
import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { Parser, Unpack, type ReadEntry } from 'tar';
import { AgentError } from '../../errors.ts';
import { BundleListing } from './bundle-listing.ts';
import { SuiteFailure } from './suite-failure.ts';

export interface BundleLimits {
  readonly entries: number;
  /** Everything together, unpacked. */
  readonly unpackedBytes: number;
  /** Unpacked to packed; applies from 16 MiB on, since small bundles of text compress well. */
  readonly ratio: number;
}

export const bundleLimits: BundleLimits = {
  entries: 100_000,
  unpackedBytes: 1_073_741_824,
  ratio: 200,
};

const ratioAppliesFromBytes = 16 * 1024 * 1024;

/** What is wrong with a bundle. */
export function refuseBundle(reason: string): SuiteFailure {
  return new SuiteFailure(
    'unpack',
    'BUNDLE_REFUSED',
    `the code bundle cannot be unpacked: ${reason}`,
  );
}

const compressions: readonly (readonly number[])[] = [
  [0x1f, 0x8b],
  [0x28, 0xb5, 0x2f, 0xfd],
  [0x42, 0x5a, 0x68],
  [0xfd, 0x37, 0x7a, 0x58, 0x5a],
  [0x50, 0x4b, 0x03, 0x04],
];

/** Counts what comes out of the compression, before it is looked at. */
function meter(packedBytes: number, limits: BundleLimits): Transform {
  let bytes = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      if (
        bytes === 0 &&
        compressions.some((magic) => magic.every((byte, at) => chunk[at] === byte))
      ) {
        done(refuseBundle('it is compressed twice, or is no tar; make it with tar -czf'));
        return;
      }
      bytes += chunk.length;
      if (bytes > limits.unpackedBytes) {
        done(refuseBundle(`it unpacks to more than ${limits.unpackedBytes} bytes`));
      } else if (bytes > ratioAppliesFromBytes && bytes > packedBytes * limits.ratio) {
        done(refuseBundle(`it unpacks to more than ${limits.ratio} times its size`));
      } else done(null, chunk);
    },
  });
}

/** A full disk here is an agent error; everything the libraries say of its bytes is the bundle's. */
function explain(error: unknown): Error {
  if (error instanceof SuiteFailure || error instanceof AgentError) return error;
  const { code = '', syscall, message } = error as NodeJS.ErrnoException;
  if (syscall !== undefined) {
    return new AgentError(
      'RUNNER_BROKEN',
      `the code bundle could not be unpacked on this machine: ${message}; look at AGENT_WORK_DIR and its disk`,
      { cause: error },
    );
  }
  if (code === 'Z_BUF_ERROR' || /truncated|unexpected end/i.test(message)) {
    return refuseBundle('it ends in the middle; upload it again');
  }
  if (/^TAR_(BAD_ARCHIVE|ENTRY_INVALID)/.test(code)) {
    return refuseBundle(`what is compressed in it is no tar (${message})`);
  }
  if (code.startsWith('Z_')) return refuseBundle(`it is not valid gzip (${message})`);
  return refuseBundle(message);
}

async function read(file: string, limits: BundleLimits, parser: Parser): Promise<void> {
  const { size } = await stat(file);
  const handle = await open(file);
  const { buffer } = await handle.read(Buffer.alloc(2), 0, 2, 0);
  await handle.close();
  if (buffer[0] !== 0x1f || buffer[1] !== 0x8b) throw refuseBundle('it is not gzip-compressed');
  try {
    await pipeline(
      createReadStream(file),
      createGunzip(),
      meter(size, limits),
      // The library types its streams on their own; they are writable streams of Node in what counts.
      parser as unknown as NodeJS.WritableStream,
    );
  } catch (error) {
    throw explain(error);
  }
}

async function inspect(file: string, limits: BundleLimits): Promise<BundleListing> {
  const listing = new BundleListing(limits.entries);
  const problem: { first: Error | undefined } = { first: undefined };
  const look = (entry: ReadEntry): void => {
    try {
      if (problem.first === undefined) listing.add(entry);
    } catch (error) {
      problem.first = error as Error;
      parser.abort(problem.first);
    }
    entry.resume();
  };
  const parser = new Parser({ strict: true, onReadEntry: look });
  parser.on('ignoredEntry', look);
  try {
    await read(file, limits, parser);
  } catch (error) {
    throw problem.first ?? error;
  }
  if (problem.first !== undefined) throw problem.first;
  if (listing.files.size === 0) throw refuseBundle('it holds no files');
  return listing;
}

/** Gives what belongs to a user other than ourselves to that user. */
export async function ownerOf(folder: string): Promise<{ uid: number; gid: number } | null> {
  if (process.getuid?.() !== 0) return null;
  const { uid, gid } = await stat(folder);
  return { uid, gid };
}

/**
 * Unpacks a gzip-compressed tar into a folder that exists and is empty; gives the paths it held.
 * Throws SuiteFailure BUNDLE_REFUSED, which names entry and reason, before anything is written.
 */
export async function unpackBundle(
  file: string,
  folder: string,
  limits: BundleLimits = bundleLimits,
): Promise<BundleListing> {
  const listing = await inspect(file, limits);
  const owner = await ownerOf(folder);
  const unpack = new Unpack({
    cwd: folder,
    strict: true,
    noMtime: true,
    ...(owner === null ? { preserveOwner: false } : owner),
    onReadEntry: (entry) => {
      // Its owner may read and write it; setuid, setgid and sticky bits mean nothing here.
      entry.mode = ((entry.mode ?? 0) & 0o777) | (entry.type === 'Directory' ? 0o700 : 0o600);
    },
  });
  await read(file, limits, unpack);
  return listing;
}
