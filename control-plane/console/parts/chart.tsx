/** Charts over time. The chart library is loaded with the first chart. */
import type { MetricDefinition } from '@monitor/shared/contract/checks/metric.ts';
import type Plot from 'uplot';
import type { CheckEvent } from '@monitor/shared/contract/check-event.ts';
import type { Lines } from '../analytics.ts';
import { useEffect, useRef, useState } from 'preact/hooks';
import { bytes, duration, inNumbers, nothing, percent, shortTime, tickLabel } from '../format.ts';
import { useMe } from '../me.ts';
import { timeZone } from '../own-zone.ts';
import { drawEvents, Marks, shownBy, type Shown } from './events.tsx';

/**
 * Works around POSIX locales: the browser reports a language that `Intl` rejects, and uPlot passes
 * it on.
 */
function nameKnownLanguage() {
  try {
    Intl.getCanonicalLocales(navigator.language);
  } catch {
    Object.defineProperty(navigator, 'language', { value: 'en-US' });
  }
}

interface ChartProps {
  title: string;
  names: string[];
  data: Lines;
  unit: MetricDefinition['unit'];
  isStacked?: boolean;
  /** For each instant, whether runs failed then. */
  failed?: boolean[];
  /** The last line is that of an earlier time. */
  isCompared?: boolean;
  events: CheckEvent[];
}

const isEarlier = ({ names, isCompared }: ChartProps, index: number) =>
  isCompared === true && index === names.length - 1;

let library: Promise<typeof Plot> | undefined;
function loadLibrary() {
  nameKnownLanguage();
  library ??= import('uplot').then((module) => module.default);
  return library;
}

const lineCount = 8;
const lineColor = (index: number) => `var(--line-${(index % lineCount) + 1})`;

/** Colours of the theme as the canvas takes them. */
function readColors(place: HTMLElement) {
  const value = (name: string) => {
    place.style.color = name;
    return getComputedStyle(place).color;
  };
  const colors = {
    lines: Array.from({ length: lineCount }, (_, index) => value(lineColor(index))),
    axis: value('var(--muted)'),
    grid: value('var(--line)'),
    failed: value('var(--bad-bar)'),
  };
  place.style.color = '';
  return colors;
}

const translucent = (color: string, share: number) =>
  color.replace('rgb(', 'rgba(').replace(')', `, ${share})`);

const formats: Record<MetricDefinition['unit'], (value: number | null | undefined) => string> = {
  milliseconds: duration,
  percentage: percent,
  count: inNumbers,
  score: inNumbers,
  bytes,
};

/** Stacks lines: each one on top of the previous ones. A missing value counts as 0 in the sum. */
function stacked([instants, ...lines]: Lines): Lines {
  const sums = instants.map(() => 0);
  return [
    instants,
    ...lines.map((line) =>
      line.map((value, index) => {
        if (value == null) return value;
        const sum = (sums[index] ?? 0) + value;
        sums[index] = sum;
        return sum;
      }),
    ),
  ];
}

/** Points without neighbours, which would be invisible as lines. */
function alone(plot: Plot, line: number) {
  const values = plot.data[line] ?? [];
  const known = [...values.keys()].filter((at) => values[at] !== undefined);
  return known.filter(
    (at, index) =>
      values[at] !== null &&
      values[known[index - 1] ?? -1] == null &&
      values[known[index + 1] ?? -1] == null,
  );
}

/** Bands behind the lines where runs failed. */
function markFailed(plot: Plot, failed: boolean[], color: string) {
  const { ctx, bbox } = plot;
  const at = (index: number) => plot.valToPos(plot.data[0][index] ?? 0, 'x', true);
  ctx.save();
  ctx.fillStyle = translucent(color, 0.22);
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  const step = at(1) - at(0);
  for (const [index, isFailed] of failed.entries()) {
    if (isFailed) ctx.fillRect(at(index), bbox.top, Math.max(2, step || 0), bbox.height);
  }
  ctx.restore();
}

function optionsOf(
  props: ChartProps,
  width: number,
  colors: ReturnType<typeof readColors>,
): Plot.Options {
  const { names, unit, isStacked } = props;
  const format = formats[unit];
  const axis = {
    stroke: colors.axis,
    font: '12px system-ui, sans-serif',
    grid: { stroke: colors.grid, width: 1 },
    ticks: { stroke: colors.grid, width: 1, size: 4 },
  };
  const series = names.map((label, index) => {
    const color = colors.lines[index % colors.lines.length] ?? '';
    return {
      label,
      stroke: color,
      width: isStacked ? 1 : 1.75,
      ...(isStacked ? { fill: translucent(color, 0.4) } : {}),
      ...(isEarlier(props, index) ? { stroke: colors.axis, dash: [4, 4] } : {}),
      points: { size: 5, show: true, filter: alone },
      spanGaps: false,
    };
  });
  return {
    width,
    height: 220,
    legend: { show: false },
    // Dragging zooms in, a double click shows everything again.
    cursor: { points: { size: 6 }, drag: { x: true, y: false }, sync: { key: 'check' } },
    scales: {
      y: { range: (_plot, _low, high) => [0, high > 0 ? high * 1.08 : 1] },
    },
    series: [{}, ...series],
    // Fills between a line and the one below it instead of down to zero.
    bands: isStacked ? names.slice(1).map((_, index) => ({ series: [index + 2, index + 1] })) : [],
    axes: [
      { ...axis, space: 70, values: (_plot, ticks) => ticks.map((at) => tickLabel(at * 1000)) },
      { ...axis, size: 64, space: 36, values: (_plot, ticks) => ticks.map(format) },
    ],
  };
}

