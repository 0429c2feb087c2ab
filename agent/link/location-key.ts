/** The key of the location, read again where it is refused: Kubernetes, Vault and others replace the file. */
import type { Logger } from 'pino';
import type { KeySource } from '../config.ts';
import { keyProblem } from '../key-problem.ts';
import { Secret } from '../secret.ts';

export class LocationKey {
  readonly #source: KeySource | null;
  readonly #logger: Logger;
  #key: Secret;

  constructor(key: Secret, source: KeySource | null, logger: Logger) {
    this.#key = key;
    this.#source = source;
    this.#logger = logger;
  }

  reveal(): string {
    return this.#key.reveal();
  }

  /** After a refusal of `used`: true where there is another one by now, which is worth a try at once. */
  renew(used: string): boolean {
    if (used !== this.reveal()) return true;
    const found = this.#read();
    if (found === undefined || found === used) return false;
    const from = this.#source?.name;
    const problem = keyProblem(found);
    if (problem !== null) {
      this.#logger.warn({ from, problem }, 'the key was refused, and the new one cannot be one');
      return false;
    }
    this.#key = new Secret(found);
    this.#logger.info(
      { from },
      'the key was refused, and there is another one: it is used from now on',
    );
    return true;
  }

  #read(): string | undefined {
    try {
      return this.#source?.read();
    } catch {
      // The file is being replaced: the next refusal reads it again.
      return undefined;
    }
  }
}
