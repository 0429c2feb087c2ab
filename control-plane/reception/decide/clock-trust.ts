/**
 * Whether the wall clock can be trusted after it was set far ahead. With a clock a year ahead, all
 * results are old enough to be deleted and all certificates expired. Agents have clocks of their
 * own and confirm or contradict it. Each account has one vote, because agents may be wrong and
 * accounts hostile. Without agents the clock is trusted after a day.
 */
import type { Gap } from './receivable-time.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** A larger step ahead must be confirmed. */
const doubtfulStepMs = hourMs;
/** After a reboot, a clock that was set ahead looks like a long pause. */
const doubtfulPauseMs = dayMs;
/** Clocks without synchronisation differ by less. */
const agreementMs = 60_000;
/** A smaller error is harmless: agents within it confirm a doubtful clock. */
const harmlessMs = doubtfulStepMs / 2;
/** Votes are collected for this long: the first agent may run on the same machine, with the same clock. */
const listenMs = 60_000;
/** Agents that send nothing for this long after a gap or a start are treated as absent. */
const silenceMs = 10 * 60_000;
const maxLocations = 100;

interface Voice {
  accountId: string;
  location: string;
}

function spanText(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 7_200) return `${Math.round(seconds / 60)} minutes`;
  return seconds < 172_800
    ? `${Math.round(seconds / 3_600)} hours`
    : `${Math.round(seconds / 86_400)} days`;
}

export class ClockTrust {
  /** Possible error of the clock in ms; 0 when it is trusted. */
  #doubtMs = 0;
  /** Start of the doubt in receivable ms; null when the clock is trusted. */
  #doubtedSince: number | null = null;
  #wasAhead = false;
  #wasSetBack = false;
  /** Offset of this clock against the newest agent, by account and location. */
  readonly #votes = new Map<string, Map<string, number>>();
  /** Arrival of the first vote, in receivable ms. */
  #heardSince: number | null = null;
  /** Start of the voting time, in receivable ms; a while before the first vote. */
  #listensSince: number | null = null;

  /**
   * True once a doubtful clock was set back and agents agree with it since: stored future instants came from it.
   * Without them it may be behind, and what is stored only looks like the future.
   */
  get wasAhead(): boolean {
    return this.#wasAhead && this.#presentVotes() > 0;
  }

  /** True where agents say that the clock is behind, and until they agree with one that was set far back. */
  get mayBeBehind(): boolean {
    const votes = this.#presentVotes();
    return votes < 0 || (votes === 0 && this.#wasSetBack);
  }

  /** Call it when no future instants are left. */
  noteFutureCleared(): void {
    this.#wasAhead = false;
  }

  onGap({ stepMs, lostMs }: Gap, receivableMs: number): void {
    const isLongPause = lostMs >= doubtfulPauseMs;
    if (stepMs === 0 && !isLongPause) return;
    this.#votes.clear();
    this.#heardSince = null;
    this.#listensSince = null;
    if (stepMs <= -doubtfulStepMs) this.#wasSetBack = true;
    // A clock that is corrected in several steps is right only after the last one.
    const before = this.#doubtedSince === null ? 0 : this.#doubtMs;
    this.#doubtMs = Math.max(0, before + stepMs + (isLongPause ? lostMs : 0));
    if (before > 0 && stepMs < 0 && this.#doubtMs < doubtfulStepMs) this.#wasAhead = true;
    if (this.#doubtMs < doubtfulStepMs) this.#doubtedSince = null;
    else if (stepMs >= doubtfulStepMs || isLongPause) this.#doubtedSince = receivableMs;
  }

  /** Records the clock offset of an agent. */
  hear({ accountId, location }: Voice, aheadMs: number, receivableMs: number): void {
    const ofAccount = this.#votes.get(accountId) ?? new Map<string, number>();
    if (!ofAccount.has(location) && ofAccount.size >= maxLocations) return;
    this.#votes.set(accountId, ofAccount.set(location, aheadMs));
    this.#heardSince ??= receivableMs;
    if (this.#doubtedSince === null || receivableMs - this.#heardSince < listenMs) return;
    const { confirm, contradict } = this.#count();
    if (confirm <= contradict) return;
    this.#doubtedSince = null;
    this.#doubtMs = 0;
  }

  /** Votes of accounts; an account whose locations disagree contradicts. */
  #count(): { confirm: number; contradict: number } {
    const count = { confirm: 0, contradict: 0 };
    for (const ofAccount of this.#votes.values()) {
      const ahead = [...ofAccount.values()];
      const confirming = ahead.filter((ms) => Math.abs(ms) <= harmlessMs).length;
      // A clock with an error of its own is no evidence.
      const contradicting = ahead.filter(
        (ms) => ms > harmlessMs && ms <= this.#doubtMs + harmlessMs,
      ).length;
      if (confirming > contradicting) count.confirm += 1;
      else if (contradicting > 0) count.contradict += 1;
    }
    return count;
  }

  /** Accounts whose agents find the clock right or ahead, less those that find it behind. */
  #presentVotes(): number {
    let sum = 0;
    for (const ofAccount of this.#votes.values()) {
      const ahead = [...ofAccount.values()];
      const behind = ahead.filter((ms) => ms < -agreementMs).length;
      sum += Math.sign(ahead.length - 2 * behind);
    }
    return sum;
  }

  isTrusted(receivableMs: number): boolean {
    if (this.#doubtedSince === null) return true;
    const { confirm, contradict } = this.#count();
    this.#listensSince ??= receivableMs;
    if (contradict > 0 && contradict >= confirm) return false;
    return (
      receivableMs - this.#doubtedSince >= dayMs && receivableMs - this.#listensSince >= silenceMs
    );
  }

  /** Why the clock is not trusted; null when it is. */
  problem(receivableMs: number): string | null {
    const votes = [...this.#votes.values()]
      .flatMap((ofAccount) => [...ofAccount.values()])
      .sort((one, other) => one - other);
    const median = votes[Math.floor(votes.length / 2)] ?? 0;
    const areOfOneMind =
      Math.abs(median) > agreementMs &&
      votes.every((aheadMs) => Math.abs(aheadMs - median) <= agreementMs);
    if (areOfOneMind && (votes.length > 1 || this.#doubtedSince !== null)) {
      const where =
        votes.length === 1
          ? 'the agents of one location'
          : `the agents of ${votes.length} locations`;
      return `the clock of the control plane is ${spanText(Math.abs(median))} ${median > 0 ? 'ahead of' : 'behind'} ${where}`;
    }
    return this.isTrusted(receivableMs)
      ? null
      : 'the clock of the control plane was set ahead and its agents have not confirmed it yet';
  }
}
