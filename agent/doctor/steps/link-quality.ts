import { fail, ok, warn, type Finding } from '../finding.ts';
import type { Check } from '../step.ts';

const slowMs = 1_000;

/** Round trips in milliseconds, null for each that was lost. */
export function judgeTrips(trips: readonly (number | null)[]): Finding[] {
  const times = trips.filter((time) => time !== null).toSorted((a, b) => a - b);
  const lost = trips.length - times.length;
  if (times.length === 0) {
    return fail(
      `${trips.length} of ${trips.length} round trips were lost`,
      'see what is between here and the control plane',
      'TIMEOUT',
    );
  }
  const at = (share: number): number =>
    Math.round((times[Math.floor((times.length - 1) * share)] ?? 0) * 10) / 10;
  const evidence = `${trips.length} round trips: shortest ${at(0)}, median ${at(0.5)}, longest ${at(1)} ms, ${lost} lost`;
  if (lost > 0) {
    return warn(
      evidence,
      'the way drops connections or requests: see proxies, firewalls and their time limits; results are kept and sent again',
    );
  }
  if (at(0.5) > slowMs)
    return warn(`${evidence}: a slow link`, 'results arrive late; nothing is lost');
  return ok(evidence);
}

export const checkLinkQuality: Check = async ({ link }) => judgeTrips(await link.roundTrips());
