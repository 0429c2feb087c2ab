/** Availability and times of a check, as figures and charts. */
import type { CheckEvent } from '@monitor/shared/contract/check-event.ts';
import type { Analytics, CheckOverview, NumberFacts, Read } from '../contract.ts';
import type { RefObject } from 'preact';
import { useMemo, useRef } from 'preact/hooks';
import { checkTypes } from '../facts.ts';
import {
  axisOf,
  numberIn,
  partIn,
  queriesOf,
  ranges,
  toLines,
  toneOf,
  watchedMs,
  weekMs,
  type Axis,
  type Lines,
  type Range,
} from '../analytics.ts';
import { duration, inNumbers, percent } from '../format.ts';
import { Chart } from '../parts/chart.tsx';
import { EventList, until } from '../parts/events.tsx';
import { Choice, Section, Tile } from '../parts/layout.tsx';
import { Share } from '../parts/share.tsx';
import { Strips } from '../parts/strip.tsx';
import { Empty, Failure, Loading } from '../parts/notices.tsx';
import { useQuery } from '../query.ts';
import { useMe } from '../me.ts';
import { choosing } from '../router.ts';

const refreshMs = 60_000;
const statistics: [string, string][] = [
  ['p50', 'Median'],
  ['p95', 'p95'],
  ['max', 'Max'],
];

const comparisons: [string, string][] = [
  ['', 'No comparison'],
  ['week', 'Last week'],
];

const failedIn = ([instants, ...lines]: Lines) =>
  instants.map((_at, index) => lines.some((line) => (line[index] ?? 100) < 100));

const isRange = (name: string): name is Range => name in ranges;

function Figures({
  facts,
  read,
  overview,
  range,
}: {
  facts: NumberFacts;
  read: Read<Analytics>;
  overview: CheckOverview;
  range: Range;
}) {
  const point = read.data?.series[0]?.data[0];
  const time = (name: string) => duration(numberIn(point, `${facts.time}_${name}`));
  const availability = numberIn(point, 'availability');
  const watched = watchedMs(overview, range);
  const isWhole = watched === ranges[range].ms;
  return (
    <div class="tiles">
      <Tile
        name={`Availability ${partIn(watched, range)}`.trim()}
        value={percent(availability)}
        tone={
          toneOf(availability, watched / ranges[range].ms) ||
          (isWhole && availability !== null ? 'good' : '')
        }
        title="Share of runs that did not fail, without runs that had agent errors"
      />
      {facts.time !== null && (
        <>
          <Tile name="Median" value={time('p50')} />
          <Tile name="p95" value={time('p95')} />
          <Tile name="p99" value={time('p99')} />
        </>
      )}
      {checkTypes[overview.checkType]?.isRetried === true && (
        <Tile name="Retries" value={inNumbers(numberIn(point, 'retries'))} />
      )}
    </div>
  );
}

/** Points of a week before, at the instants of today. */
function weekLater({ series }: Analytics) {
  const points = series[0]?.data ?? [];
  return points.map((point) => {
    const at = Date.parse(String(point['startedAt'])) + weekMs;
    return { ...point, startedAt: new Date(at).toISOString() };
  });
}

interface Drawn {
  facts: NumberFacts;
  answer: Analytics;
  axis: Axis;
  events: CheckEvent[];
}

function ByLocation({
  facts,
  answer,
  before,
  axis,
  statistic,
  events,
}: Drawn & { before: Analytics | undefined; statistic: string }) {
  const { names, times, available } = useMemo(() => {
    const metric = `${facts.time}_${statistic}`;
    const series = answer.series.filter(({ data }) => data.length > 0);
    const linesOf = (one: string) => series.map(({ data: points }) => ({ points, metric: one }));
    const earlier = before === undefined ? [] : [{ points: weekLater(before), metric }];
    return {
      names: series.map(({ runLocation }) => runLocation ?? ''),
      times: toLines(answer, axis, [...linesOf(metric), ...earlier]),
      available: toLines(answer, axis, linesOf('availability')),
    };
  }, [answer, before]);
  if (names.length === 0) return null;
  return (
    <>
      <Strips names={names} data={available} />
      <Chart
        title="Response time by location"
        unit="milliseconds"
        names={before === undefined ? names : [...names, 'A week earlier, all locations']}
        data={times}
        isCompared={before !== undefined}
        failed={failedIn(available)}
        events={events}
      />
    </>
  );
}

