/** Reports of `monitor-agent run` for programs: JSON, JUnit, and annotations of GitHub Actions. */
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { errorLine } from '@monitor/shared/error-line.ts';
import { AgentError } from '../../errors.ts';
import type { AttemptOutcome } from '../../worker/attempt.ts';
import { scriptResultOf, verdictOf, type Verdict } from './print-outcome.ts';
import type { ReadCheck } from './read-check.ts';
import { describeScriptError, placeOf } from './script-error.ts';

export const reportKinds = ['list', 'json', 'junit', 'github'] as const;
export type ReportKind = (typeof reportKinds)[number];

export interface Report {
  kind: ReportKind;
  /** Null for the standard output. */
  file: string | null;
}

/** A check and how its run ended. */
export interface Ran {
  read: ReadCheck;
  outcome: AttemptOutcome;
}

/** `junit=report.xml`. Throws CONFIG_INVALID for what is no report, and for two on one output. */
export function readReports(given: readonly string[], isJson: boolean): Report[] {
  const reports = [...given, ...(isJson ? ['json'] : [])].map((text): Report => {
    const [name = '', ...rest] = text.split('=');
    const kind = reportKinds.find((each) => each === name);
    const file = rest.length === 0 ? null : rest.join('=');
    if (kind !== undefined && file !== '') return { kind, file };
    throw new AgentError(
      'CONFIG_INVALID',
      `"${text}" is no report; give ${reportKinds.join(', ')}, or one with a file such as junit=report.xml`,
    );
  });
  const shown = reports.filter(({ kind, file }) => file === null && kind !== 'github');
  if (new Set(shown.map(({ kind }) => kind)).size > 1) {
    const names = shown.map(({ kind }) => kind).join(' and ');
    throw new AgentError(
      'CONFIG_INVALID',
      `the reports ${names} cannot share one output; write one of them to a file, as in ${shown.at(-1)?.kind}=report.txt`,
    );
  }
  return shown.length > 0 ? reports : [...reports, { kind: 'list', file: null }];
}

function resultOf({ read: { check, place }, outcome }: Ran) {
  const { isNetworkError: _network, faultCode, ...result } = outcome;
  return {
    verdict: verdictOf(outcome),
    checkType: check.type,
    name: check.name,
    place,
    faultCode,
    ...result,
  };
}

export function countsOf(runs: readonly Ran[]): Record<Verdict, number> {
  const counts = { passed: 0, degraded: 0, failed: 0, error: 0 };
  for (const { outcome } of runs) counts[verdictOf(outcome)] += 1;
  return counts;
}

