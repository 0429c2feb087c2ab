/**
 * What can happen in a world, apart from what its programs do by themselves. A story is a list of events that is drawn
 * from a seed; each has all that it needs in its fields, so that a list with fewer of them is a story as well.
 */
import { between, pick } from '../proof/case.ts';
import type { DiskFault } from './files.ts';
import type { RequestFault } from './network.ts';
import type { TargetState } from './targets.ts';

const second = 1_000;

interface Timed {
  /** In the time of the world. */
  at: number;
  forMs: number;
}
type Program = 'control-plane' | 'agents';
/** An agent or a check by its place; one that is not there is left out. */
interface Placed {
  place: number;
}

export type Event = Timed &
  (
    | ({ kind: 'target'; state: TargetState } & Placed)
    | ({
        kind: 'kill';
        of: Program;
        when: 'now' | 'answer' | 'statement' | 'visit';
        losesPower?: boolean;
      } & Placed)
    | ({ kind: 'disk'; of: Program; fault: DiskFault } & Placed)
    | ({ kind: 'suspend'; of: Program; isAsleep: boolean; isInVisit: boolean } & Placed)
    | ({ kind: 'slow'; of: Program; upToMs: number } & Placed)
    | ({ kind: 'clock'; of: Program; aheadMs: number } & Placed)
    | ({ kind: 'drift'; of: Program; perMs: number } & Placed)
    | ({ kind: 'link'; fault: 'dead' | 'refused' | 'cut' | 'forgotten' | 'slow' } & Placed)
    | ({ kind: 'requests'; share: number; fault: RequestFault } & Placed)
    | ({ kind: 'drain' } & Placed)
    | { kind: 'update' }
    | { kind: 'receiver'; answer: ReceiverAnswer }
    | ({ kind: 'pings-stop' } & Placed)
    | ({ kind: 'person'; does: PersonDoes } & Placed)
  );
export type ReceiverAnswer = 'busy' | 'broken' | 'hangs' | 'cuts' | 'refuses';
const edits = ['create', 'edit', 'pause', 'delete', 'rename', 'rotate', 'maintain'] as const;
const operations = [
  ...(['mute', 'mute-group', 'pause-group', 'revoke', 'move', 'join', 'deploy', 'deploy'] as const),
] as const;
export type PersonDoes =
  (typeof edits)[number] | (typeof operations)[number] | 'acknowledge' | 'snooze';

/** Answers of a balancer. */
const answers = [
  'HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\nconnection: close\r\n\r\n',
  'HTTP/1.1 503 Service Unavailable\r\nretry-after: 2\r\ncontent-length: 0\r\nconnection: close\r\n\r\n',
  'HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 20\r\nconnection: close\r\n\r\n<html>sign in</html>',
  'HTTP/1.1 404 Not Found\r\ncontent-length: 9\r\nconnection: close\r\n\r\nnot found',
];

/** How long before it begins people plan maintenance. */
export const announcedMs = [0, 15 * second, 60 * second];

type Draw = (random: () => number) => Event[];
const place = (random: () => number): Placed => ({ place: Math.floor(random() * 8) });
const timed = (random: () => number, shortest: number, longest: number): Timed => ({
  at: 0,
  forMs: Math.round(between(random, shortest * second, longest * second)),
});

function drawRequestFault(random: () => number): RequestFault {
  const at = pick(random, [0, 1, 60, 300, 2_000]);
  const bytes = Math.floor(random() * (at + 1));
  return pick<() => RequestFault>(random, [
    () => ({ kind: 'cut-request', at: bytes }),
    () => ({ kind: 'cut-answer', at: bytes }),
    () => ({ kind: 'answered', answer: pick(random, answers), hasActed: random() < 0.5 }),
    () => ({ kind: 'doubled', afterMs: Math.round(random() * random() * 20 * second) }),
  ])();
}

const outage: Draw = (random) => [
  {
    ...{ kind: 'target', ...place(random), ...timed(random, 2, 150) },
    state: pick<TargetState>(random, ['down', 'down', 'error', 'degraded', 'slow', 'hanging']),
  },
];

const kill = (random: () => number) => ({
  ...({ kind: 'kill', ...place(random), ...timed(random, 0.2, 60) } as const),
  of: pick<Program>(random, ['control-plane', 'agents']),
  when: pick(random, ['now', 'answer', 'statement', 'visit'] as const),
});

