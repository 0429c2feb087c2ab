/** A person at a browser, of whom every click and every field is counted. */
import type { Locator, Page } from 'playwright-core';

export interface TaskCost {
  task: string;
  clicks: number;
  fields: number;
  /** From the first click to the last sign of success, on this machine. */
  ms: number;
}

export class Person {
  readonly page: Page;
  #clicks = 0;
  #fields = 0;
  #field: Locator | null = null;

  constructor(page: Page) {
    this.page = page;
    // What a person waits for is a run in the end, which takes long on a busy machine.
    page.setDefaultTimeout(120_000);
  }

  /** A click, or a key that stands for one. */
  async click(what: Locator): Promise<void> {
    await what.click();
    this.#clicks += 1;
  }

  /** In the field that was filled last, also when the page has drawn it anew since. */
  async press(key: string): Promise<void> {
    await this.#field?.press(key);
    this.#clicks += 1;
  }

  async fill(what: Locator, text: string): Promise<void> {
    await what.fill(text);
    this.#field = what;
    this.#fields += 1;
  }

  async choose(what: Locator, option: string): Promise<void> {
    await what.selectOption(option);
    this.#fields += 1;
  }

  /** Does something, and gives what it took. */
  async does(task: string, what: () => Promise<void>): Promise<TaskCost> {
    const before = { clicks: this.#clicks, fields: this.#fields, at: performance.now() };
    await what();
    return {
      task,
      clicks: this.#clicks - before.clicks,
      fields: this.#fields - before.fields,
      ms: Math.round(performance.now() - before.at),
    };
  }
}
