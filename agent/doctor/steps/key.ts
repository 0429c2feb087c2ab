import { fail, ok, skip, warn, type Finding } from '../finding.ts';
import type { CheckInFacts } from '../link/exchange.ts';
import type { Step } from '../step.ts';
import { readAnswer } from './control-plane.ts';

const make =
  'make a key for the private location (POST /v1/private-locations/{id}/keys) and set API_KEY to its rawKey, or API_KEY_FILE to a file that holds it';

/** `pl_…4f2a`: enough to tell keys apart, as the control plane shows them. */
export function maskedKey(key: string): string {
  const prefix = /^[a-z]{2}_/.exec(key)?.[0] ?? '';
  return key.length < 16 ? `${prefix}…` : `${prefix}…${key.slice(-4)}`;
}

/** The key as it is; whether it is accepted is for the control plane to say. */
export function judgeKeyForm(key: string | undefined): Finding | null {
  if (key === undefined) return fail('API_KEY is not set', make);
  if (key.startsWith('cu_')) {
    return fail(
      `API_KEY (${maskedKey(key)}) is a key of the API, and an agent needs that of a location`,
      make,
    );
  }
  if (key.includes('…') || key.includes('*')) {
    return fail(
      `API_KEY is a masked key (${key.length} characters)`,
      `${make}; the whole key is shown only once`,
    );
  }
  return null;
}

export function judgeKey(key: string | undefined, facts: CheckInFacts): Finding[] {
  const form = judgeKeyForm(key);
  if (form !== null || key === undefined) return form === null ? [] : [form];
  const answer = readAnswer(facts);
  const shown = maskedKey(key);
  if (answer.kind === 'accepted') return [ok(`${shown} accepted, for location ${answer.location}`)];
  if (facts.status === 401 || facts.status === 403) {
    const strange = key.startsWith('pl_')
      ? ''
      : '; keys of locations begin with pl_, so this may be something else';
    return [
      fail(
        `the control plane refuses ${shown} (${facts.status}): it was revoked, belongs to another control plane, or is incomplete${strange}`,
        make,
      ),
    ];
  }
  // Keys are looked at first.
  if (answer.kind === 'error' && answer.protocol !== null) return [ok(`${shown} accepted`)];
  if (facts.status === null) return [skip('the control plane gave no answer')];
  return key.startsWith('pl_')
    ? [skip(`the control plane answered ${facts.status} before it looked at the key`)]
    : [warn(`${shown} does not begin with pl_, as keys of locations do`, make)];
}

export const key: Step = {
  id: 'key',
  name: 'key',
  needs: ['settings', 'dns', 'route', 'proxy', 'connect', 'tls', 'control-plane'],
  limitMs: 8_000,
  isOnline: true,
  check: async ({ link, config }) => judgeKey(config.API_KEY?.reveal(), await link.checkIn()),
};
