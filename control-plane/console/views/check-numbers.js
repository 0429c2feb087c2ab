/** Availability and times of a check, as figures and charts. */
/** @import { Axis, Range } from '../analytics.js' */
/** @import { Analytics, CheckOverview, NumberFacts, Read } from '../contract.ts' */
import { html, useMemo } from '../dom.js';
import { checkTypes } from '../facts.js';
import { axisOf, numberIn, queriesOf, ranges, toLines, toneOf, watchedMs } from '../analytics.js';
import { duration, inNumbers, percent, span } from '../format.js';
import { Bars } from '../parts/bars.js';
import { Chart } from '../parts/chart.js';
import { Choice, Section, Tile } from '../parts/layout.js';
import { Empty, Failure, Loading } from '../parts/notices.js';
import { useQuery } from '../query.js';
import { choosing } from '../router.js';

const refreshMs = 60_000;
/** @type {[string, string][]} */
const statistics = [
  ['p50', 'Median'],
  ['p95', 'p95'],
  ['max', 'Worst'],
];

/**
 * @param {string} name
 * @returns {name is Range}
 */
const isRange = (name) => name in ranges;

/** @param {{ facts: NumberFacts, read: Read<Analytics>, overview: CheckOverview, range: Range }} props */
function Figures({ facts, read, overview, range }) {
  const point = read.data?.series[0]?.data[0];
  const time = (/** @type {string} */ name) => duration(numberIn(point, `${facts.time}_${name}`));
  const availability = numberIn(point, 'availability');
  const watched = watchedMs(overview, range);
  const isWhole = watched === ranges[range].ms;
  return html`<div class="tiles">
    <${Tile}
      name=${isWhole ? 'Availability' : `Availability of ${span(watched)}`}
      value=${percent(availability)}
      tone=${toneOf(availability, watched / ranges[range].ms) || (isWhole && availability !== null ? 'good' : '')}
      title="Share of runs that did not fail; runs with agent errors are not counted"
    />
    ${
      facts.time !== null &&
      html`<${Tile} name="Median" value=${time('p50')} /><${Tile}
          name="p95"
          value=${time('p95')}
        /><${Tile} name="p99" value=${time('p99')} />`
    }
    <${Tile} name="Retries" value=${inNumbers(numberIn(point, 'retries'))} />
    <div class="tile">
      <${Bars} runs=${overview.recentRuns} slots=${60} /><span>Last runs</span>
    </div>
  </div>`;
}

/**
 * @param {{
 *   facts: NumberFacts,
 *   answer: Analytics,
 *   axis: Axis,
 *   statistic: string,
 * }} props
 */
function ByLocation({ facts, answer, axis, statistic }) {
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
  return html`<${Chart} title="Time by location" unit="milliseconds" ...${lines} />`;
}

/** @param {{ facts: NumberFacts, answer: Analytics, axis: Axis }} props */
function Parts({ facts, answer, axis }) {
  const lines = useMemo(() => {
    const points = answer.series[0]?.data ?? [];
    const of = (/** @type {string[]} */ metrics) =>
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
  return html`${
    first !== undefined &&
    html`<${Chart}
        title=${facts.isStacked ? 'Where the time goes' : 'What was measured'}
        unit=${first.unit}
        names=${names}
        data=${lines.data}
        isStacked=${facts.isStacked}
      />`
  }
    <${Chart}
      title="Availability"
      unit="percentage"
      names=${['Available']}
      data=${lines.availability}
      isStepped=${true}
      most=${100}
    />`;
}

/** @param {{ facts: NumberFacts, overview: CheckOverview, range: Range, statistic: string }} props */
function Numbers({ facts, overview, range, statistic }) {
  const path = /** @type {const} */ (`v1/analytics/${facts.path}/${overview.id}`);
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
  return html`<${Figures} facts=${facts} read=${summary} overview=${overview} range=${range} />
    ${
      problem !== null &&
      html`<${Failure}
        problem=${problem}
        reload=${() => Promise.all([summary.reload(), byLocation.reload(), parts.reload()])}
      />`
    }
    <div class="charts">
      ${
        byLocation.data &&
        html`<${ByLocation}
          facts=${facts}
          answer=${byLocation.data}
          axis=${axis}
          statistic=${statistic}
        />`
      }
      ${hasData && html`<${Parts} facts=${facts} answer=${parts.data} axis=${axis} />`}
      ${
        hasData === false &&
        html`<${Empty} title="No runs in this time">
          Numbers appear with the first result. A longer time may have some.
        <//>`
      }
      ${hasData === undefined && problem === null && html`<${Loading} what="Loading numbers" />`}
    </div>`;
}

/** @param {{ overview: CheckOverview, range?: string, statistic?: string }} props */
export function CheckNumbers({ overview, range = '', statistic = 'p50' }) {
  const facts = checkTypes[overview.checkType]?.numbers ?? null;
  if (facts === null) return null;
  const chosen = isRange(range) ? range : 'last24Hours';
  const aside = html`<div class="actions">
    ${
      facts.time !== null &&
      html`<${Choice}
        label="Which time"
        options=${statistics}
        value=${statistic}
        onChange=${choosing('statistic')}
      />`
    }
    <${Choice}
      label="How far back"
      options=${Object.entries(ranges).map(([name, { word }]) => [name, word])}
      value=${chosen}
      onChange=${choosing('range')}
    />
  </div>`;
  return html`<${Section} title="Numbers" aside=${aside}>
    <${Numbers}
      facts=${facts}
      overview=${overview}
      range=${chosen}
      statistic=${statistics.some(([one]) => one === statistic) ? statistic : 'p50'}
    />
  <//>`;
}