function Parts({ facts, answer, axis, events }: Drawn) {
  const lines = useMemo(() => {
    const points = answer.series[0]?.data ?? [];
    const of = (metrics: string[]) =>
      toLines(
        answer,
        axis,
        metrics.map((metric) => ({ points, metric })),
      );
    const parts = facts.parts.filter(({ name }) =>
      points.some((point) => (numberIn(point, `${name}_avg`) ?? 0) > 0),
    );
    return {
      availability: of(['availability']),
      parts,
      data: of(parts.map(({ name }) => `${name}_avg`)),
    };
  }, [answer]);
  const names = lines.parts.map(({ label }) => label);
  const [first] = lines.parts;
  if (first === undefined) return null;
  return (
    <Chart
      title={facts.isStacked ? 'Response time by phase' : 'Measurements'}
      unit={first.unit}
      names={names}
      data={lines.data}
      isStacked={facts.isStacked}
      failed={failedIn(lines.availability)}
      events={events}
    />
  );
}

function Numbers({
  facts,
  overview,
  range,
  statistic,
  isCompared,
  place,
}: {
  /** Of what is shared as an image. */
  place: RefObject<HTMLDivElement>;
  facts: NumberFacts;
  overview: CheckOverview;
  range: Range;
  statistic: string;
  isCompared: boolean;
}) {
  const path = `v1/analytics/${facts.path}/${overview.id}` as const;
  const axis = axisOf(overview, range);
  const queries = queriesOf(facts, range, axis.interval, statistic);
  const summary = useQuery(path, { query: queries.summary, everyMs: refreshMs });
  const byLocation = useQuery(facts.time === null ? null : path, {
    query: queries.byLocation,
    everyMs: refreshMs,
  });
  const parts = useQuery(path, { query: queries.parts, everyMs: refreshMs });
  const before = useQuery(isCompared ? path : null, {
    query: queries.weekBefore,
    everyMs: refreshMs,
  });
  const read = useQuery(`v1/check-events/${overview.id}`, {
    query: queries.events,
    everyMs: refreshMs,
  });
  const events = useMemo(
    () => (read.data ?? []).filter((event) => until(event) * 1000 > axis.sinceMs),
    [read.data],
  );
  const isAdmin = useMe().mayAct('ADMIN');
  // Marks that came later would move the charts.
  const isMarked = read.data !== undefined || read.problem !== null;
  const problem = summary.problem ?? byLocation.problem ?? parts.problem;
  const hasData = parts.data?.series.some(({ data }) => data.length > 0);
  return (
    <>
      <div ref={place}>
        <Figures facts={facts} read={summary} overview={overview} range={range} />
        {problem !== null && (
          <Failure
            problem={problem}
            reload={() => Promise.all([summary.reload(), byLocation.reload(), parts.reload()])}
          />
        )}
        <div class="charts">
          {byLocation.data && isMarked && (
            <ByLocation
              {...{ facts, axis, statistic, events }}
              answer={byLocation.data}
              before={isCompared ? before.data : undefined}
            />
          )}
          {parts.data && hasData && isMarked && facts.parts.length > 0 && (
            <Parts {...{ facts, axis, events }} answer={parts.data} />
          )}
          {hasData === false && (
            <Empty title="No runs in this period">
              Metrics appear with the first result. A longer period may have some.
            </Empty>
          )}
          {(hasData === undefined || !isMarked) && problem === null && (
            <Loading what="Loading metrics" rows={14} />
          )}
        </div>
      </div>
      <EventList events={events} isAdmin={isAdmin} />
    </>
  );
}

export function CheckNumbers({
  overview,
  range = '',
  statistic = 'p50',
  compare = '',
}: {
  overview: CheckOverview;
  range: string | undefined;
  statistic: string | undefined;
  compare: string | undefined;
}) {
  const facts = checkTypes[overview.checkType]?.numbers ?? null;
  const place = useRef<HTMLDivElement>(null);
  if (facts === null) return null;
  const chosen = isRange(range) ? range : 'last24Hours';
  const canCompare = facts.time !== null && Date.now() - Date.parse(overview.createdAt) > weekMs;
  const aside = (
    <div class="actions">
      {facts.time !== null && (
        <Choice
          label="Statistic"
          options={statistics}
          value={statistic}
          onChange={choosing('statistic')}
        />
      )}
      {canCompare && (
        <Choice
          label="Compare"
          options={comparisons}
          value={compare}
          onChange={choosing('compare')}
        />
      )}
      <Choice
        label="Period"
        options={Object.entries(ranges).map(([name, { word }]) => [name, word])}
        value={chosen}
        onChange={choosing('range')}
      />
      <Share place={place} title={`${overview.name}, ${ranges[chosen].word}`} />
    </div>
  );
  return (
    <Section title="Metrics" aside={aside}>
      <Numbers
        place={place}
        facts={facts}
        overview={overview}
        range={chosen}
        isCompared={canCompare && compare === 'week'}
        statistic={statistics.some(([one]) => one === statistic) ? statistic : 'p50'}
      />
    </Section>
  );
}
