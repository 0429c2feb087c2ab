/** What the meter of pages wrote. The suite could have written it too: nothing is trusted. */
import type { FileHandle } from 'node:fs/promises';
import type { PlaywrightCheckResult } from '@monitor/shared/contract/check-result.ts';
import { z } from 'zod';
import { BoundedLines } from '../../script-host/bounded-lines.ts';
import { rate } from '../scripts/visited-pages.ts';

/** Beyond it nothing can have been measured; the sum of two is a number still. */
const number = z.number().min(0).max(1e9);
/** Sums of all lines stay whole numbers. */
const whole = z.int().min(0).max(10_000_000_000);
const line = z.union([
  z.object({
    url: z.url({ protocol: /^https?$/ }),
    requests: whole,
    bytes: whole,
    vitals: z.record(z.string().max(20), number),
  }),
  z.object({ browserStartMs: number }),
  // There were more visits than are written.
  z.object({ isCut: z.literal(true) }),
]);

const maxLine = 64 * 1024;
const maxBytes = 16 * 1024 * 1024;
/** Those with the most visits are kept. */
const maxPages = 50;
const maxUrl = 2_048;

type SuitePages = Required<Pick<PlaywrightCheckResult, 'pages'>> & {
  /** Absent when no Chromium was started. */
  metrics: Pick<PlaywrightCheckResult['metrics'], 'requests' | 'bytes' | 'browserStartMs'>;
};

const sum = (values: readonly number[]) => values.reduce((all, value) => all + value, 0);

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const [low = 0, high = low] = sorted.slice((sorted.length - 1) >> 1, (sorted.length >> 1) + 1);
  return (low + high) / 2;
}

/** Without what differs from visit to visit, and without names and passwords. */
function pageOf(url: string): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`.slice(0, maxUrl);
}

/** Reads it and closes the file; null where nothing was measured. The median of the visits counts for a page. */
export async function readSuitePages(file: FileHandle | null): Promise<SuitePages> {
  if (file === null) return { pages: [], metrics: {} };
  const read: z.output<typeof line>[] = [];
  const { size } = await file.stat();
  const lines = new BoundedLines(maxLine, (text, isCut) => {
    if (isCut) return;
    try {
      read.push(line.parse(JSON.parse(text.toString())));
    } catch {
      // A line that nobody understands is passed over.
    }
  });
  await using input = file.createReadStream({ end: maxBytes });
  for await (const chunk of input) lines.push(chunk as Buffer);
  lines.end();
  const visits = read.flatMap((one) => ('url' in one ? one : []));
  const starts = read.flatMap((one) => ('browserStartMs' in one ? one.browserStartMs : []));
  const isWhole = size <= maxBytes && !read.some((one) => 'isCut' in one);
  const pages = [...Map.groupBy(visits, ({ url }) => pageOf(url))].map(([url, all]) => {
    const measured = Map.groupBy(
      all.flatMap(({ vitals }) => Object.entries(vitals)),
      ([name]) => name,
    );
    const medians = [...measured].map(([name, of]) => [name, median(of.map(([, value]) => value))]);
    return {
      url,
      visits: all.length,
      requests: sum(all.map(({ requests }) => requests)),
      bytes: sum(all.map(({ bytes }) => bytes)),
      webVitals: rate(Object.fromEntries(medians) as Record<string, number>),
    };
  });
  return {
    pages: pages.sort((a, b) => b.visits - a.visits).slice(0, maxPages),
    metrics:
      starts.length === 0
        ? {}
        : {
            ...(isWhole && {
              requests: sum(visits.map(({ requests }) => requests)),
              bytes: sum(visits.map(({ bytes }) => bytes)),
            }),
            browserStartMs: Math.round(median(starts)),
          },
  };
}
