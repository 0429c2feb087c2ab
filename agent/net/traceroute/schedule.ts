/** When a trace sends which probe, and how long it waits for each. Pure: time is an argument. */

/** Milliseconds. Routers limit how often they answer: one is not asked twice within a round. */
const roundMs = 400;
const staggerMs = 8;
/**
 * The kernel repeats a SYN after a second. Where answers are known to come sooner, a probe is given up
 * before that, since nobody could tell which of the two was answered.
 */
const beforeRepeatMs = 950;
const soonMs = 600;
/** A router takes three seconds to find that nobody has the address, and says so then. */
const patienceMs = 3_300;
const patienceAfterTcpMs = 2_400;
/** How far beyond the last router that answered it is worth asking again. */
const beyond = 5;
const rounds = 3;

export interface WaitingProbe {
  readonly hop: number;
  readonly sentAt: number;
}

interface Plan {
  readonly maxHops: number;
  /** Ask again by UDP when nobody answers. */
  readonly mayFallBack: boolean;
}

export type Decision<Probe> =
  /** Send a probe that may travel this far, then decide again. */
  | { readonly do: 'send'; readonly hop: number }
  /** Forget these probes, then decide again. */
  | { readonly do: 'give up'; readonly probes: readonly Probe[] }
  /** Forget all probes and begin again by UDP. */
  | { readonly do: 'fall back' }
  /** Decide again at this time, or after an answer. */
  | { readonly do: 'wait'; readonly until: number }
  | { readonly do: 'end' };

export class TraceSchedule {
  readonly #plan: Plan;
  readonly #patienceMs: number;
  readonly #begunAt: number;
  #lastHop: number;
  #farthest = 0;
  /** The longest time of an answer from this hop or one behind it. */
  readonly #longest: number[] = [];
  /** How many probes were sent or left out: those of a round by hop, then those of the next round. */
  #next = 0;
  #notBefore = 0;

  constructor(plan: Plan, now: number, patience = patienceMs) {
    this.#plan = plan;
    this.#patienceMs = patience;
    this.#begunAt = now;
    this.#lastHop = plan.maxHops;
  }

  /** The schedule of UDP, after TCP without an answer. */
  fallBack(now: number): TraceSchedule {
    return new TraceSchedule({ ...this.#plan, mayFallBack: false }, now, patienceAfterTcpMs);
  }

  /** The answer to a probe; false where it came from beyond the end of the way. */
  answered(hop: number, elapsedMs: number, isEnd: boolean): boolean {
    if (hop > this.#lastHop) return false;
    this.#farthest = Math.max(this.#farthest, hop);
    for (let nearer = 1; nearer <= hop; nearer += 1) {
      this.#longest[nearer] = Math.max(this.#longest[nearer] ?? 0, elapsedMs);
    }
    if (isEnd) this.#lastHop = hop;
    return true;
  }

  /** Sends no more. */
  stop(): void {
    this.#next = rounds * this.#plan.maxHops;
  }

  decide<Probe extends WaitingProbe>(now: number, waiting: Iterable<Probe>): Decision<Probe> {
    const next = this.#upcoming(now);
    if (next !== null && next.at <= now && this.#notBefore <= now) {
      this.#next += 1;
      // Never in bursts when this machine is late.
      this.#notBefore = now + staggerMs / 2;
      return { do: 'send', hop: next.hop };
    }
    let until = next === null ? Infinity : Math.max(next.at, this.#notBefore);
    const lost: Probe[] = [];
    for (const probe of waiting) {
      const end = this.#endOf(probe);
      if (end <= now) lost.push(probe);
      else until = Math.min(until, end);
    }
    if (lost.length > 0) return { do: 'give up', probes: lost };
    if (this.#plan.mayFallBack && this.#farthest === 0) {
      const at = this.#begunAt + beforeRepeatMs;
      if (now >= at) return { do: 'fall back' };
      if (until !== Infinity) until = Math.min(until, at);
    }
    return until === Infinity ? { do: 'end' } : { do: 'wait', until };
  }

  /** The next probe that is worth sending. Asked when it is its turn: until then more may be known. */
  #upcoming(now: number): { hop: number; at: number } | null {
    const { maxHops } = this.#plan;
    for (; this.#next < rounds * maxHops; this.#next += 1) {
      const round = Math.floor(this.#next / maxHops);
      const hop = (this.#next % maxHops) + 1;
      const at = this.#begunAt + round * roundMs + (hop - 1) * staggerMs;
      const mayBeNear = round === 0 || hop <= this.#farthest + beyond || at > now;
      if (hop <= this.#lastHop && mayBeNear) return { hop, at };
    }
    return null;
  }

  #endOf({ hop, sentAt }: WaitingProbe): number {
    if (hop > this.#lastHop) return -Infinity;
    const longest = this.#longest[hop];
    if (longest === undefined || longest > soonMs) return this.#begunAt + this.#patienceMs;
    return sentAt + Math.min(400 + 2 * longest, beforeRepeatMs);
  }
}
