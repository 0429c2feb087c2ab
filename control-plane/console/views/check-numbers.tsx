/** Availability and times of a check, as figures and charts. */
import type { Analytics, CheckOverview, NumberFacts, Read } from '../contract.ts';
import { useMemo } from 'preact/hooks';
import { checkTypes } from '../facts.ts';
import {
  axisOf,
  numberIn,
  queriesOf,
  ranges,
  toLines,
  toneOf,
  watchedMs,
  type Axis,
  type Range,
} from '../analytics.ts';
import { duration, inNumbers, percent, span } from '../format.ts';
import { Bars } from '../parts/bars.tsx';
import { Chart } from '../parts/chart.tsx';
import { Choice, Section, Tile } from '../parts/layout.tsx';
import { Empty, Failure, Loading } from '../parts/notices.tsx';
import { useQuery } from '../query.ts';
import { choosing } from '../router.ts';

const refreshMs = 60_000;
const statistics: [string, string][] = [
  ['p50', 'Median'],
  ['p95', 'p95'],
  ['max', 'Max'],
];

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
        name={isWhole ? 'Availability' : `Availability of ${span(watched)}`}
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
      <Tile name="Retries" value={inNumbers(numberIn(point, 'retries'))} />
      <div class="tile">
        <Bars runs={overview.recentRuns} slots={60} />
        <span>Recent runs</span>
      </div>
    </div>
  );
}

function ByLocation({
  facts,
  answer,
  axis,
  statistic,
}: {
  facts: NumberFacts;
  answer: Analytics;
  axis: Axis;
  statistic: string;
}) {
  const lines = useMemo(() => {
    const metric = `${facts.time}_${statistic}`;
    const series = answer.series.filter(({ data }) => data.length > 0);
    return {
      names: series.map(({ runLocation }) => runLocation ?? ''),
      data: toLines(
        answer,
        axis,
        series.map(({ data }) => ({ points: data, metric })),
      ),
    };
  }, [answer]);
  if (lines.names.length === 0) return null;
  return <Chart title="Response time by location" unit="milliseconds" {...lines} />;
}

function Parts({ facts, answer, axis }: { facts: NumberFacts; answer: Analytics; axis: Axis }) {
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
  return (
    <>
      {first !== undefined && (
        <Chart
          title={facts.isStacked ? 'Response time by phase' : 'Measurements'}
          unit={first.unit}
          names={names}
          data={lines.data}
          isStacked={facts.isStacked}
        />
      )}
      <Chart
        title="Availability"
        unit="percentage"
        names={['Available']}
        data={lines.availability}
        isStepped={true}
        most={100}
      />
    </>
  );
}

function Numbers({
  facts,
  overview,
  range,
  statistic,
}: {
  facts: NumberFacts;
  overview: CheckOverview;
  range: Range;
  statistic: string;
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
  const problem = summary.problem ?? byLocation.problem ?? parts.problem;
  const hasData = parts.data?.series.some(({ data }) => data.length > 0);
  return (
    <>
      <Figures facts={facts} read={summary} overview={overview} range={range} />
      {problem !== null && (
        <Failure
          problem={problem}
          reload={() => Promise.all([summary.reload(), byLocation.reload(), parts.reload()])}
        />
      )}
      <div class="charts">
        {byLocation.data && (
          <ByLocation facts={facts} answer={byLocation.data} axis={axis} statistic={statistic} />
        )}
        {parts.data && hasData && <Parts facts={facts} answer={parts.data} axis={axis} />}
        {hasData === false && (
          <Empty title="No runs in this period">
            Metrics appear with the first result. A longer period may have some.
          </Empty>
        )}
        {hasData === undefined && problem === null && <Loading what="Loading metrics" />}
      </div>
    </>
  );
}

export function CheckNumbers({
  overview,
  range = '',
  statistic = 'p50',
}: {
  overview: CheckOverview;
  range: string | undefined;
  statistic: string | undefined;
}) {
  const facts = checkTypes[overview.checkType]?.numbers ?? null;
  if (facts === null) return null;
  const chosen = isRange(range) ? range : 'last24Hours';
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
      <Choice
        label="Period"
        options={Object.entries(ranges).map(([name, { word }]) => [name, word])}
        value={chosen}
        onChange={choosing('range')}
      />
    </div>
  );
  return (
    <Section title="Metrics" aside={aside}>
      <Numbers
        facts={facts}
        overview={overview}
        range={chosen}
        statistic={statistics.some(([one]) => one === statistic) ? statistic : 'p50'}
      />
    </Section>
  );
}
