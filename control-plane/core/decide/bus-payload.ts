/**
 * Messages of the bus as text: one topic per line, its kind and what it is about.
 *
 *   l account/location [version check]   something that the agents of a location must hear; the check
 *                        whose change alone made this version
 *   a account            something that all agents of an account must hear
 *   p account            something that the status pages of an account may show
 *   k                    keys
 *   e account/what       something that the consoles of an account may show
 *   o                    the outbox
 *   r runId              a run that ended
 *
 * `*` stands for all: `r *` means that any run may have ended.
 */
export type TopicKind = 'l' | 'a' | 'p' | 'e' | 'k' | 'o' | 'r';

const kinds: ReadonlySet<string> = new Set<TopicKind>(['l', 'a', 'p', 'e', 'k', 'o', 'r']);

/** PostgreSQL takes payloads below 8,000 bytes. */
export const maxPayloadBytes = 7_900;

function broaden(lines: ReadonlySet<string>, step: (line: string) => string): Set<string> {
  return new Set([...lines].map(step));
}

/** From narrow to broad: the next one is taken only when the payload is still too long. */
const steps: readonly ((line: string) => string)[] = [
  (line) => (line.startsWith('l ') ? line.split(' ', 2).join(' ') : line),
  (line) => (/^[rpe] /.test(line) ? `${line[0]} *` : line),
  (line) => (line.startsWith('l ') ? `a ${line.slice(2, line.indexOf('/'))}` : line),
  (line) => (line.startsWith('a ') ? 'a *' : line),
];

/** The payload for these lines; too many of them become broader topics. */
export function encodePayload(
  sender: string,
  lines: ReadonlySet<string>,
  maxBytes = maxPayloadBytes,
): string {
  let left = lines;
  const text = (): string => [sender, ...left].join('\n');
  for (const step of steps) {
    if (Buffer.byteLength(text()) <= maxBytes) break;
    left = broaden(left, step);
  }
  return text();
}

export interface Topic {
  kind: TopicKind;
  /** Empty for kinds that are about nothing in particular. */
  about: string;
}

/** The topics of a payload; lines of unknown kinds, from a newer build, are left out. */
export function decodePayload(payload: string): { sender: string; topics: Topic[] } {
  const [sender = '', ...lines] = payload.split('\n');
  const topics = lines.flatMap((line): Topic[] => {
    const [kind = ''] = line;
    return kinds.has(kind) ? [{ kind: kind as TopicKind, about: line.slice(2) }] : [];
  });
  return { sender, topics };
}
