/** Availability and p95 of the last day for many checks, cached for minutes. */
import type { DataAt } from './contract.ts';
import { useEffect, useState } from 'preact/hooks';
import { call } from './api.ts';
import { toProblem } from './problem.ts';
import { checkTypes, maxChecksPerRequest } from './facts.ts';
import { onSessionChange } from './session.ts';

const keptMs = 5 * 60_000;
/** Interval of refreshes, and delay after an error. */
const askAgainMs = 60_000;

export interface Figures {
  availability: number | null;
  p95: number | null;
  at: number;
}

const figures = new Map<string, Figures>();
const listeners = new Set<() => void>();
let wanted: string[] = [];
let isAsking = false;

onSessionChange(() => {
  figures.clear();
  wanted = [];
});

function isDue(id: string) {
  return Date.now() - (figures.get(id)?.at ?? 0) > keptMs;
}

function p95Of(row: DataAt<'v1/analytics/checks', 'POST'>[number]) {
  const field = checkTypes[row.checkType]?.p95 ?? null;
  return field === null ? null : (row[field] ?? null);
}

async function ask() {
  if (isAsking) return;
  isAsking = true;
  try {
    for (;;) {
      const checkIds = wanted.filter(isDue).slice(0, maxChecksPerRequest);
      if (checkIds.length === 0) break;
      const { data } = await call('v1/analytics/checks', {
        method: 'POST',
        query: { quickRange: 'last24Hours' },
        body: { checkIds },
      });
      const rows = new Map(data.map((row) => [row.checkId, row]));
      for (const id of checkIds) {
        const row = rows.get(id);
        figures.set(id, {
          availability: row?.availability ?? null,
          p95: row === undefined ? null : p95Of(row),
          at: Date.now(),
        });
      }
      for (const listener of listeners) listener();
    }
  } catch (error) {
    setTimeout(() => void ask(), toProblem(error).retryAfterMs ?? askAgainMs);
  }
  isAsking = false;
}

/** The figures of a check, once they are there. */
export function figuresOf(id: string) {
  return figures.get(id);
}

/**
 * Reads the figures of checks, the first of the list first, and renders again when there are new ones.
 */
export function useFigures(ids: string[]) {
  const [, redraw] = useState(0);
  useEffect(() => {
    const listener = () => redraw((before) => before + 1);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
  useEffect(() => {
    wanted = ids;
    void ask();
  }, [ids.join()]);
  useEffect(() => {
    const timer = setInterval(() => void ask(), askAgainMs);
    return () => clearInterval(timer);
  }, []);
}
