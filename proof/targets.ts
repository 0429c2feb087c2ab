/** The websites and names that the checks of a proof ask for. They remember every visit and what they answered. */
import { createServer } from 'node:http';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Interval } from './lane.ts';
import { listen } from './listen.ts';
import { openNameServer } from './name-server.ts';

/** Instants are milliseconds since the epoch. */
export interface Visit {
  at: number;
  /** When it was answered; null when the visitor left before. */
  endedAt: number | null;
  isUp: boolean;
}

export interface Page {
  /** By a timer of its own; Infinity for one that takes the request and never answers. */
  answersAfterMs: number;
  isUp: (at: number) => boolean;
}

export interface Stall extends Interval {
  /** The longest time in it in which nothing was answered. */
  heldMs: number;
}

export interface Targets extends AsyncDisposable {
  url: string;
  /** Of the name server, on 127.0.0.1. */
  dnsPort: number;
  pages: Map<string, Page>;
  /** By path. */
  visits: Map<string, Visit[]>;
  /** When this process itself was held up, so that its pages were slow. */
  stalls: Stall[];
}

/** A page of the name server is at the path that its name spells: `3.suspension` at `/suspension/3`. */
export const nameOfPath = (path: string): string => path.slice(1).split('/').reverse().join('.');
const pathOfName = (name: string): string => `/${name.split('.').reverse().join('/')}`;

const lookEveryMs = 250;
/** A shorter one is lost in what the pages take by themselves. */
const noticeableStallMs = 60;

export async function openTargets(): Promise<Targets> {
  const pages = new Map<string, Page>();
  const visits = new Map<string, Visit[]>();
  const stalls: Stall[] = [];
  const arrive = (path: string, answer: (visit: Visit) => void): void => {
    const page = pages.get(path);
    const at = Date.now();
    const visit: Visit = { at, endedAt: null, isUp: page?.isUp(at) ?? false };
    const known = visits.get(path);
    if (known === undefined) visits.set(path, [visit]);
    else known.push(visit);
    if (page === undefined || page.answersAfterMs === 0) answer(visit);
    else if (page.answersAfterMs < Infinity) setTimeout(answer, page.answersAfterMs, visit);
  };
  const server = createServer((request, response) => {
    arrive(request.url ?? '/', (visit) => {
      response.once('finish', () => (visit.endedAt = Date.now()));
      response.writeHead(visit.isUp ? 200 : 503).end('body');
    });
  });
  const names = await openNameServer((name, answer) => {
    arrive(pathOfName(name), (visit) => {
      answer(visit.isUp);
      visit.endedAt = Date.now();
    });
  });
  const { url, [Symbol.asyncDispose]: close } = await listen(server);
  const delay = monitorEventLoopDelay({ resolution: 10 });
  delay.enable();
  let lookedAt = Date.now();
  const looking = setInterval(() => {
    const now = Date.now();
    const lateMs = Math.max(delay.max / 1e6, now - lookedAt - lookEveryMs);
    if (lateMs > noticeableStallMs)
      stalls.push({ from: lookedAt - lateMs, to: now, heldMs: lateMs });
    delay.reset();
    lookedAt = now;
  }, lookEveryMs);
  return {
    url,
    dnsPort: names.port,
    pages,
    visits,
    stalls,
    async [Symbol.asyncDispose]() {
      clearInterval(looking);
      delay.disable();
      await close();
      await names[Symbol.asyncDispose]();
    },
  };
}

/** When a page is down, drawn from a seed: `lastEndAt` is before the end, so that its recovery is seen. */
export function drawOutages(
  random: () => number,
  { from, lastEndAt, isShort }: { from: number; lastEndAt: number; isShort: boolean },
): Interval[] {
  const outages: Interval[] = [];
  const [shortestUpMs, shortestDownMs, spreadMs] = isShort
    ? [500, 10_500, 1_500]
    : [20_000, 21_000, 40_000];
  for (let at = from; ;) {
    const begin = at + shortestUpMs + random() * spreadMs;
    const end = begin + shortestDownMs + random() * spreadMs;
    if (end > lastEndAt) return outages;
    outages.push({ from: begin, to: end });
    at = end;
  }
}
