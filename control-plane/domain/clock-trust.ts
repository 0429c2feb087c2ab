/**
 * Whether the wall clock can be believed after it was set far ahead. A clock that is a year ahead makes
 * results old enough to be deleted and certificates expire. Agents have clocks of their own: they
 * confirm it or contradict it. Without agents it is believed after a day.
 */
import type { Gap } from './receivable-time.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** A step of this much ahead has to be confirmed. */
const doubtfulStepMs = hourMs;
/** After a restart of the machine a clock that was set ahead looks like a long pause. */
const doubtfulPauseMs = dayMs;
/** Clocks that nobody takes care of differ by less. */
const agreementMs = 60_000;
const mostVotes = 1_000;

function spanText(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 7_200) return `${Math.round(seconds / 60)} minutes`;
  return seconds < 172_800
    ? `${Math.round(seconds / 3_600)} hours`
    : `${Math.round(seconds / 86_400)} days`;
}

export class ClockTrust {
  /** Since when, in receivable ms, the clock waits to be confirmed; null when it does not. */
  #doubtedSince: number | null = null;
  /** By how much our clock is ahead of that of the newest agent heard of, by location. */
  readonly #votes = new Map<string, number>();

  onGap({ stepMs, lostMs }: Gap, receivableMs: number): void {
    if (stepMs !== 0 || lostMs >= doubtfulPauseMs) this.#votes.clear();
    if (stepMs >= doubtfulStepMs || lostMs >= doubtfulPauseMs) this.#doubtedSince = receivableMs;
    else if (stepMs <= -doubtfulStepMs) this.#doubtedSince = null;
  }

  /** An agent of a location was heard of: by how much our clock is ahead of its clock. */
  hear(location: string, aheadMs: number): void {
    if (!this.#votes.has(location) && this.#votes.size >= mostVotes) return;
    this.#votes.set(location, aheadMs);
    const { agree, disagree } = this.#count();
    if (agree > 0 && agree >= disagree) this.#doubtedSince = null;
  }

  #count(): { agree: number; disagree: number } {
    const votes = [...this.#votes.values()];
    const agree = votes.filter((aheadMs) => Math.abs(aheadMs) <= agreementMs).length;
    return { agree, disagree: votes.length - agree };
  }

  isTrusted(receivableMs: number): boolean {
    if (this.#doubtedSince === null) return true;
    return this.#count().disagree === 0 && receivableMs - this.#doubtedSince >= dayMs;
  }

  /** What agents say against the clock, or why it is not believed; null when nothing is wrong. */
  problem(receivableMs: number): string | null {
    const votes = [...this.#votes.values()].sort((one, other) => one - other);
    const { agree, disagree } = this.#count();
    const median = votes[Math.floor(votes.length / 2)] ?? 0;
    const areOfOneMind =
      votes.every((aheadMs) => Math.abs(aheadMs - median) <= agreementMs) && agree === 0;
    if (areOfOneMind && (disagree > 1 || (disagree === 1 && this.#doubtedSince !== null))) {
      const where =
        disagree === 1 ? 'the agents of one location' : `the agents of ${disagree} locations`;
      return `the clock of the control plane is ${spanText(Math.abs(median))} ${median > 0 ? 'ahead of' : 'behind'} ${where}`;
    }
    return this.isTrusted(receivableMs)
      ? null
      : 'the clock of the control plane was set ahead and no agent has confirmed it yet';
  }
}
