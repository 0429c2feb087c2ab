/**
 * Whether the wall clock can be believed after it was set far ahead. A clock that is a year ahead makes
 * results old enough to be deleted and certificates expire. Agents have clocks of their own: they
 * confirm it or contradict it, and each account has one voice, for agents may be wrong and accounts
 * hostile. Without agents it is believed after a day.
 */
import type { Gap } from './receivable-time.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** So much ahead has to be confirmed. */
const doubtfulStepMs = hourMs;
/** After a restart of the machine a clock that was set ahead looks like a long pause. */
const doubtfulPauseMs = dayMs;
/** Clocks that nobody takes care of differ by less. */
const agreementMs = 60_000;
/** So far ahead it does no harm: a clock that is doubted is confirmed by agents that are this close to it. */
const harmlessMs = doubtfulStepMs / 2;
/** All agents are heard before it is decided: one on the same machine may be the first, and has its clock. */
const listenMs = 60_000;
/** Agents that do not speak up within this time after a gap or a start are not there. */
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
  /** By how much the clock may have been set too far ahead; 0 when nothing is known against it. */
  #doubtMs = 0;
  /** Since when, in receivable ms, the clock waits to be confirmed; null when it does not. */
  #doubtedSince: number | null = null;
  #wasAhead = false;
  /** By how much our clock is ahead of that of the newest agent heard of, by account and location. */
  readonly #votes = new Map<string, Map<string, number>>();
  /** When the first vote came, in receivable ms. */
  #heardSince: number | null = null;
  /** Since when agents may speak, in receivable ms: a while before the first of them does. */
  #listensSince: number | null = null;

  /** True once a doubtful clock was set back: what lies in the future was recorded by it. */
  get wasAhead(): boolean {
    return this.#wasAhead;
  }

  /** Nothing of the future is left. */
  noteFutureCleared(): void {
    this.#wasAhead = false;
  }

  onGap({ stepMs, lostMs }: Gap, receivableMs: number): void {
    const isLongPause = lostMs >= doubtfulPauseMs;
    if (stepMs === 0 && !isLongPause) return;
    this.#votes.clear();
    this.#heardSince = null;
    this.#listensSince = null;
    // One that is set right in parts is right only after the last of them.
    const before = this.#doubtedSince === null ? 0 : this.#doubtMs;
    this.#doubtMs = Math.max(0, before + stepMs + (isLongPause ? lostMs : 0));
    if (before > 0 && stepMs < 0 && this.#doubtMs < doubtfulStepMs) this.#wasAhead = true;
    if (this.#doubtMs < doubtfulStepMs) this.#doubtedSince = null;
    else if (stepMs >= doubtfulStepMs || isLongPause) this.#doubtedSince = receivableMs;
  }

  /** An agent of a location was heard of: by how much our clock is ahead of its clock. */
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

  /** Accounts by what their agents say of the doubt: one whose locations disagree contradicts. */
  #count(): { confirm: number; contradict: number } {
    const count = { confirm: 0, contradict: 0 };
    for (const ofAccount of this.#votes.values()) {
      const ahead = [...ofAccount.values()];
      const confirming = ahead.filter((ms) => Math.abs(ms) <= harmlessMs).length;
      // A clock that is wrong for a reason of its own is no evidence.
      const contradicting = ahead.filter(
        (ms) => ms > harmlessMs && ms <= this.#doubtMs + harmlessMs,
      ).length;
      if (confirming > contradicting) count.confirm += 1;
      else if (contradicting > 0) count.contradict += 1;
    }
    return count;
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

  /** What agents say against the clock, or why it is not believed; null when nothing is wrong. */
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