/** By the name of its case: what one of its events is. */
export const cases: Record<string, Draw> = {
  targets: outage,
  kill: (random) => [kill(random)],
  power: (random) => [{ ...kill(random), losesPower: true }],
  disk: (random) => [
    {
      ...{ kind: 'disk', ...place(random), ...timed(random, 1, 90) },
      of: pick<Program>(random, ['control-plane', 'agents']),
      fault: pick<DiskFault>(random, ['full', 'read-only']),
    },
  ],
  suspend: (random) => [
    {
      ...{ kind: 'suspend', ...place(random), ...timed(random, 0.5, 90) },
      of: pick<Program>(random, ['control-plane', 'agents', 'agents']),
      ...{ isAsleep: random() < 0.4, isInVisit: random() < 0.6 },
    },
  ],
  slow: (random) => [
    {
      ...{ kind: 'slow', ...place(random), ...timed(random, 5, 60) },
      of: pick<Program>(random, ['control-plane', 'agents']),
      upToMs: Math.round(between(random, 20, 2_000)),
    },
  ],
  clock: (random) => {
    const of = pick<Program>(random, ['control-plane', 'control-plane', 'agents']);
    const ahead = { aheadMs: Math.round(between(random, second, 300 * second)) };
    if (random() < 0.4) ahead.aheadMs *= -1;
    const at = timed(random, 5, 60);
    const where = place(random);
    // A page that goes down as the clock is right again.
    const after = { ...timed(random, 10, 120), at: at.forMs + Math.round(random() * 2 * second) };
    const events: Event[] = [
      { kind: 'clock', of, ...ahead, ...where, ...at },
      { kind: 'target', state: 'down', ...place(random), ...after },
    ];
    if (random() < 0.5) return events;
    if (of === 'agents') {
      // Started again while its clock is wrong.
      const away = { ...timed(random, 0.2, 5), at: Math.round(random() * at.forMs) };
      return [...events, { kind: 'kill', of, when: 'now', ...where, ...away }];
    }
    // What was measured before the step comes after it, or comes twice.
    const around = { ...timed(random, 4, 30), at: Math.max(0, at.forMs - 3 * second) };
    const isLost = random() < 0.5;
    return [
      ...events,
      isLost
        ? {
            ...{ kind: 'requests', ...place(random), ...around, share: 1 },
            fault: { kind: 'cut-answer', at: 0 },
          }
        : { kind: 'link', fault: pick(random, ['dead', 'refused']), ...place(random), ...around },
    ];
  },
  drift: (random) => [
    {
      ...{ kind: 'drift', ...place(random), ...timed(random, 60, 240) },
      of: pick<Program>(random, ['agents', 'control-plane']),
      perMs: (random() - 0.5) * 0.02,
    },
  ],
  link: (random) => [
    {
      // Some last until slots are taken for missed.
      ...{ kind: 'link', ...place(random), ...timed(random, 1, random() < 0.3 ? 200 : 60) },
      fault: pick(random, ['dead', 'refused', 'cut', 'forgotten', 'slow'] as const),
    },
  ],
  requests: (random) => [
    {
      ...{ kind: 'requests', ...place(random), ...timed(random, 10, 120) },
      share: between(random, 0.1, 1),
      fault: drawRequestFault(random),
    },
  ],
  drain: (random) => {
    const end: Event = { kind: 'drain', ...place(random), ...timed(random, 1, 40) };
    const kind = random();
    if (kind < 0.2) return [end];
    // While runs take long.
    const slow = (): Event => ({
      ...{ kind: 'target', ...place(random), ...timed(random, 20, 60) },
      state: pick<TargetState>(random, ['slow', 'hanging']),
    });
    if (kind < 0.5) return [slow(), slow(), { ...end, at: Math.round(random() * 20 * second) }];
    // While the control plane is held up.
    const held = timed(random, 1, 60);
    return [
      {
        kind: 'suspend',
        of: 'control-plane',
        place: 0,
        ...held,
        isAsleep: false,
        isInVisit: false,
      },
      { ...end, at: Math.round(random() * Math.min(5 * second, held.forMs)) },
    ];
  },
  update: (random) => [{ kind: 'update', ...timed(random, 0.5, 10) }],
  receiver: (random) => [
    {
      ...{ kind: 'receiver', ...timed(random, 5, 120) },
      answer: pick<ReceiverAnswer>(random, ['busy', 'broken', 'hangs', 'cuts', 'refuses']),
    },
    ...outage(random),
  ],
  heartbeats: (random) => [{ kind: 'pings-stop', ...place(random), ...timed(random, 5, 200) }],
  people: (random) => {
    const event: Event = {
      ...{ kind: 'person', ...place(random), ...timed(random, 5, 90) },
      does: pick<PersonDoes>(random, edits),
    };
    if (event.does !== 'maintain' || random() < 0.5) return [event];
    // Its agents are started again in the window, and the control plane is away.
    const begins = announcedMs[event.place % announcedMs.length] ?? 0;
    const at = Math.max(14 * second, begins + Math.round(random() * event.forMs));
    const kill = { kind: 'kill', when: 'now', place: 0 } as const;
    return [
      event,
      { ...kill, of: 'control-plane', at: at - second, forMs: 30 * second },
      { ...kill, of: 'agents', ...place(random), ...timed(random, 0.2, 5), at },
    ];
  },
  operators: (random) => [
    {
      ...{ kind: 'person', ...place(random), ...timed(random, 5, 90) },
      does: pick<PersonDoes>(random, operations),
    },
  ],
  responders: (random) => {
    const at = place(random);
    const state = pick<TargetState>(random, ['down', 'error', 'degraded']);
    const does = pick<PersonDoes>(random, ['acknowledge', 'snooze']);
    return [
      { kind: 'target', state, ...at, ...timed(random, 30, 280) },
      { kind: 'person', does, ...at, at: Math.round(between(random, 15, 150) * second), forMs: 0 },
    ];
  },
};

