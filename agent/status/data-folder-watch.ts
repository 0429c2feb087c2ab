/**
 * Whether results can be kept on disk, as it was found last. `/health` shows what was found: it is asked
 * every few seconds, and finding it out is a write.
 */
import type { Logger } from 'pino';
import { type FolderProblem, probeDataFolder } from './probe-folder.ts';

export class DataFolderWatch {
  readonly #path: string;
  readonly #logger: Logger;
  #problem: FolderProblem | null = null;

  constructor(path: string, logger: Logger) {
    this.#path = path;
    this.#logger = logger;
  }

  /** With nothing to write, nobody else notices. */
  inspect(): void {
    const problem = probeDataFolder(this.#path);
    const before = this.#problem;
    this.#problem = problem;
    if (problem?.code === before?.code) return;
    if (problem === null) this.#logger.info('AGENT_DATA_DIR can be written again');
    else this.#logger.error(problem, 'AGENT_DATA_DIR cannot be written, results cannot be kept');
  }

  /** For `/health`: the code alone, because the message may have a path in it. */
  get remarks(): Readonly<Record<string, string>> {
    if (this.#problem === null) return {};
    return { data: `results cannot be kept on disk (${this.#problem.code})` };
  }
}
