/** Availability and p95 of the last day for many checks, cached for minutes. */
/** @import { DataAt } from './contract.ts' */
import { useEffect, useState } from './dom.js';
import { call, toProblem } from './api.js';
import { checkTypes, maxChecksPerRequest } from './facts.js';
import { onSessionChange } from './session.js';

const keptMs = 5 * 60_000;
/** Interval of refreshes, and delay after an error. */
const askAgainMs = 60_000;

/** @typedef {{ availability: number | null, p95: number | null, at: number }} Figures */

/** @type {Map<string, Figures>} */
const figures = new Map();
/** @type {Set<() => void>} */
const listeners = new Set();
/** @type {string[]} */
let wanted = [];
let isAsking = false;

onSessionChange(() => {
  figures.clear();
  wanted = [];
});

/** @param {string} id */
function isDue(id) {
  return Date.now() - (figures.get(id)?.at ?? 0) > keptMs;
}

/** @param {DataAt<'v1/analytics/checks', 'POST'>[number]} row */
function p95Of(row) {
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

/**
 * The figures of a check, once they are there.
 * @param {string} id
 */
export function figuresOf(id) {
  return figures.get(id);
}

/**
 * Reads the figures of checks, the first of the list first, and renders again when there are new ones.
 * @param {string[]} ids
 */
export function useFigures(ids) {
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
