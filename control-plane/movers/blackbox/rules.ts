/** Alert rules of Prometheus about probes, as settings of the checks that they select. */
import { compare, type Operator } from '../decide/assertion.ts';
import { duration } from '../decide/interval.ts';
import { goDuration } from '../decide/go-duration.ts';
import { thresholdFor } from '../decide/retries.ts';
import { certificateCheckText, type TlsServer } from '../converted-check.ts';
import { attempt, type Entry, type Plan } from '../plan.ts';
import { lookUp, SourceObject, type Fields } from '../source-object.ts';
import { comparisonsIn, type Comparison } from './promql.ts';
import type { Labels } from './relabel.ts';

/** A check that rules may change before it is added. */
export interface Probe {
  entry: Entry;
  labels: Labels;
  /** Between its runs here. */
  intervalSeconds: number;
  payload: Record<string, unknown>;
  /** Null where no TLS is spoken. */
  server: TlsServer | null;
  /** Labels of the alerts about it. */
  alerts: Labels[];
}

/** A server whose certificate rules watch. */
export interface WatchedServer {
  server: TlsServer;
  days: number;
  probes: Probe[];
  alerts: Labels[];
}

/** What one comparison of a rule wants of the checks that it selects. */
interface Wish {
  probes: readonly Probe[];
  /** What the wish is about: of several for the same, the smallest value holds. */
  about(probe: Probe): unknown;
  value: number;
  /** Makes it so, and says what it is then. */
  make(probe: Probe): string;
  /** What is done once the rule is understood whole, whether or not the wish holds. */
  accept?(): void;
  changed?: string;
  lost?: string;
}

interface Given {
  comparison: Comparison;
  /** The labels of the alert about a probe. */
  labelsOf(probe: Probe): Labels;
  forSeconds: number;
  /** Those that it selects. */
  probes: readonly Probe[];
  servers: Map<string, WatchedServer>;
}

/** Null where the comparison says something else. */
type Reading = (given: Given) => Wish | null;

/** A text with the names of probes; empty for none. */
const named = (probes: readonly Probe[], text: (names: string) => string) =>
  probes.length === 0
    ? ''
    : text([...new Set(probes.map(({ entry }) => `«${entry.name}»`))].join(', '));

function alertAfter(probe: Probe, forSeconds: number): string {
  const runs = Math.max(1, Math.ceil(forSeconds / probe.intervalSeconds));
  const { escalation, after } = thresholdFor(runs, probe.intervalSeconds);
  probe.payload['alertSettings'] = escalation;
  return forSeconds === 0 ? '' : `alerts after ${duration(forSeconds)} (\`for\`) → ${after}`;
}

/** The checks alert after the time of the rule, each to the receivers of all its rules. */
const alerting = ({ probes, forSeconds, labelsOf }: Given): Wish => ({
  probes,
  about: (probe) => probe,
  value: forSeconds,
  accept() {
    for (const probe of probes) probe.alerts.push(labelsOf(probe));
  },
  make: (probe) => alertAfter(probe, forSeconds),
});

const isDown: Reading = (given) => {
  const { operator, limit, isAverage } = given.comparison;
  const fires = (value: number) => compare[operator](value, limit);
  return isAverage || !fires(0) || fires(1) ? null : alerting(given);
};

const daySeconds = 86_400;
const serverKey = ({ hostname, port, serverName, startTls }: TlsServer) =>
  `${hostname.toLowerCase()}:${port}/${serverName ?? ''}/${startTls ?? ''}`;

const expires: Reading = ({ comparison, probes, servers, labelsOf }) => {
  const { isAhead, isAverage, operator, limit } = comparison;
  if (!isAhead || isAverage || !['<', '<='].includes(operator)) return null;
  const days = Math.max(1, Math.ceil(limit / daySeconds));
  const secure = probes.flatMap((probe) =>
    probe.server === null ? [] : [{ probe, key: serverKey(probe.server), server: probe.server }],
  );
  const others = probes.filter(({ server }) => server === null);
  return {
    probes: secure.map(({ probe }) => probe),
    about: ({ server }) => (server === null ? null : servers.get(serverKey(server))),
    value: -days,
    accept() {
      for (const { probe, key, server } of secure) {
        const known = servers.get(key) ?? { server, days, probes: [], alerts: [] };
        servers.set(key, known);
        known.days = Math.max(known.days, days);
        if (!known.probes.includes(probe)) known.probes.push(probe);
        known.alerts.push(labelsOf(probe));
      }
    },
    make: () =>
      `alerts ${Number((limit / daySeconds).toFixed(1))} days before a certificate expires → ${certificateCheckText('each', days)}`,
    lost: named(others, (names) => `no TLS is spoken with ${names}: no certificate is watched`),
  };
};

