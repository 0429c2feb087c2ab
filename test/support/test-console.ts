/** The console in a real browser, signed in; what no page may do is noted. */
import assert from 'node:assert/strict';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { consoleNow } from './console-world.ts';
import type { TestControlPlane } from './control-plane.ts';

export interface Opening {
  width?: number;
  scheme?: 'light' | 'dark';
  /** False for somebody who has not signed in. */
  key?: string | false;
  /** True for a test that moves the time of the page. */
  isClockMoving?: boolean;
  /** Statuses of answers that this test provokes; 0 for none at all. */
  refusals?: readonly number[];
}

export class Visit implements AsyncDisposable {
  readonly page: Page;
  readonly #context: BrowserContext;
  readonly #trouble: string[];

  constructor(page: Page, context: BrowserContext, trouble: string[]) {
    this.page = page;
    this.#context = context;
    this.#trouble = trouble;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if ((await this.page.evaluate('window.hacked')) !== undefined) {
      this.#trouble.push('text was run');
    }
    await this.#context.close();
  }
}

export class TestConsole {
  readonly #cp: TestControlPlane;
  readonly #browser: Browser;
  /** What no page may do: log an error, call another host, run what is only text. */
  readonly #trouble: string[] = [];

  constructor(cp: TestControlPlane, browser: Browser) {
    this.#cp = cp;
    this.#browser = browser;
  }

  /** Call it after each test. */
  assertNoTrouble(): void {
    assert.deepEqual(this.#trouble.splice(0), []);
  }

  /** Opens an address of the console, signed in unless said otherwise. */
  async visit(hash: string, options: Opening = {}): Promise<Visit> {
    const { width = 1280, scheme = 'light', key = this.#cp.apiKey, refusals = [] } = options;
    const context = await this.#browser.newContext({
      viewport: { width, height: 800 },
      colorScheme: scheme,
      // Loading what it should not would show in the requests.
      serviceWorkers: 'block',
    });
    const page = await context.newPage();
    if (options.isClockMoving === true) await page.clock.install({ time: consoleNow });
    else await page.clock.setFixedTime(consoleNow);
    page.on('request', (request) => {
      const { origin, protocol } = new URL(request.url());
      if (protocol !== 'data:' && origin !== this.#cp.url) {
        this.#trouble.push(`asked ${request.url()}`);
      }
    });
    page.on('pageerror', (error) => this.#trouble.push(`threw ${error.message}`));
    page.on('console', (message) => {
      const status = /status of (\d+)/.exec(message.text())?.[1];
      const isExpected = refusals.includes(/net::ERR_/.test(message.text()) ? 0 : Number(status));
      // The fixed clock is put into every frame, also into those that run nothing.
      const isOfClock = /^Blocked script execution in 'about:srcdoc'/.test(message.text());
      if (message.type() === 'error' && !isExpected && !isOfClock) {
        this.#trouble.push(`logged ${message.text()}`);
      }
    });
    if (key !== false) {
      const answer = await context.request.post(`${this.#cp.url}/console/session`, {
        headers: { 'x-console': '1' },
        data: { key },
      });
      assert.equal(answer.status(), 204);
    }
    await page.goto(`${this.#cp.url}/console/${hash}`);
    return new Visit(page, context, this.#trouble);
  }
}