/** One result for a check that was named alone; else all of them with their counts. */
function jsonReport(runs: readonly Ran[], isSingle: boolean): string {
  const [only] = runs;
  const report =
    isSingle && only !== undefined
      ? resultOf(only)
      : { counts: countsOf(runs), checks: runs.map(resultOf) };
  return `${JSON.stringify(report, null, 2)}\n`;
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
/** What XML 1.0 cannot hold is left out. */
const notXml = /[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu;
const xml = (text: string): string =>
  text.replace(notXml, '').replace(/[&<>"]/g, (found) => entities[found] ?? found);

/** Why a run did not pass; errors of scripts with their lines. */
function messagesOf({ read, outcome }: Ran): string[] {
  const errors = scriptResultOf(outcome)?.errors ?? [];
  if (errors.length === 0) return [outcome.reason ?? 'it failed'];
  return errors.map((error) => describeScriptError(error, read.scripts));
}

function testCase(run: Ran): string {
  const { read, outcome } = run;
  const seconds = (outcome.responseTime / 1_000).toFixed(3);
  const attributes = `name="${xml(read.check.name)}" classname="${xml(read.place)}" time="${seconds}"`;
  const verdict = verdictOf(outcome);
  if (verdict === 'passed' || verdict === 'degraded') return `    <testcase ${attributes}/>`;
  const element = verdict === 'error' ? 'error' : 'failure';
  return [
    `    <testcase ${attributes}>`,
    `      <${element} message="${xml(errorLine(messagesOf(run)))}">${xml(messagesOf(run).join('\n\n'))}</${element}>`,
    '    </testcase>',
  ].join('\n');
}

function junitReport(runs: readonly Ran[]): string {
  const { failed, error } = countsOf(runs);
  const seconds = runs.reduce((sum, { outcome }) => sum + outcome.responseTime, 0) / 1_000;
  const counts = `tests="${runs.length}" failures="${failed}" errors="${error}" time="${seconds.toFixed(3)}"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${counts}>`,
    `  <testsuite name="monitor-agent run" ${counts}>`,
    ...runs.map(testCase),
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n');
}

/** As a workflow command takes it: `%`, line ends, and in properties `:` and `,`. */
const data = (text: string): string =>
  text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
const property = (text: string): string => data(text).replaceAll(':', '%3A').replaceAll(',', '%2C');

function annotations(run: Ran, cwd: string): string[] {
  const { read, outcome } = run;
  const verdict = verdictOf(outcome);
  if (verdict === 'passed') return [];
  const level = verdict === 'degraded' ? 'warning' : 'error';
  const of = (message: string, properties: Record<string, string | number>): string => {
    const title = { title: read.check.name, ...properties };
    const shown = Object.entries(title).map(
      ([name, value]) => `${name}=${property(String(value))}`,
    );
    return `::${level} ${shown.join(',')}::${data(message)}`;
  };
  const [file] = read.files;
  const ofFile = file === undefined ? {} : { file: relative(cwd, file) };
  const errors = scriptResultOf(outcome)?.errors ?? [];
  if (errors.length === 0) return [of(outcome.reason ?? 'it failed', ofFile)];
  return errors.map((error) => {
    const place = placeOf(error, read.scripts);
    const path = place?.source.path ?? null;
    if (place === null || path === null) return of(error.message, ofFile);
    const shown = relative(cwd, resolve(read.root, path));
    return of(error.message, { file: shown, line: place.line, col: place.column });
  });
}

function textOf(kind: ReportKind, runs: readonly Ran[], { isSingle, cwd }: ReportContext): string {
  switch (kind) {
    case 'json':
      return jsonReport(runs, isSingle);
    case 'junit':
      return junitReport(runs);
    case 'github':
      return runs
        .flatMap((run) => annotations(run, cwd))
        .map((line) => `${line}\n`)
        .join('');
    case 'list':
      return runs
        .map(({ read, outcome }) => {
          const reason = outcome.reason === null ? '' : `: ${outcome.reason.split('\n', 1)[0]}`;
          return `${verdictOf(outcome)} ${read.place} ${read.check.name}${reason}\n`;
        })
        .join('');
  }
}

/**
 * GitHub acts on lines of the output that look like its commands, and what checks print is the text of
 * others. Until the annotations it is asked not to; gives the line that ends that.
 */
export function stopCommands(reports: readonly Report[]): string {
  if (!reports.some(({ kind, file }) => kind === 'github' && file === null)) return '';
  const token = randomUUID();
  process.stdout.write(`::stop-commands::${token}\n`);
  return `::${token}::\n`;
}

export interface ReportContext {
  isSingle: boolean;
  cwd: string;
}

/**
 * Writes all but the list on the standard output, which is printed while checks run. `resume` lets
 * GitHub act on annotations, so they come last.
 */
export function writeReports(
  reports: readonly Report[],
  runs: readonly Ran[],
  context: ReportContext,
  resume: string,
): void {
  // A file that cannot be written is a failure, which JSON on the standard output says alone.
  const rank = ({ kind, file }: Report) => (file !== null ? 0 : kind === 'github' ? 2 : 1);
  for (const { kind, file } of reports.toSorted((a, b) => rank(a) - rank(b))) {
    if (file === null && kind === 'list') continue;
    const text = textOf(kind, runs, context);
    if (file === null) {
      process.stdout.write(kind === 'github' ? resume + text : text);
      continue;
    }
    try {
      writeFileSync(resolve(context.cwd, file), text);
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new AgentError(
        'CONFIG_INVALID',
        `the report ${kind} cannot be written to "${file}": ${why}`,
        { cause },
      );
    }
  }
}