const webTypes = ['URL', 'API'];
/** The checks that have a metric; null for all. */
const durations: Readonly<Record<string, readonly string[] | null>> = {
  probe_duration_seconds: null,
  probe_http_duration_seconds: webTypes,
  probe_icmp_duration_seconds: ['ICMP'],
};

const isSlow: Reading = ({ comparison, probes }) => {
  const { metric, operator, looksAt, isAverage } = comparison;
  if (!['>', '>='].includes(operator) || looksAt.includes('phase')) return null;
  const milliseconds = Number((comparison.limit * 1000).toFixed(3));
  // Response times are whole, and a run is degraded above the limit.
  const limit = operator === '>' ? Math.floor(milliseconds) : Math.ceil(milliseconds) - 1;
  if (limit < 0) return null;
  const types = lookUp(durations, metric);
  const own = probes.filter(({ payload }) => types?.includes(String(payload['checkType'])) ?? true);
  const fits = ({ payload }: Probe) => limit <= Number(payload['maxResponseTime'] ?? -1);
  const others = own.filter((probe) => !fits(probe));
  return {
    probes: own.filter(fits),
    // An alert about the same check is another thing.
    about: ({ payload }) => payload,
    value: limit,
    make: ({ payload }) => {
      payload['degradedResponseTime'] = limit;
      const phase = metric === 'probe_http_duration_seconds' ? ' in a phase' : '';
      return `alerts ${operator === '>' ? 'above' : 'from'} ${milliseconds} ms${phase}${isAverage ? ' on average' : ''} → a run above ${operator === '>' ? 'that' : `${limit} ms`} is degraded`;
    },
    lost: named(
      others,
      (names) =>
        `${limit} ms is not below the longest response time of ${names}, or they have none`,
    ),
  };
};

/** What must hold of a code, which is whole, so that the comparison does not. */
const opposite: Readonly<Record<Operator, (code: number) => readonly [string, number]>> = {
  '>=': (code) => ['LESS_THAN', Math.ceil(code)],
  '>': (code) => ['LESS_THAN', Math.floor(code) + 1],
  '<=': (code) => ['GREATER_THAN', Math.floor(code)],
  '<': (code) => ['GREATER_THAN', Math.ceil(code) - 1],
  '==': (code) => ['NOT_EQUALS', code],
  '!=': (code) => ['EQUALS', code],
};

const hasStatus: Reading = (given) => {
  const { operator, limit, isAverage } = given.comparison;
  if (isAverage || (['==', '!='].includes(operator) && !Number.isInteger(limit))) return null;
  const [how, target] = opposite[operator](limit);
  const own = given.probes.filter(({ payload }) => webTypes.includes(String(payload['checkType'])));
  const wish = alerting({ ...given, probes: own });
  return {
    ...wish,
    accept() {
      wish.accept?.();
      for (const { payload } of own) {
        const request = payload['request'] as { assertions: unknown[] };
        const judged = { source: 'STATUS_CODE', comparison: how, target: String(target) };
        payload['request'] = { ...request, assertions: [...request.assertions, judged] };
      }
    },
    changed: own.length === 0 ? '' : 'alerts about a status code → the check fails with it',
  };
};

/** By metric. */
const readings: Readonly<Record<string, Reading>> = {
  probe_success: isDown,
  probe_ssl_earliest_cert_expiry: expires,
  probe_ssl_last_chain_expiry_timestamp_seconds: expires,
  ...Object.fromEntries(Object.keys(durations).map((metric) => [metric, isSlow])),
  probe_http_status_code: hasStatus,
};