/** The events of a seed: of a few cases, so that they meet, and outages in between. */
export function drawStory(
  random: () => number,
  { from, to, only }: { from: number; to: number; only: readonly string[] | null },
): Event[] {
  const names = only ?? Object.keys(cases);
  const chosen = Array.from({ length: 1 + Math.floor(random() * 3) }, () => pick(random, names));
  const many = 2 + Math.floor(random() * 5);
  const events: Event[] = [];
  for (let turn = 0; turn < many; turn += 1) {
    const draws = [cases[pick(random, chosen)] as Draw, ...(random() < 0.5 ? [outage] : [])];
    const at = Math.round(from + random() * (to - from));
    // Often close together: what is rare is two at once.
    const near = at + Math.round(between(random, 10, 20 * second)) - 10;
    for (const [index, draw] of draws.entries()) {
      for (const event of draw(random)) {
        const begins = Math.min((index === 0 ? at : near) + event.at, to);
        events.push({
          ...event,
          at: begins,
          forMs: Math.min(event.forMs, to + 60 * second - begins),
        });
      }
    }
  }
  return events.toSorted((one, other) => one.at - other.at);
}

/** What is to be met by enough seeds. */
export const situations: readonly string[] = [
  ...['down', 'error', 'degraded', 'slow', 'hanging'].map((state) => `target ${state}`),
  ...['now', 'answer', 'statement', 'visit'].map((when) => `kill at ${when}`),
  ...[
    'stop',
    'sleep',
    'suspended in a visit',
    'slow',
    'clock',
    'drift',
    'drain',
    'update',
    'pings stop',
  ],
  ...['power lost', 'disk full', 'disk read-only'],
  ...['dead', 'refused', 'cut', 'forgotten', 'slow'].map((fault) => `link ${fault}`),
  ...['cut-request', 'cut-answer', 'answered', 'doubled'].map((fault) => `requests ${fault}`),
  ...['busy', 'broken', 'hangs', 'cuts', 'refuses'].map((answer) => `receiver ${answer}`),
  ...[...edits, ...new Set(operations), 'acknowledge', 'snooze', 'plan maintenance'].map(
    (does) => `people ${does}`,
  ),
  ...['reminder', 'step of a policy', 'mail to a subscriber'],
  ...['drain while the control plane is held up', 'slot missed for a cause', 'agent error'],
  'slot in maintenance that its agents know of',
];
