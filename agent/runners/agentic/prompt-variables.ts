/**
 * Variables of a run in the prompt of a check. `{{NAME}}` of a plain variable is replaced before the
 * model sees it. `{{NAME}}` of a secret stays as it is: the model writes the placeholder where the
 * value belongs, and the value is put in on the last step before the browser.
 */
import type { EnvironmentEntry } from '@monitor/shared/contract/agent-protocol.ts';
import { isSecretVariable } from '@monitor/shared/domain/secret-variable.ts';

const placeholder = /\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}/g;
/** Shorter values stand in too many places that have nothing to do with the variable. */
const minGeneralisedLength = 4;

export interface FilledText {
  readonly text: string;
  /** True when the value of a secret is in it. */
  readonly isSecret: boolean;
}

export class PromptVariables {
  readonly #plain = new Map<string, string>();
  readonly #secret = new Map<string, string>();
  /** As it was written. */
  readonly template: string;

  constructor(template: string, environment: readonly EnvironmentEntry[]) {
    this.template = template;
    for (const variable of environment) {
      const values = isSecretVariable(variable) ? this.#secret : this.#plain;
      values.set(variable.key, variable.value);
    }
  }

  /** What the model reads: plain variables filled in, secrets as placeholders. */
  get prompt(): string {
    return this.template.replace(placeholder, (whole, name: string) => {
      if (this.#secret.has(name)) return `{{${name}}}`;
      return this.#plain.get(name) ?? whole;
    });
  }

  /** Names in the prompt, in order, each once. */
  get #mentioned(): string[] {
    return [...new Set([...this.template.matchAll(placeholder)].map(([, name = '']) => name))];
  }

  /** The secrets the model may have typed: those the prompt mentions and no others. */
  get secretNames(): string[] {
    return this.#mentioned.filter((name) => this.#secret.has(name));
  }

  /** Placeholders without a variable. */
  get missingNames(): string[] {
    return this.#mentioned.filter((name) => !this.#secret.has(name) && !this.#plain.has(name));
  }

  /** Values that say where the check is meant to go, secret ones among them. */
  get mentionedValues(): string[] {
    return this.#mentioned.flatMap((name) => this.#plain.get(name) ?? this.#secret.get(name) ?? []);
  }

  /** Puts values in. A name the prompt does not mention is not given away: it stays as it is. */
  fill(text: string): FilledText {
    let isSecret = false;
    const mentioned = new Set(this.#mentioned);
    const filled = text.replace(placeholder, (whole, name: string) => {
      if (!mentioned.has(name)) return whole;
      const secret = this.#secret.get(name);
      if (secret !== undefined) isSecret = true;
      return secret ?? this.#plain.get(name) ?? whole;
    });
    return { text: filled, isSecret };
  }

  /** The way back, for what is learned: a later run may have other values. */
  generalise(text: string): string {
    const values = this.#mentioned
      .flatMap((name) => {
        const value = this.#plain.get(name);
        return value === undefined ? [] : [{ name, value }];
      })
      .filter(({ value }) => value.length >= minGeneralisedLength)
      .sort((left, right) => right.value.length - left.value.length);
    return values.reduce((result, { name, value }) => {
      return result.replaceAll(value, `{{${name}}}`);
    }, text);
  }
}
