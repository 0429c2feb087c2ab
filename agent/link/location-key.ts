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
    const from = this.#source?.name;
    let found: string | undefined;
    let problem: string | null;
    try {
      found = this.#source?.read();
      problem = found === undefined ? null : keyProblem(found);
    } catch (error) {
      problem = error instanceof Error ? error.message : String(error);
    }
    if (found === used) return false;
    if (problem !== null) {
      this.#logger.warn({ from, problem }, 'the key was refused, and the new one cannot be one');
      return false;
    }
    if (found === undefined) return false;
    this.#key = new Secret(found);
    this.#logger.info(
      { from },
      'the key was refused, and there is another one: it is used from now on',
    );
    return true;
  }
}
