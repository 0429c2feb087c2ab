/** The secrets of one run, ready to be searched for; grows while the run goes on. */
import { Matcher, type Needle } from './matcher.ts';
import { isRemovable, needlesOf } from './needles.ts';

/**
 * Making needles costs up to a millisecond for each secret, and several for one with letters beyond
 * ASCII; a check has the same secrets in every run, and checks of an account share most of them. 300
 * light runs per second would spend most of a core on it.
 */
class Remembered<T> {
  readonly #values = new Map<string, T>();
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  /** The value of a key, made when it is not among those that were asked for last. */
  get(key: string, make: () => T): T {
    const value = this.#values.get(key) ?? make();
    this.#values.delete(key);
    this.#values.set(key, value);
    const [oldest] = this.#values.keys();
    if (this.#values.size > this.#max && oldest !== undefined) this.#values.delete(oldest);
    return value;
  }
}

const bySecret = new Remembered<readonly Needle[]>(128);
const bySecrets = new Remembered<readonly Needle[]>(64);

function needlesFor(secrets: ReadonlySet<string>): readonly Needle[] {
  return bySecrets.get(JSON.stringify([...secrets].sort()), () => {
    const needles = [...secrets].flatMap((secret) => bySecret.get(secret, () => needlesOf(secret)));
    const keyed = needles.map((needle): [string, Needle] => [
      `${needle.anyCase} ${needle.base64} ${needle.bytes.toString('latin1')}`,
      needle,
    ]);
    return [...new Map(keyed).values()];
  });
}

const matchers = new WeakMap<readonly Needle[], Matcher>();

export class NeedleSet {
  readonly #secrets = new Set<string>();
  #matcher: Matcher | null = null;
  #needles: readonly Needle[] | null = null;

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

  get needles(): readonly Needle[] {
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
