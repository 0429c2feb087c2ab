/** What the handlers of file formats share: limits, and replacing a file in one step. */
import { chmod, rename, rm, stat } from 'node:fs/promises';
import { AgentError } from '../../errors.ts';
import type { Matcher } from '../matcher.ts';
import type { NeedleSet } from '../needle-set.ts';
import type { FileClaim } from './file-kind.ts';

/** What scrubbing a file needs to know about secrets. */
export interface FileScrub {
  readonly needles: NeedleSet;
  readonly detect: boolean;
  text(text: string): string;
  isCredential(name: string, value: string): boolean;
  /** True for a trace whose pictures must not leave: nobody could look for secrets in them. */
  readonly withoutPictures?: boolean;
  /** What one file may unpack to, with everything in it. An artifact has at most 150 MB itself. */
  readonly maxUnpackedBytes: number;
}

/** The file itself, and archives in it three levels deep. */
export const maxDepth = 4;
export const maxEntries = 50_000;
/** What is parsed or rewritten in memory as a whole. */
export const maxParsedBytes = 67_108_864;

/** Why a file cannot be scrubbed; it must stay on the agent. */
export function unscrubbable(what: string, cause?: unknown): AgentError {
  return new AgentError(
    'SCRUBBING_FAILED',
    `Could not remove secrets from a file: ${what}. The file was withheld; store it in a form that can be searched.`,
    cause === undefined ? undefined : { cause },
  );
}

export class FileTask {
  readonly scrub: FileScrub;
  readonly depth: number;
  /** Of the parts that text in binary files is searched for; see `binary-file.ts`. */
  readonly binaryMatcher: () => Matcher;
  readonly jsonMatcher: () => Matcher;
  readonly #budget: { bytes: number; entries: number };

  constructor(
    scrub: FileScrub,
    matchers: Pick<FileTask, 'binaryMatcher' | 'jsonMatcher'>,
    depth = 0,
    budget = { bytes: scrub.maxUnpackedBytes, entries: maxEntries },
  ) {
    this.scrub = scrub;
    this.depth = depth;
    this.binaryMatcher = matchers.binaryMatcher;
    this.jsonMatcher = matchers.jsonMatcher;
    this.#budget = budget;
  }

  /** For what is packed in the file; shares its limits. */
  inside(): FileTask {
    if (this.depth >= maxDepth)
      throw unscrubbable(`archives are nested deeper than ${maxDepth - 1} levels`);
    return new FileTask(this.scrub, this, this.depth + 1, this.#budget);
  }

  spendBytes(bytes: number): void {
    this.#budget.bytes -= bytes;
    if (this.#budget.bytes < 0)
      throw unscrubbable(`it unpacks to more than ${this.scrub.maxUnpackedBytes} bytes`);
  }

  spendEntry(): void {
    this.#budget.entries -= 1;
    if (this.#budget.entries < 0) throw unscrubbable(`it has more than ${maxEntries} entries`);
  }
}

/** Scrubs a file of one format; `nested` scrubs what was packed in it. True when it was changed. */
export type FileHandler = (
  path: string,
  task: FileTask,
  claim: FileClaim,
  nested: (path: string, task: FileTask, claim: FileClaim) => Promise<boolean>,
) => Promise<boolean>;

/**
 * Lets `write` make the new file beside the old one, and puts it in its place when `write` says that
 * something changed. The mode stays; nothing is left over when it fails.
 */
export async function replaceFile(
  path: string,
  write: (temporary: string) => Promise<boolean>,
): Promise<boolean> {
  const temporary = `${path}.scrubbing`;
  try {
    const isChanged = await write(temporary);
    if (!isChanged) return false;
    const { mode } = await stat(path);
    await chmod(temporary, mode & 0o7777);
    await rename(temporary, path);
    return true;
  } finally {
    await rm(temporary, { force: true, recursive: true });
  }
}
