import { inspect } from 'node:util';

const shown = '[secret]';

/** A value that prints as `[secret]` in logs, JSON, templates and inspection. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The value itself: call it where it is used, never where it is stored. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return shown;
  }

  toJSON(): string {
    return shown;
  }

  [inspect.custom](): string {
    return shown;
  }
}
