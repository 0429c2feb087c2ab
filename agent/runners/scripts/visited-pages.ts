/** The pages a run visited, with what happened in them. */
import type { BrowserCheckResult, WebVitals } from '@monitor/shared/contract/check-result.ts';
import type { CollectedArtifacts } from './run-artifacts.ts';
import { eventsOf, type RunEvent } from './run-events.ts';

type VisitedPage = BrowserCheckResult['pages'][number];

/** Up to the first it is good, up to the second it needs improvement. https://web.dev/articles/vitals */
const thresholds = {
  FCP: [1_800, 3_000],
  LCP: [2_500, 4_000],
  CLS: [0.1, 0.25],
  TBT: [200, 600],
  TTFB: [800, 1_800],
} as const satisfies Record<keyof WebVitals, readonly [number, number]>;

/** Web vitals with their ratings. */
export function rate(values: Readonly<Record<string, number>>): WebVitals {
  const rated: WebVitals = {};
  for (const [name, [good, poor]] of Object.entries(thresholds)) {
    const value = values[name];
    if (value === undefined || value < 0) continue;
    rated[name as keyof WebVitals] = {
      score: value <= good ? 'GOOD' : value <= poor ? 'NEEDS_IMPROVEMENT' : 'POOR',
      value,
    };
  }
  return rated;
}

/** One entry for each document a run went to, in order. */
export function visitedPages(
  events: readonly RunEvent[],
  artifacts: CollectedArtifacts,
): VisitedPage[] {
  const pages = new Map<string, VisitedPage>();
  for (const event of events) {
    if (event.type === 'visit') {
      pages.set(event.id, {
        url: event.url,
        title: '',
        webVitals: {},
        console: [],
        network: [],
        screenshots: artifacts.screenshots.get(event.id) ?? [],
      });
      continue;
    }
    const page = 'visit' in event ? pages.get(event.visit) : undefined;
    if (page === undefined) continue;
    if (event.type === 'vitals') {
      page.title = event.title || page.title;
      page.webVitals = { ...page.webVitals, ...rate(event.vitals) };
    } else if (event.type === 'console') {
      if (event.entry !== null) page.console.push(event.entry);
    } else if (event.type === 'network') {
      const { type: _type, visit: _visit, ...entry } = event;
      page.network.push(entry);
    }
  }
  const list = [...pages.values()];
  list.at(-1)?.screenshots.push(...(artifacts.screenshots.get('failed') ?? []));
  return list;
}

/** How many things went wrong, by where. */
export function traceSummary(events: readonly RunEvent[]): BrowserCheckResult['traceSummary'] {
  const failed = ({ status, failure }: { status: number | null; failure: string | null }) =>
    failure !== null || (status !== null && status >= 400);
  return {
    consoleErrors: eventsOf(events, 'console').filter(({ isError }) => isError).length,
    networkErrors: eventsOf(events, 'network').filter(failed).length,
    documentErrors: eventsOf(events, 'pageError').length,
    userScriptErrors:
      eventsOf(events, 'error').length +
      eventsOf(events, 'test').reduce((sum, { test }) => sum + test.errors.length, 0),
  };
}
