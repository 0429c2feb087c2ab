/** The files of one run: taken, scrubbed, measured, and written to the spool. */
import { createHash } from 'node:crypto';
import { open, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import {
  maxArtifactBytes,
  type ArtifactDeclaration,
} from '@monitor/shared/contract/agent-protocol.ts';
import { encryptedContentType } from '@monitor/shared/contract/encrypted-result.ts';
import { artifactReference, type ArtifactType } from '@monitor/shared/contract/check-result.ts';
import type { Logger } from 'pino';
import type { ResultEncrypter } from '../encryption/result-encryption.ts';
import type { ArtifactSink, GivenFile } from '../runners/runner.ts';
import type { Scrubber } from '../scrub/scrubber.ts';
import type { ArtifactSpool, SpooledFile } from './artifact-spool.ts';
import { isArtifactName, numbered, toArtifactName, toContentType } from './artifact-name.ts';
import { NotTaken, takeFile, writeFresh } from './take-file.ts';

/** Most files of one result; so the wire has it. */
const maxFiles = 200;
const blockBytes = 1_048_576;

export interface RunArtifacts extends ArtifactSink {
  /**
   * Ends the taking: removes secrets from every file and makes what is left durable. Gives what to
   * announce with the result. Call `spool.commit(resultId)` once the result is in the outbox.
   */
  finish(): Promise<ArtifactDeclaration[]>;
  /** Gives up all files, for a run without a result. */
  discard(): Promise<void>;
}

export interface RunArtifactsOptions {
  spool: ArtifactSpool;
  /** Names the entry in the spool. */
  resultId: string;
  /** The result that announces them, where they are those of a shard. */
  ofResult?: string;
  scrubber: Scrubber;
  logger: Logger;
  /** The folder a file must really be in, by its path. Without it files are taken from anywhere. */
  within?: (path: string) => string;
  /** Encrypts the files, for a location with keys for results. */
  encrypter?: ResultEncrypter | null;
}

interface Taken {
  /** Its name in the folder of the entry; null when it was not taken. */
  file: string | null;
  name: string;
  type: ArtifactType;
  contentType: string;
  size: number;
  /** SHA-256 in base64, once it is known. */
  digest: string | null;
  isFleeting: boolean;
  withheld: string | null;
  /** True for a trace that must lose its pictures. */
  losesPictures: boolean;
}

const beyondLimit = `it has more than ${maxArtifactBytes} bytes, the most that can be uploaded`;

/** Size and SHA-256, in base64, of a file that is on disk when this resolves, unless it is fleeting. */
async function measure(
  path: string,
  isFleeting: boolean,
): Promise<{ size: number; digest: string }> {
  await using handle = await open(path, 'r+');
  const hash = createHash('sha256');
  let size = 0;
  const stream = handle.createReadStream({ autoClose: false, highWaterMark: blockBytes });
  for await (const chunk of stream) {
    hash.update(chunk as Buffer);
    size += (chunk as Buffer).length;
  }
  if (!isFleeting) await handle.sync();
  return { size, digest: hash.digest('base64') };
}

/** Gives each file a name that no other file of the run has, without secrets. */
function freeNames(scrubber: Scrubber): (wanted: string) => string {
  const names = new Set<string>();
  return (wanted) => {
    const plain = toArtifactName(scrubber.text(wanted));
    let name = plain;
    for (let number = 2; names.has(name.toLowerCase()); number += 1) name = numbered(plain, number);
    names.add(name.toLowerCase());
    return name;
  };
}

function announce(one: Taken): ArtifactDeclaration {
  const { name, type, contentType, size, digest, withheld } = one;
  const isComing = withheld === null && digest !== null;
  return { name, type, contentType, size, ...(isComing && { digest }), withheld };
}

/** Of a picture in which secrets could not be looked for. */
function whyWithheld({ type, contentType, withheldPictures = null }: GivenFile): string | null {
  return type !== 'trace' && /^(image|video)\//.test(contentType) ? withheldPictures : null;
}

/** Null with `withheld` set when the file must not leave. */
async function clean(
  one: Taken,
  { spool, resultId, scrubber, logger, encrypter = null }: RunArtifactsOptions,
): Promise<SpooledFile | null> {
  if (one.withheld !== null || one.file === null) return null;
  const path = spool.pathOf(resultId, one.file);
  try {
    await scrubber.file(path, one.contentType, { withoutPictures: one.losesPictures });
    if (encrypter !== null) await encrypter.file(path, one.name);
    one.size = (await stat(path)).size;
    if (one.size > maxArtifactBytes) {
      one.withheld = beyondLimit;
    } else {
      const { size, digest } = await measure(path, one.isFleeting);
      one.digest = digest;
      const { file } = one;
      const { name, contentType } =
        encrypter === null
          ? one
          : { name: encrypter.fileNameOf(one.name), contentType: encryptedContentType };
      return { file, name, contentType, size, digest };
    }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    one.withheld = scrubber.text(`secrets could not be removed from it: ${message}`).slice(0, 1000);
    logger.warn({ err: error, resultId }, 'file of a run is withheld');
  }
  await rm(path, { force: true });
  return null;
}

/** Begins taking the files of a run. Costs nothing until the first one comes. */
export function openRunArtifacts(options: RunArtifactsOptions): RunArtifacts {
  const { spool, resultId, ofResult = resultId, scrubber, logger, within } = options;
  const taken: Taken[] = [];
  const freeName = freeNames(scrubber);
  let folder: Promise<string> | null = null;
  let stagedBytes = 0;
  let beyond = 0;
  let last: Promise<unknown> = Promise.resolve();

  const take = async (given: GivenFile, one: Taken): Promise<void> => {
    const file = String(taken.indexOf(one));
    try {
      const path = join(await (folder ??= spool.begin(resultId)), file);
      one.size =
        'bytes' in given
          ? await writeFresh(path, given.bytes)
          : await takeFile(given.path, path, within?.(given.path) ?? null);
      one.file = file;
      if (one.size > maxArtifactBytes) {
        one.withheld = beyondLimit;
        await rm(path, { force: true });
        return;
      }
      if (await spool.stage(one.size)) {
        stagedBytes += one.size;
        return;
      }
      one.withheld = 'the agent has no room for it; see ARTIFACTS_MAX_BYTES';
      await rm(path, { force: true });
    } catch (error) {
      // A file that cannot be kept never makes the run fail.
      one.withheld = error instanceof NotTaken ? error.message : 'the agent cannot keep it';
      logger.warn({ err: error, resultId }, 'file of a run was not taken');
    }
  };

  const discard = async (): Promise<void> => {
    await last;
    spool.unstage(stagedBytes);
    stagedBytes = 0;
    if (folder !== null) await spool.abandon(resultId);
  };

  return {
    async add(given) {
      const one: Taken = {
        file: null,
        name: freeName(given.name),
        type: given.type,
        contentType: toContentType(scrubber.text(given.contentType)),
        size: 0,
        digest: null,
        isFleeting: given.isFleeting === true,
        withheld: whyWithheld(given),
        losesPictures: given.type === 'trace' && typeof given.withheldPictures === 'string',
      };
      if (taken.length === maxFiles) {
        beyond += 1;
        return artifactReference(one.name);
      }
      taken.push(one);
      // One after the other: the order in which files are added is the order they are shown in.
      const turn = last.then(() => (one.withheld === null ? take(given, one) : undefined));
      last = turn;
      await turn;
      return artifactReference(one.name);
    },

    async finish() {
      await last;
      if (beyond > 0) {
        const last200 = taken.at(-1);
        if (last200 !== undefined) {
          last200.withheld = `a result has at most ${maxFiles} files: this one and ${beyond} more were left out`;
        }
        logger.warn({ resultId, files: beyond + 1 }, 'run has too many files');
      }
      const files: SpooledFile[] = [];
      for (const one of taken) {
        // A secret that was learned after the file came may stand in its name or type.
        const name = scrubber.text(one.name);
        if (name !== one.name) one.name = freeName(name);
        one.contentType = toContentType(scrubber.text(one.contentType));
        const file = await clean(one, options);
        if (file !== null) files.push(file);
      }
      spool.unstage(stagedBytes);
      stagedBytes = 0;
      const isDurable = taken.some(({ isFleeting }) => !isFleeting);
      try {
        if (files.length > 0) await spool.writeEntry(resultId, files, { isDurable, ofResult });
        else if (folder !== null) await spool.abandon(resultId);
      } catch (error) {
        logger.error({ err: error, resultId }, 'files of a run cannot be kept');
        for (const one of taken) one.withheld ??= 'the agent cannot keep it';
        await spool.abandon(resultId).catch(() => undefined);
        spool.countDropped(files.length, 'the disk does not take them');
      }
      return taken.filter(({ name }) => isArtifactName(name)).map(announce);
    },

    discard,
  };
}
