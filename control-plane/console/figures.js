/** Availability and p95 of the last day for many checks: a hundred per request, cached for minutes. */
import { useEffect, useState } from './dom.js';
import { call } from './api.js';
import { onSessionChange } from './session.js';

const atOnce = 100;
const keptMs = 5 * 60_000;
/** Interval of refreshes, and delay after an error. */
const askAgainMs = 60_000;

const figures = new Map();
const listeners = new Set();
let wanted = [];
let isAsking = false;

onSessionChange(() => {
  figures.clear();
  wanted = [];
});

function isDue(id) {
  return Date.now() - (figures.get(id)?.at ?? 0) > keptMs;
}

function p95Of(row) {
  return row.responseTime_p95 ?? row.latency_p95 ?? null;
}

async function ask() {
  if (isAsking) return;
  isAsking = true;
  try {
    for (;;) {
      const checkIds = wanted.filter(isDue).slice(0, atOnce);
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
  } catch (problem) {
    setTimeout(() => void ask(), problem.retryAfterMs ?? askAgainMs);
  }
  isAsking = false;
}

/** Figures by check id. The first checks of the list are requested first. */
export function useFigures(ids) {
  const [version, redraw] = useState(0);
  useEffect(() => {
    const listener = () => redraw((before) => before + 1);
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, []);
  useEffect(() => {
    wanted = ids;
    void ask();
  }, [ids.join()]);
  useEffect(() => {
    const timer = setInterval(() => void ask(), askAgainMs);
    return () => clearInterval(timer);
  }, []);
  return { figures, version };
}
