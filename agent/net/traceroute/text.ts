/** A traceroute as people read it: a line for each hop, and a sentence that says what it comes to. */
import type { TracerouteHop, TracerouteReport } from '@monitor/shared/contract/check-result.ts';
import { table } from '@monitor/shared/text-table.ts';

const titles = ['Hop', 'Address', 'Loss', 'Sent', 'Last', 'Avg', 'Best', 'Worst', 'StDev'];

const silent = '(no answer)';

/** All but the address and the words at the end. */
const isNumber = (column: number): boolean => column !== 1 && column < titles.length;

function milliseconds(value: number | null): string {
  if (value === null) return '-';
  return value.toFixed(value < 10 ? 2 : 1);
}

/** A line for the hop, and one more for each further router at the same distance. */
function cellsOf(hop: TracerouteHop): string[][] {
  const [first = silent, ...others] = hop.addresses;
  const words = [hop.isTarget ? 'target' : null, hop.note].filter((word) => word !== null);
  const times = [hop.last, hop.avg, hop.best, hop.worst, hop.stdDev];
  return [
    [
      ...[String(hop.hop), first, `${hop.lossPercent.toFixed(0)}%`, String(hop.sent)],
      ...times.map(milliseconds),
      words.join(', '),
    ],
    ...others.map((address) => ['', address]),
  ];
}

/** The two hops at which a router is met that the way had left in between. */
function circleOf(hops: readonly TracerouteHop[]): [TracerouteHop, TracerouteHop] | null {
  for (const [index, later] of hops.entries()) {
    const [router] = later.addresses;
    if (router === undefined) continue;
    const earlier = hops.slice(0, index).find(({ addresses }) => addresses[0] === router);
    const between = hops.slice(earlier?.hop ?? index, index);
    if (earlier !== undefined && between.some(({ addresses }) => addresses[0] !== router)) {
      return [earlier, later];
    }
  }
  return null;
}

/** What it comes to, in one sentence. */
export function tracerouteConclusion(report: TracerouteReport): string {
  const { hops, isReached } = report;
  const end = hops.findLast(({ received }) => received > 0);
  if (end === undefined) return 'Nobody answered: not even the first router is heard of.';
  const [where = ''] = end.addresses;
  const said = end.note === null ? '' : ` (${end.note})`;
  if (isReached) return `The target answered at hop ${end.hop}${said}.`;
  const circle = circleOf(hops);
  if (circle !== null) {
    const [earlier, later] = circle;
    return `The way goes in a circle: ${earlier.addresses[0] ?? ''} is met at hop ${earlier.hop} and again at hop ${later.hop}. The target did not answer.`;
  }
  return `The target did not answer. The last to answer was ${where} at hop ${end.hop}${said}.`;
}

/** What was traced and how, as `10.0.0.1, port 443, TCP`. */
function heading({ address, port, method }: TracerouteReport): string {
  return `${address}, ${method === 'tcp' ? `port ${port ?? '?'}, TCP` : method.toUpperCase()}`;
}

/** The heading, a table and the conclusion, each line ended. Times are milliseconds. */
export function tracerouteText(report: TracerouteReport): string {
  const when = new Date(report.startedAt).toISOString();
  const took = (report.durationMs / 1000).toFixed(2);
  const lines = [
    `Traceroute to ${heading(report)}, ${when}, ${took} s, times in ms`,
    '',
    table([titles, ...report.hops.flatMap(cellsOf)], isNumber),
    '',
    tracerouteConclusion(report),
  ];
  return `${lines.join('\n')}\n`;
}