/** The wishes of a rule; null for a rule that is not understood whole. */
function wishesOf(rule: SourceObject, given: Omit<Given, 'comparison'>): Wish[] | null {
  const comparisons = rule.has('alert') ? comparisonsIn(rule.text('expr')) : null;
  const wishes = (comparisons ?? []).map((comparison) => {
    const { metric, isAhead, selects } = comparison;
    const read = lookUp(readings, metric);
    if (read === undefined || (isAhead && read !== expires)) return null;
    return read({
      ...given,
      comparison,
      probes: given.probes.filter((one) => selects(one.labels)),
    });
  });
  const found = wishes.filter((wish) => wish !== null);
  return comparisons === null || found.length < wishes.length ? null : found;
}

/** `{{ $labels.team }}` in a label of a rule. */
const filledIn = (text: string, labels: Labels): string =>
  text.replace(
    /\{\{-?\s*\$labels\.(\w+)\s*-?\}\}/g,
    (_whole, label: string) => labels[label] ?? '',
  );

/** Makes what rules want; of several for one thing, the strictest. */
export function applyRules(
  plan: Plan,
  rules: readonly Fields[],
  probes: readonly Probe[],
  externalLabels: Labels,
): WatchedServer[] {
  const servers = new Map<string, WatchedServer>();
  const accept = (fields: Fields) => {
    const rule = new SourceObject(fields);
    const name = rule.text('alert') || rule.text('record');
    const entry = plan.entry('rule', name, name, fields);
    const forSeconds = goDuration(rule.get('for')) ?? 0;
    const own = rule.pairs('labels');
    const labelsOf = ({ labels }: Probe): Labels => ({
      ...{ alertname: name, ...externalLabels },
      ...Object.fromEntries(Object.entries(labels).filter(([label]) => !label.startsWith('__'))),
      ...Object.fromEntries(own.map(([label, value]) => [label, filledIn(value, labels)])),
    });
    const wishes = wishesOf(rule, { forSeconds, probes, servers, labelsOf });
    const expression = `\`${rule.text('expr').trim().replace(/\s+/g, ' ')}\``;
    if (wishes === null) return entry.nothing(`${expression} has no counterpart`);
    entry.notCarried(...wishes.map(({ lost }) => lost));
    if (wishes.every((wish) => wish.probes.length === 0)) {
      entry.nothing(`${expression} selects nothing that is made`);
    }
    for (const wish of wishes) wish.accept?.();
    entry.notCarried(own.length > 0 && '`labels`: alerts have the tags of their check');
    entry.leftovers(rule, {
      annotations: ': alerts have their own text here',
      keep_firing_for: ': an alert recovers with the first pass',
    });
    return { entry, wishes };
  };
  const accepted = rules.flatMap((fields) => attempt(() => accept(fields)) ?? []);
  const holding = new Map<unknown, { entry: Entry; wish: Wish }>();
  for (const { entry, wishes } of accepted) {
    for (const wish of wishes) {
      for (const about of wish.probes.map(wish.about)) {
        const value = holding.get(about)?.wish.value ?? Infinity;
        if (wish.value < value) holding.set(about, { entry, wish });
      }
    }
  }
  for (const { entry, wishes } of accepted) {
    const byOtherRule = new Map<string, Set<Probe>>();
    for (const wish of wishes) {
      entry.changed(wish.changed);
      for (const probe of wish.probes) {
        const holds = holding.get(wish.about(probe));
        if (holds?.wish === wish) entry.changed(wish.make(probe));
        else if (holds !== undefined && holds.entry !== entry) {
          const { name } = holds.entry;
          byOtherRule.set(name, (byOtherRule.get(name) ?? new Set()).add(probe));
        }
      }
    }
    for (const [name, { size }] of byOtherRule) {
      entry.changed(`for ${size} of its targets rule «${name}» holds, which alerts no later`);
    }
  }
  const isDegraded = ({ payload }: Probe) => typeof payload['degradedResponseTime'] === 'number';
  const unheard = 'Rules about durations: a degraded run notifies no channel here.';
  plan.say('CHANGED', probes.some(isDegraded) && unheard);
  return [...servers.values()];
}