function summary({ title, names, data, unit }: ChartProps) {
  const parts = names.map((name, index) => {
    const values = (data[index + 1] ?? []).filter((value) => value != null);
    if (values.length === 0) return `${name}: no data`;
    const format = formats[unit];
    return `${name}: ${format(Math.min(...values))} to ${format(Math.max(...values))}`;
  });
  return `${title}. ${parts.join('; ')}`;
}

function ValueTable({ names, data: [instants, ...lines], unit }: ChartProps) {
  const format = formats[unit];
  const rows = instants
    .map((at, index) => ({ at, values: lines.map((line) => line[index]) }))
    .filter(({ values }) => values.some((value) => value != null))
    .reverse();
  return (
    <div class="scroll short" tabindex={0} role="region" aria-label="Data of the chart">
      <table>
        <thead>
          <tr>
            <th scope="col">Start</th>
            {names.map((name) => (
              <th scope="col" class="right" key={name}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ at, values }) => (
            <tr key={at}>
              <td>{shortTime(at * 1000)}</td>
              {values.map((value) => (
                <td class="right">{value == null ? nothing : format(value)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** `data` comes from `toLines`. Values are shown in the legend and in a table below the chart. */
export function Chart(props: ChartProps) {
  const { title, names, data, unit, isStacked = false } = props;
  const place = useRef<HTMLDivElement | null>(null);
  const plot = useRef<Plot | null>(null);
  const failed = useRef<boolean[]>([]);
  failed.current = props.failed ?? [];
  const events = useRef(props.events);
  events.current = props.events;
  const [shown, setShown] = useState<Shown | null>(null);
  const isAdmin = useMe().mayAct('ADMIN');
  const [at, setAt] = useState<number | null>(null);
  const [isTable, setTable] = useState(false);
  const shape = JSON.stringify([names, unit, isStacked]);
  const drawn = isStacked ? stacked(data) : data;

  useEffect(() => {
    let isGone = false;
    const stops: (() => void)[] = [];
    const draw = (uPlot: typeof Plot) => {
      if (isGone || place.current === null) return;
      plot.current?.destroy();
      const colors = readColors(place.current);
      const options = optionsOf(props, place.current.clientWidth, colors);
      options.tzDate = (at) => uPlot.tzDate(new Date(at * 1000), timeZone);
      options.hooks = {
        setCursor: [(one) => setAt(one.cursor.idx ?? null)],
        drawClear: [
          (one) => {
            markFailed(one, failed.current, colors.failed);
            drawEvents(one, events.current, colors.axis, translucent(colors.axis, 0.15));
          },
        ],
        draw: [(one) => setShown((before) => shownBy(one, before))],
      };
      plot.current = new uPlot(options, drawn, place.current);
    };
    void loadLibrary().then((uPlot) => {
      draw(uPlot);
      if (isGone || place.current === null) return;
      const resize = new ResizeObserver(([entry]) => {
        const width = Math.floor(entry?.contentRect.width ?? 0);
        const drawnPlot = plot.current;
        if (width > 0 && drawnPlot !== null && drawnPlot.width !== width) {
          drawnPlot.setSize({ width, height: drawnPlot.height });
        }
      });
      resize.observe(place.current);
      const scheme = matchMedia('(prefers-color-scheme: dark)');
      const redraw = () => draw(uPlot);
      scheme.addEventListener('change', redraw);
      addEventListener('themechange', redraw);
      stops.push(
        () => resize.disconnect(),
        () => scheme.removeEventListener('change', redraw),
        () => removeEventListener('themechange', redraw),
      );
    });
    return () => {
      isGone = true;
      for (const stop of stops) stop();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [shape]);

  useEffect(() => {
    const shown = plot.current;
    if (shown === null) return;
    const { min, max } = shown.scales['x'] ?? {};
    const isZoomed = min !== shown.data[0][0] || max !== shown.data[0].at(-1);
    shown.setData(drawn, !isZoomed);
    if (isZoomed) shown.redraw();
  }, [data]);

  useEffect(() => plot.current?.redraw(false), [props.events]);

  const format = formats[unit];
  const instant = at === null ? undefined : data[0][at];
  return (
    <figure class="chart">
      <figcaption>
        <strong>{title}</strong>
        <span class="at">{instant === undefined ? '' : shortTime(instant * 1000)}</span>
        <button
          type="button"
          class="plain-button"
          aria-expanded={isTable}
          onClick={() => setTable(!isTable)}
        >
          {isTable ? 'Hide data' : 'Show data'}
        </button>
      </figcaption>
      <ul class="legend">
        {names.map((name, index) => (
          <li key={name}>
            <span
              class="swatch"
              style={{
                color: isEarlier(props, index) ? 'var(--muted)' : lineColor(index),
              }}
              aria-hidden="true"
            />
            {name}
            {instant !== undefined && <b>{format(at === null ? null : data[index + 1]?.[at])}</b>}
          </li>
        ))}
      </ul>
      <Marks events={props.events} isAdmin={isAdmin} shown={shown} />
      <div ref={place} class="plot" role="img" aria-label={summary(props)} />
      {isTable && <ValueTable {...props} />}
    </figure>
  );
}
