/** What the demo is starting, while it starts: one line that changes on a terminal, a line a step elsewhere. */
import { createLogUpdate } from 'log-update';
import colors from 'picocolors';

export interface Progress extends Disposable {
  /** The step before has ended, and this one begins. */
  step(what: string): void;
}

const drawEveryMs = 250;

function seconds(since: number): string {
  return `${Math.round((performance.now() - since) / 1000)} s`;
}

class LiveLine implements Progress {
  readonly #update = createLogUpdate(process.stdout);
  readonly #begun = performance.now();
  readonly #timer = setInterval(() => {
    this.#draw();
  }, drawEveryMs);
  #what = '';

  step(what: string): void {
    this.#what = what;
    this.#draw();
  }

  #draw(): void {
    this.#update(`${this.#what} ${colors.dim(seconds(this.#begun))}`);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#update.clear();
    this.#update.done();
  }
}

class Lines implements Progress {
  readonly #begun = performance.now();

  step(what: string): void {
    console.log(`${seconds(this.#begun).padStart(4)}  ${what}`);
  }

  [Symbol.dispose](): void {}
}

/** The progress that suits where the output goes. */
export function openProgress(): Progress {
  return process.stdout.isTTY ? new LiveLine() : new Lines();
}
