/** Dashboards in a few words: what Grafana wants of them is added here. */

interface Query {
  expr: string;
  legend?: string;
}

interface Panel {
  title: string;
  description: string;
  type: 'stat' | 'timeseries' | 'table' | 'state-timeline';
  queries: readonly Query[];
  unit: string;
  width: number;
  height: number;
  /** From which value on it is yellow, and red; the other way round when red is the smaller one. */
  thresholds?: readonly [yellow: number, red: number];
  isStacked?: boolean;
}

type Options = Partial<Pick<Panel, 'unit' | 'width' | 'height' | 'thresholds' | 'isStacked'>>;

const panelOf =
  (type: Panel['type'], width: number, height: number) =>
  (title: string, description: string, queries: string | readonly Query[], options: Options = {}) =>
    ({
      ...{ title, description, type, unit: 'short', width, height },
      ...options,
      queries: typeof queries === 'string' ? [{ expr: queries }] : queries,
    }) satisfies Panel;

export const stat = panelOf('stat', 4, 4);
export const graph = panelOf('timeseries', 12, 8);
export const table = panelOf('table', 24, 8);
export const states = panelOf('state-timeline', 24, 8);

export interface Row {
  title: string;
  panels: readonly Panel[];
}

interface Variable {
  name: string;
  label: string;
  query: string;
}

export interface Dashboard {
  uid: string;
  title: string;
  description: string;
  tags: readonly string[];
  variables: readonly Variable[];
  rows: readonly Row[];
}

const datasource = { type: 'prometheus', uid: '${datasource}' };
const columns = 24;

function stepsOf(thresholds: Panel['thresholds']): object[] {
  if (thresholds === undefined) return [{ color: 'green', value: null }];
  const [yellow, red] = thresholds;
  return yellow <= red
    ? [
        { color: 'green', value: null },
        { color: 'yellow', value: yellow },
        { color: 'red', value: red },
      ]
    : [
        { color: 'red', value: null },
        { color: 'yellow', value: red },
        { color: 'green', value: yellow },
      ];
}

const optionsOf: Readonly<Record<Panel['type'], object>> = {
  stat: {
    reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false },
    colorMode: 'background',
    graphMode: 'area',
    textMode: 'auto',
  },
  timeseries: {
    legend: { displayMode: 'list', placement: 'bottom', showLegend: true },
    tooltip: { mode: 'multi', sort: 'desc' },
  },
  table: { showHeader: true },
  'state-timeline': { showValue: 'never', legend: { displayMode: 'list', placement: 'bottom' } },
};

function customOf({ type, isStacked }: Panel): object {
  if (type !== 'timeseries') return {};
  return {
    lineWidth: 1,
    fillOpacity: isStacked === true ? 40 : 8,
    showPoints: 'never',
    ...(isStacked === true ? { stacking: { mode: 'normal', group: 'A' } } : {}),
  };
}

function toGrafana(panel: Panel, id: number, x: number, y: number): object {
  const { type, title, description, unit, thresholds, width, height } = panel;
  return {
    ...{ id, type, title, description, datasource },
    gridPos: { x, y, w: width, h: height },
    fieldConfig: {
      defaults: {
        unit,
        custom: customOf(panel),
        thresholds: { mode: 'absolute', steps: stepsOf(thresholds) },
        ...(type === 'timeseries' ? { min: unit === 's' || unit === 'bytes' ? 0 : undefined } : {}),
        color: {
          mode:
            thresholds === undefined && type === 'timeseries' ? 'palette-classic' : 'thresholds',
        },
      },
      overrides: [],
    },
    options: optionsOf[type],
    targets: panel.queries.map(({ expr, legend }, index) => ({
      ...{ refId: String.fromCharCode(65 + index), datasource, expr },
      legendFormat: legend ?? '__auto',
      ...(type === 'table' ? { format: 'table', instant: true } : {}),
      ...(type === 'stat' ? { instant: true } : {}),
    })),
  };
}

function panelsOf(rows: readonly Row[]): object[] {
  const panels: object[] = [];
  let y = 0;
  for (const { title, panels: ofRow } of rows) {
    panels.push({
      ...{ id: panels.length + 1, type: 'row', title, collapsed: false, panels: [] },
      gridPos: { x: 0, y, w: columns, h: 1 },
    });
    y += 1;
    let x = 0;
    let lineHeight = 0;
    for (const panel of ofRow) {
      if (x + panel.width > columns) {
        y += lineHeight;
        [x, lineHeight] = [0, 0];
      }
      panels.push(toGrafana(panel, panels.length + 1, x, y));
      x += panel.width;
      lineHeight = Math.max(lineHeight, panel.height);
    }
    y += lineHeight;
  }
  return panels;
}

function variableOf({ name, label, query }: Variable): object {
  return {
    ...{
      name,
      label,
      datasource,
      type: 'query',
      multi: true,
      includeAll: true,
      refresh: 2,
      sort: 1,
    },
    allValue: '.*',
    current: { text: ['All'], value: ['$__all'] },
    query: { query, refId: name },
    definition: query,
  };
}

/** What Grafana imports. */
export function dashboardJson({
  uid,
  title,
  description,
  tags,
  variables,
  rows,
}: Dashboard): object {
  return {
    ...{ uid, title, description, tags, editable: true, graphTooltip: 1, schemaVersion: 39 },
    ...{ version: 1, refresh: '30s', time: { from: 'now-6h', to: 'now' }, timezone: 'browser' },
    annotations: { list: [] },
    links: [],
    templating: {
      list: [
        {
          ...{ name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' },
          ...{ current: {}, refresh: 1 },
        },
        ...variables.map(variableOf),
      ],
    },
    panels: panelsOf(rows),
  };
}
