/** Words that the house does not use, with the field's term for each. */
interface Term {
  pattern: RegExp;
  instead: string;
}

/** Words of exported names and of file names, in lower case with hyphens between them. */
export const nameTerms: readonly Term[] = [
  [/^(.*-)?(un)?told(-.*)?$/, 'notified'],
  [/^(.*-)?ours(-.*)?$/, 'internal error, agent error'],
  [/^(.*-)?(faults?|troubles?)(-.*)?$/, 'internal error, error streak, outage, problem'],
  [/^(.*-)?stretch(es)?(-.*)?$/, 'streak, range'],
  [/^(.*-)?first-hop(-.*)?$/, 'next hop, default gateway'],
  [/^carry-out$/, 'apply'],
  [/^follow$/, 'reduce'],
  [/^outline$/, 'transition'],
  [/^(.*-)?silences?(-.*)?$/, 'mute, no results, unreachable'],
  [/^(most|longest|fewest|least|shortest|largest)-(?!common)/, 'max, min'],
  [/^leave(-place)?$/, 'releasePermit'],
  [/^(extent-of|enough|is-enough)$/, 'evidenceLevel, isLongEnough'],
  [/^body-of-pass$/, 'storedBodyLimit'],
  [/^(.*-)?(elsewhere|anywhere|whoever|handed-on)(-.*)?$/, 'another location, rescheduled'],
  [/^(.*-)?(passages?|guests?|shared-look|stand-between)(-.*)?$/, 'proxy session, allowed clients'],
  [/^(.*-)?(patience|stall-watch)(-.*)?$/, 'timeout, idle timeout'],
  [/^(.*-)?(planned-gaps?|upcoming-pauses?)(-.*)?$/, 'maintenance slots, scheduled maintenance'],
  [/^(.*-)?settling(-.*)?$/, 'startup grace period'],
  [/^(.*-)?last-end(-.*)?$/, 'previous shutdown'],
  [/^(.*-)?(means|lanes?)(-.*)?$/, 'transports, queue'],
  [/^(.*-)?((re|un)?seal(s|ed)?|secret-box)(-.*)?$/, 'encrypt, cipher'],
  [/^amounts?$/, 'units, usage'],
].map(([pattern, instead]) => ({ pattern, instead }) as Term);

/** Words of texts for users; global expressions. */
export const textTerms: readonly Term[] = [
  [/\b(un)?told\b/gi, 'notified, sent'],
  [/\bours\b/gi, 'internal error, agent error'],
  [/\b(whose )?faults?\b(?!-injection)/gi, 'internal error, agent error'],
  [/\btroubles?\b/gi, 'problem, outage'],
  [/\bstretch(es)? of\b/gi, 'streak of'],
  [/\bfirst hop\b/gi, 'next hop, default gateway'],
  [/\bwhoever\b/gi, 'name the person or the program'],
  [/\belsewhere\b/gi, 'another location'],
  [/\bhand(s|ed|ing)? on\b/gi, 'rescheduled to another location'],
  [/\b(patience|stall watch)\b/gi, 'timeout, idle timeout'],
  [/\b(planned gaps?|upcoming pauses?)\b/gi, 'maintenance slots, scheduled maintenance'],
  [/\b(un|re)?seal(s|ed|ing)?\b/gi, 'encrypt, decrypt'],
  [/\blanes?\b/gi, 'queue'],
  [/\bplaces? in (its|the|their) pool\b/gi, 'permit'],
].map(([pattern, instead]) => ({ pattern, instead }) as Term);
