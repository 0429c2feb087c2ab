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
  // What people saw in the console, and had to think about.
  [/\b(Go on|goes on by itself)\b/g, 'Continue, Reconnecting…'],
  [/\beasier to keep in mind\b/gi, 'easier to remember'],
  [/\bYou are the first\b/g, "you're the first user"],
  [/\bNo further reminder\b/g, 'Stops reminders'],
  [/^(Looks at|Made|Get it)$/g, 'Target, Created, Download'],
  [/\b(Watch it|What to watch|From a list)\b/g, 'Create monitor, URL or host, Import list'],
  [/\b(More of it|[Aa]s the account has it)\b/g, 'Advanced, Use account defaults'],
  [/\b(What passes|when the target fails)\b/gi, 'Pass criteria, Invert result'],
  [/\b(so many days|Begins again)\b/g, 'within (days), Repeat'],
  [/\bof certificates that expire\b/gi, 'Certificate expiry'],
  [/\b(New checks use it|to nobody after them)\b/gi, 'Add to new monitors, No policies yet'],
  [/\b(Sent lately|decided lately|put together here)\b/gi, 'Recent alerts, grouped here'],
  [/\b(Invitations that wait|Present password)\b/gi, 'Pending invitations, Current password'],
  [/\bIts (begin|end)s?\b/g, 'start, end'],
  [/\b(Run it by a link|Everybody who has the link)\b/gi, 'Trigger URL, Anyone with this URL'],
  [
    /\b(Did not hold|Waits for a processor|Shown is what)\b/gi,
    'Failed, CPU wait, Showing data from',
  ],
  [/\bstatus \d+ is\b/gi, 'HTTP 500'],
  [/\b(it waited for a CPU|that share the host)\b/gi, 'short of CPU, checks on'],
  [/\bConcerns [A-Z$]/g, 'Affects'],
  [/\b(We see failures|webhook heard)\b/gi, "We're investigating, webhook received"],
  [/\b(how it goes|look it up|drop by drop)\b/gi, 'Migration steps, Reference, slowly'],
].map(([pattern, instead]) => ({ pattern, instead }) as Term);
