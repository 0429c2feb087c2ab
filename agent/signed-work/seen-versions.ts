/**
 * The newest version of each check that this agent has seen signed, on disk: an older one is signed too, and is
 * refused all the same. A version is remembered before it runs.
 *
 *   line   JSON: [id of the check, version, SHA-256 of what was signed]
 *
 * A line begins with its line break: after a full disk the next one is not glued to what was written of the last.
 */
import { appendFileSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { AgentError } from '../errors.ts';
import { codeOf } from '../net/failure.ts';

const line = z.tuple([z.uuid(), z.int(), z.string()]);

interface Seen {
  version: number;
  digest: string;
}

const lineOf = (checkId: string, { version, digest }: Seen): string =>
  `\n${JSON.stringify([checkId, version, digest])}`;

/** What a crash left of a line says nothing, and its version had not run. */
function parsed(text: string): z.output<typeof line> | null {
  try {
    return line.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}

export class SeenVersions {
  readonly #file: string;
  readonly #seen = new Map<string, Seen>();

  /** Throws an AgentError where the file is there and cannot be read. */
  constructor(directory: string) {
    this.#file = join(directory, 'signed-versions.jsonl');
    let content = '';
    try {
      content = readFileSync(this.#file, 'utf8');
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') {
        throw new AgentError(
          'DATA_DIR_UNUSABLE',
          `the versions of signed work cannot be read from ${this.#file}; give the file back to the user of the agent`,
          { cause: error },
        );
      }
    }
    const lines = content.split('\n').filter((text) => text !== '');
    for (const text of lines) {
      const [checkId, version, digest] = parsed(text) ?? [];
      if (checkId === undefined || version === undefined || digest === undefined) continue;
      if (version > (this.#seen.get(checkId)?.version ?? 0)) {
        this.#seen.set(checkId, { version, digest });
      }
    }
    if (lines.length > 2 * this.#seen.size) this.#writeAnew();
  }

  #writeAnew(): void {
    const content = [...this.#seen].map(([id, seen]) => lineOf(id, seen)).join('');
    writeFileSync(`${this.#file}.new`, content, { mode: 0o600, flush: true });
    renameSync(`${this.#file}.new`, this.#file);
  }

  /**
   * Remembers a version; gives false for one that is older than the newest, and for another content of the same.
   * Throws where it cannot be written.
   */
  take(checkId: string, next: Seen): boolean {
    const known = this.#seen.get(checkId);
    if (known !== undefined && next.version <= known.version) {
      return next.version === known.version && next.digest === known.digest;
    }
    appendFileSync(this.#file, lineOf(checkId, next), { mode: 0o600, flush: true });
    this.#seen.set(checkId, next);
    return true;
  }
}
