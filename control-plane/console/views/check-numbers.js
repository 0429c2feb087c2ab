/** Availability and times of a check, as figures and charts. */
import { html, useMemo } from '../dom.js';
import { checkTypes } from '../facts/check-types.js';
import { queriesOf, ranges, runsEveryMs, toLines } from '../analytics.js';
import { duration, inNumbers, percent } from '../format.js';
import { Bars } from '../parts/bars.js';
import { Chart } from '../parts/chart.js';
import { Choice, Section, Tile } from '../parts/layout.js';
import { Empty, Failure, Loading } from '../parts/notices.js';
import { useQuery } from '../query.js';
import { changeQuery } from '../router.js';

const refreshMs = 60_000;
const statistics = [
  ['p50', 'Median'],
  ['p95', 'p95'],
  ['max', 'Worst'],
];

function toneOf(availability) {
  if (availability == null) return '';
  if (availability >= 99.9) return 'good';
  return availability >= 99 ? 'warn' : 'bad';
}

function Figures({ facts, read, overview }) {
  const row = read.data?.series[0]?.data[0] ?? {};
  const time = (name) => duration(row[`${facts.time}_${name}`]);
  return html`<div class="tiles">
    <${Tile}
      name="Availability"
      value=${percent(row.availability)}
      tone=${toneOf(row.availability)}
      title="Share of runs that did not fail; runs with agent errors are not counted"
    />
    ${
      facts.time !== null &&
      html`<${Tile} name="Median" value=${time('p50')} /><${Tile}
          name="p95"
          value=${time('p95')}
        /><${Tile} name="p99" value=${time('p99')} />`
    }
    <${Tile} name="Retries" value=${inNumbers(row.retries)} />
    <div class="tile">
      <${Bars} runs=${overview.recentRuns} slots=${60} /><span>Last runs</span>
    </div>
  </div>`;
}

function ByLocation({ facts, answer, interval, statistic, spacing }) {
  const lines = useMemo(() => {
    const metric = `${facts.time}_${statistic}`;
    const series = answer.series.filter(({ data }) => data.length > 0);
    return {
      names: series.map(({ runLocation }) => runLocation),
      data: toLines(
        answer,
        interval,
        spacing,
        series.map(({ data }) => ({ points: data, metric })),
      ),
    };
  }, [answer]);
  if (lines.names.length === 0) return null;
  return html`<${Chart} title="Time by location" unit="ms" ...${lines} />`;
}

/** Units of metrics, as `Chart` names them. */
const chartUnits = { milliseconds: 'ms', percentage: 'percent', count: 'count' };

function Parts({ facts, answer, interval, spacing }) {
  const lines = useMemo(() => {
    const points = answer.series[0]?.data ?? [];
    const of = (metrics) =>
      toLines(
        answer,
        interval,
        spacing,
        metrics.map((metric) => ({ points, metric })),
      );
    const isMeasured = ({ name }) => points.some((point) => point[`${name}_avg`] > 0);
    const parts = facts.parts.filter(isMeasured);
    return {
      availability: of(['availability']),
      parts,
      data: of(parts.map(({ name }) => `${name}_avg`)),
    };
  }, [answer]);
  const names = lines.parts.map(({ label }) => label);
  const [{ unit } = {}] = lines.parts;
  return html`${
    lines.parts.length > 0 &&
    html`<${Chart}
        title=${facts.isStacked ? 'Where the time goes' : 'What was measured'}
        unit=${chartUnits[unit]}
        names=${names}
        data=${lines.data}
        isStacked=${facts.isStacked}
      />`
  }
    <${Chart}
      title="Availability"
      unit="percent"
      names=${['Available']}
      data=${lines.availability}
      isStepped=${true}
      most=${100}
    />`;
}

function Numbers({ facts, overview, range, statistic }) {
  const path = `v1/analytics/${facts.path}/${overview.id}`;
  const queries = queriesOf(facts, range, statistic);
  const { interval } = ranges[range];
  const spacing = runsEveryMs(overview);
  const summary = useQuery(path, { query: queries.summary, everyMs: refreshMs });
  const byLocation = useQuery(facts.time === null ? null : path, {
    query: queries.byLocation,
    everyMs: refreshMs,
  });
  const parts = useQuery(path, { query: queries.parts, everyMs: refreshMs });
  const problem = summary.problem ?? byLocation.problem ?? parts.problem;
  const hasData = parts.data?.series.some(({ data }) => data.length > 0);
  return html`<${Figures} facts=${facts} read=${summary} overview=${overview} />
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
          interval=${interval}
          spacing=${spacing}
          statistic=${statistic}
        />`
      }
      ${hasData && html`<${Parts} facts=${facts} answer=${parts.data} interval=${interval} spacing=${spacing} />`}
      ${
        hasData === false &&
        html`<${Empty} title="No runs in this time">
          Numbers appear with the first result. A longer time may have some.
        <//>`
      }
      ${hasData === undefined && problem === null && html`<${Loading} what="Loading numbers" />`}
    </div>`;
}

export function CheckNumbers({ overview, range = 'last24Hours', statistic = 'p50' }) {
  const facts = checkTypes[overview.checkType]?.numbers ?? null;
  if (facts === null) return null;
  const chosen = range in ranges ? range : 'last24Hours';
  const aside = html`<div class="actions">
    ${
      facts.time !== null &&
      html`<${Choice}
        label="Which time"
        options=${statistics}
        value=${statistic}
        onChange=${(one) => changeQuery({ statistic: one })}
      />`
    }
    <${Choice}
      label="How far back"
      options=${Object.entries(ranges).map(([name, { word }]) => [name, word])}
      value=${chosen}
      onChange=${(one) => changeQuery({ range: one })}
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
