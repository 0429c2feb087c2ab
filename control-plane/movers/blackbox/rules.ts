/** Alert rules of Prometheus about probes, as settings of the checks that they select. */
import { duration } from '../decide/interval.ts';
import { goDuration } from '../decide/go-duration.ts';
import { runBased, thresholdFor } from '../decide/retries.ts';
import type { Entry, Plan } from '../plan.ts';
import { SourceObject, type Fields } from '../source-object.ts';
import { anchored, type Labels } from './relabel.ts';

/** A check that rules may change before it is added. */
export interface Probe {
  entry: Entry;
  labels: Labels;
  intervalSeconds: number;
  payload: Record<string, unknown>;
  /** True once a rule alerts about it. */
  alerts: boolean;
  certificateDays: number | null;
}

const selector = String.raw`(\{[^}]*\})?`;
const number = String.raw`([\d.]+(?:\s*\*\s*[\d.]+)*)`;

const matchers: Readonly<Record<string, (value: string, pattern: string) => boolean>> = {
  '=': (value, text) => value === text,
  '!=': (value, text) => value !== text,
  '=~': (value, pattern) => anchored(pattern).test(value),
  '!~': (value, pattern) => !anchored(pattern).test(value),
};

function selects(text: string | undefined, labels: Labels): boolean {
  return [...(text ?? '').matchAll(/(\w+)\s*(=~|!~|!=|=)\s*"((?:[^"\\]|\\.)*)"/g)].every(
    ([, name = '', operator = '', value = '']) =>
      matchers[operator]?.(labels[name] ?? '', value.replaceAll('\\\\', '\\')) === true,
  );
}

/** `86400 * 30` is a product. */
const product = (text: string) =>
  text.split('*').reduce((made, factor) => made * Number(factor.trim()), 1);

interface Rule {
  entry: Entry;
  expression: string;
  forSeconds: number;
  probes: readonly Probe[];
}

/** True when the expression is of its kind. */
type Reading = (rule: Rule) => boolean;

const isDown: Reading = ({ entry, expression, forSeconds, probes }) => {
  const match = new RegExp(`^probe_success${selector}\\s*==\\s*0$`).exec(expression);
  if (match === null) return false;
  for (const probe of probes.filter(({ labels }) => selects(match[1], labels))) {
    const runs = Math.ceil(forSeconds / probe.intervalSeconds);
    const { escalation, change } =
      forSeconds <= probe.intervalSeconds
        ? { escalation: runBased(1), change: null }
        : thresholdFor(runs, probe.intervalSeconds);
    probe.payload['alertSettings'] = escalation;
    probe.alerts = true;
    if (change !== null) probe.entry.changed(change);
  }
  if (forSeconds > 0) {
    entry.changed(
      `alerts after ${duration(forSeconds)} (\`for\`) → after the failed runs of that time`,
    );
  }
  return true;
};

const maxDays = 30;

const expires: Reading = ({ entry, expression, probes }) => {
  const match = new RegExp(
    `^probe_ssl_earliest_cert_expiry${selector}\\s*-\\s*time\\(\\)\\s*<=?\\s*${number}$`,
  ).exec(expression);
  if (match === null) return false;
  const wanted = product(match[2] ?? '0') / 86_400;
  const days = Math.min(maxDays, Math.max(1, Math.round(wanted)));
  for (const probe of probes.filter(({ labels }) => selects(match[1], labels))) {
    probe.certificateDays = Math.max(days, probe.certificateDays ?? 0);
  }
  entry.changed(
    `alerts ${Number(wanted.toFixed(1))} days before a certificate expires → channels warn ${days} days before`,
  );
  return true;
};

const isSlow: Reading = ({ entry, expression, probes }) => {
  const metric =
    '(?:probe_duration_seconds|probe_http_duration_seconds|probe_icmp_duration_seconds)';
  const match = new RegExp(
    `^(avg_over_time\\()?${metric}${selector}(?:\\[\\w+\\]\\))?\\s*>=?\\s*${number}$`,
  ).exec(expression);
  if (match === null) return false;
  const limit = Math.round(product(match[3] ?? '0') * 1000);
  for (const probe of probes.filter(({ labels }) => selects(match[2], labels))) {
    const longest = probe.payload['maxResponseTime'];
    if (typeof longest === 'number' && limit <= longest)
      probe.payload['degradedResponseTime'] = limit;
    else probe.entry.notCarried(`a response time of ${limit} ms is not below its timeout`);
  }
  entry.changed(
    `alerts above ${limit} ms${match[1] === undefined ? '' : ' on average'} → a run above that is degraded`,
  );
  return true;
};

/** What must hold so that the comparison does not. */
const opposite: Readonly<Record<string, (code: number) => [string, number]>> = {
  '>=': (code) => ['LESS_THAN', code],
  '>': (code) => ['LESS_THAN', code + 1],
  '<=': (code) => ['GREATER_THAN', code],
  '<': (code) => ['GREATER_THAN', code - 1],
  '==': (code) => ['NOT_EQUALS', code],
  '!=': (code) => ['EQUALS', code],
};

const hasStatus: Reading = ({ entry, expression, probes }) => {
  const parts = expression
    .split(/\s+or\s+/i)
    .map((part) =>
      new RegExp(`^probe_http_status_code${selector}\\s*(>=|<=|>|<|==|!=)\\s*(\\d+)$`).exec(part),
    );
  if (parts.includes(null)) return false;
  for (const match of parts.filter((part) => part !== null)) {
    const [comparison, code] = opposite[match[2] ?? '']?.(Number(match[3])) ?? [];
    for (const probe of probes.filter(({ labels }) => selects(match[1], labels))) {
      const request = probe.payload['request'] as { assertions?: unknown[] } | undefined;
      if (!['URL', 'API'].includes(String(probe.payload['checkType']))) continue;
      request?.assertions?.push({ source: 'STATUS_CODE', comparison, target: String(code) });
    }
  }
  entry.changed('alerts about a status code → the check fails with it');
  return true;
};

const readings: readonly Reading[] = [isDown, expires, isSlow, hasStatus];

export function applyRules(plan: Plan, rules: readonly Fields[], probes: readonly Probe[]): void {
  for (const given of rules) {
    const rule = new SourceObject(given);
    const name = rule.text('alert') || rule.text('record');
    const entry = plan.entry('rule', name, name);
    const expression = rule.text('expr').trim().replace(/\s+/g, ' ');
    const forSeconds = goDuration(rule.get('for')) ?? 0;
    const isKnown =
      rule.has('alert') && readings.some((read) => read({ entry, expression, forSeconds, probes }));
    if (!isKnown) {
      entry.notCarried(`\`${expression}\` has no counterpart. Nothing was created`);
      continue;
    }
    entry.leftovers(rule, {
      labels: '`labels`: alerts have the tags of their check',
      annotations: '`annotations`: alerts have their own text here',
      keep_firing_for: '`keep_firing_for`: an alert recovers with the first pass',
    });
  }
}
