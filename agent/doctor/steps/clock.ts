import { longTime } from '../units.ts';
import { ok, skip, warn, type Finding } from '../finding.ts';
import type { CheckInFacts } from '../link/exchange.ts';
import type { Check } from '../step.ts';
import { readAnswer } from './control-plane.ts';

const tolerableMs = 2_000;
/** A `Date` header has whole seconds, and may have been made at either end of the way. */
const dateStepMs = 1_500;

const fix =
  'keep the clock right with NTP (timedatectl set-ntp true, chronyd; containers have the clock of their host); until then slots and results follow the control plane';

/** By the protocol where the key was accepted, otherwise by the `Date` of the answer. */
export function judgeClock(facts: CheckInFacts): Finding[] {
  const answer = readAnswer(facts);
  const { serverDate, sentAt, receivedAt } = facts;
  const byDate = serverDate === null ? null : serverDate + 500 - (sentAt + receivedAt) / 2;
  const offsetMs = answer.kind === 'accepted' ? answer.offsetMs : byDate;
  if (offsetMs === null) return skip('the answer does not say what time it is');
  const amount = Math.round(Math.abs(offsetMs));
  const isExact = answer.kind === 'accepted';
  const uncertainMs = (receivedAt - sentAt) / 2;
  if (amount > tolerableMs + uncertainMs + (isExact ? 0 : dateStepMs)) {
    const shown = amount < 10_000 ? `${amount} ms` : longTime(amount);
    const side = offsetMs > 0 ? 'behind' : 'ahead of';
    return warn(`this clock is ${shown} ${side} that of the control plane`, fix);
  }
  const margin = uncertainMs < 100 ? '' : `, ± ${Math.ceil(uncertainMs)} ms`;
  return ok(
    isExact
      ? `within ${amount} ms of the control plane${margin}`
      : 'within seconds of the control plane',
  );
}

export const checkClock: Check = async ({ link }) => judgeClock(await link.checkIn());
