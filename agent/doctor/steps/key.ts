import { fail, ok, skip, type Finding } from '../finding.ts';
import { maskedKey } from '../../key-problem.ts';
import { keyIsTakenAway } from '../../link/control-plane-client.ts';
import type { CheckInFacts } from '../link/exchange.ts';
import type { Check } from '../step.ts';
import { readAnswer } from './control-plane.ts';

const make =
  'make a key for the private location (POST /v1/private-locations/{id}/keys) and set API_KEY to its rawKey, or API_KEY_FILE to a file that holds it';

/** Whether the control plane takes the key; its form is for the step "settings". */
export function judgeKey(key: string | undefined, facts: CheckInFacts): Finding[] {
  if (key === undefined) return fail('API_KEY is not set', make);
  const answer = readAnswer(facts);
  const shown = maskedKey(key);
  if (answer.kind === 'accepted') return ok(`${shown} accepted, for location ${answer.location}`);
  if (answer.kind === 'error' && answer.hasNoKey) {
    return fail(
      `the control plane answered ${facts.status}: ${keyIsTakenAway}`,
      'let what is in between pass Authorization as it is',
    );
  }
  if (facts.status === 401 || facts.status === 403) {
    return fail(
      `the control plane refuses ${shown} (${facts.status}): it was revoked, or belongs to another control plane`,
      make,
    );
  }
  // Keys are looked at first.
  if (answer.kind === 'error' && answer.protocol !== null) return ok(`${shown} accepted`);
  if (facts.status === null) return skip('the control plane gave no answer');
  return skip(`the control plane answered ${facts.status} before it looked at the key`);
}

export const checkKey: Check = async ({ link, config }) =>
  judgeKey(config.API_KEY?.reveal(), await link.checkIn());
