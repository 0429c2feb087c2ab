/** Keeps what a trace found, and builds a report at any time. */
import type { TracerouteHop, TracerouteReport } from '@monitor/shared/contract/check-result.ts';
import type { IpFamily } from '@monitor/shared/contract/primitives.ts';
import { toThousandths, statisticsOf } from '../time-statistics.ts';
import { icmpNote, isUnreachable } from './notes.ts';
import type { ProbeAnswer } from './probe.ts';

interface Answer {
  readonly hop: number;
  readonly ms: number;
  readonly from: string;
  readonly isFromTarget: boolean;
  /** Farther hops will not answer differently. */
  readonly isLast: boolean;
  readonly note: string | null;
}

/** Target and method of a trace. */
interface Traced {
  readonly address: string;
  readonly family: IpFamily;
  readonly port: number | null;
}

/** Settings of a check. */
interface Planned {
  readonly method: TracerouteReport['method'];
  readonly shownSilent: number;
}

/** Silent hops shown after the last answer. */
const shownSilent = 3;

const unansweredByTcp = (port: number): string => `TCP to port ${port} had no answer from anybody`;

function statistics(
  times: readonly number[],
): Pick<TracerouteHop, 'last' | 'avg' | 'best' | 'worst' | 'stdDev'> {
  const found = statisticsOf(times);
  if (found === null) return { last: null, avg: null, best: null, worst: null, stdDev: null };
  const { avg, min: best, max: worst, stdDev } = found;
  return { last: toThousandths(times.at(-1) ?? 0), avg, best, worst, stdDev };
}

/** Unique values, most frequent first, then in order of appearance. */
function byFrequency(values: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].sort(([, one], [, other]) => other - one).map(([value]) => value);
}

/** Explains a probe that this machine sent back to itself. */
function ownReason(said: string | null): string {
  return said === null || said === 'host unreachable'
    ? 'nobody at the next hop answers'
    : `a rule of its firewall rejects that (${said})`;
}

export class TracerouteLog {
  readonly #traced: Traced;
  #method: TracerouteReport['method'];
  readonly #shownSilent: number;
  #local: string | null = null;
  #note: string | null = null;
  #sent: number[] = [];
  #answers: Answer[] = [];

  constructor(traced: Traced, plan?: Planned) {
    this.#traced = traced;
    this.#method = plan?.method ?? (traced.port === null ? 'udp' : 'tcp');
    this.#shownSilent = plan?.shownSilent ?? shownSilent;
  }

  /** Probes of a method are sent from now on, from a local address. Forgets all before. */
  begin(method: TracerouteReport['method'], local: string): void {
    const { port } = this.#traced;
    if (method === 'udp' && this.#method === 'tcp' && port !== null) {
      this.#note = unansweredByTcp(port);
    }
    this.#method = method;
    this.#local = local;
    this.#sent = [];
    this.#answers = [];
  }

  sent(hop: number): void {
    this.#sent[hop] = (this.#sent[hop] ?? 0) + 1;
  }

  answered(hop: number, answer: ProbeAnswer): void {
    const { address, family } = this.#traced;
    const { ms } = answer;
    if (answer.by === 'target') {
      const note = answer.isRefused ? 'connection refused' : null;
      this.#answers.push({ hop, ms, from: address, isFromTarget: true, isLast: true, note });
      return;
    }
    const { from, type, code } = answer;
    const isLast = isUnreachable(family, type);
    const isFromTarget = isLast && from === address;
    const isOwn = from === this.#local && !isFromTarget;
    const said = icmpNote(family, type, code);
    // The usual answer of a host to a datagram for a closed port.
    const isUsual = isFromTarget && this.#method === 'udp' && said === 'port unreachable';
    const note = isOwn ? `this machine itself: ${ownReason(said)}` : said;
    this.#answers.push({ hop, ms, from, isFromTarget, isLast, note: isUsual ? null : note });
  }

  #lastHop(): number {
    const ends = this.#answers.filter(({ isLast }) => isLast).map(({ hop }) => hop);
    if (ends.length > 0) return Math.min(...ends);
    const farthest = Math.max(0, ...this.#answers.map(({ hop }) => hop));
    return Math.min(this.#sent.length - 1, farthest + this.#shownSilent);
  }

  #hop(hop: number): TracerouteHop {
    const answers = this.#answers.filter((answer) => answer.hop === hop);
    const sent = this.#sent[hop] ?? 0;
    const received = Math.min(answers.length, sent);
    const notes = answers.flatMap(({ note }) => (note === null ? [] : [note]));
    if (hop === 1 && this.#note !== null) notes.push(this.#note);
    return {
      hop,
      addresses: byFrequency(answers.map(({ from }) => from)),
      sent,
      received,
      lossPercent: sent === 0 ? 0 : Math.round((1 - received / sent) * 1000) / 10,
      ...statistics(answers.map(({ ms }) => ms)),
      isTarget: answers.some(({ isFromTarget }) => isFromTarget),
      note: notes.length === 0 ? null : byFrequency(notes).join('; '),
    };
  }

  /** Unanswered probes count as lost, so build it at the end of the trace. */
  report(startedAt: number, durationMs: number): TracerouteReport {
    const { address, family, port } = this.#traced;
    const hops: TracerouteHop[] = [];
    for (let hop = 1; hop <= this.#lastHop(); hop += 1) hops.push(this.#hop(hop));
    return {
      method: this.#method,
      address,
      port: this.#method === 'tcp' ? port : null,
      ipFamily: family,
      startedAt,
      durationMs: toThousandths(durationMs),
      isReached: hops.some(({ isTarget }) => isTarget),
      hops,
    };
  }
}
