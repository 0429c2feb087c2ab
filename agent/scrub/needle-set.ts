/** The secrets of one run, ready to be searched for; grows while the run goes on. */
import { Matcher } from './matcher.ts';
import { isRemovable, needlesOf } from './needles.ts';

/**
 * Making needles costs a quarter of a millisecond for each secret, and a check has the same secrets
 * in every run: 300 light runs per second would spend most of a core on it.
 */
const remembered = new Map<string, readonly Buffer[]>();
const maxRemembered = 64;

function needlesFor(secrets: ReadonlySet<string>): readonly Buffer[] {
  const key = JSON.stringify([...secrets].sort());
  let needles = remembered.get(key);
  if (needles === undefined) {
    needles = [
      ...new Map([...secrets].flatMap(needlesOf).map((n) => [n.toString('latin1'), n])).values(),
    ];
    const [oldest] = remembered.keys();
    if (remembered.size >= maxRemembered && oldest !== undefined) remembered.delete(oldest);
  } else {
    remembered.delete(key);
  }
  remembered.set(key, needles);
  return needles;
}

const matchers = new WeakMap<readonly Buffer[], Matcher>();

export class NeedleSet {
  readonly #secrets = new Set<string>();
  #matcher: Matcher | null = null;
  #needles: readonly Buffer[] | null = null;

  /** False when the secret cannot be removed without destroying everything else. */
  add(secret: string): boolean {
    if (!isRemovable(secret)) return false;
    if (!this.#secrets.has(secret)) {
      this.#secrets.add(secret);
      this.#needles = null;
      this.#matcher = null;
    }
    return true;
  }

  get isEmpty(): boolean {
    return this.#secrets.size === 0;
  }

  get needles(): readonly Buffer[] {
    return (this.#needles ??= needlesFor(this.#secrets));
  }

  get matcher(): Matcher {
    if (this.#matcher !== null) return this.#matcher;
    const { needles } = this;
    const matcher = matchers.get(needles) ?? new Matcher(needles);
    matchers.set(needles, matcher);
    return (this.#matcher = matcher);
  }
}
