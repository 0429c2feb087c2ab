/** What the run of test files comes to, from the lines that their processes reported. */
import type { ReportLine } from './reporter.ts';

export interface FileResult {
  file: string;
  tests: number;
  tookMs: number;
  failures: { name: string; place: string; reason: string }[];
  skips: string[];
  notes: string[];
}

/**
 * The lines of one process by file. A test that a helper defines counts for the file before it; a file
 * without any test is a failure, since nothing in it can fail.
 */
export function resultsOf(files: readonly string[], lines: readonly ReportLine[]): FileResult[] {
  const results = new Map<string, FileResult>(
    files.map((file) => [file, { file, tests: 0, tookMs: 0, failures: [], skips: [], notes: [] }]),
  );
  let current = results.get(files[0] ?? '');
  for (const line of lines) {
    current = results.get(line.file ?? '') ?? current;
    if (current === undefined) continue;
    if (line.kind === 'note') {
      current.notes.push(line.text);
      continue;
    }
    const { name, nesting, outcome, reason, tookMs } = line;
    if (nesting === 0) current.tookMs += tookMs;
    current.tests += 1;
    if (outcome === 'skipped') current.skips.push(reason === '' ? name : `${name}: ${reason}`);
    if (outcome === 'failed' && reason !== '') {
      current.failures.push({ name, place: `${line.file ?? ''}:${line.line ?? 0}`, reason });
    }
  }
  for (const result of results.values()) {
    if (result.tests > 0) continue;
    const reason = 'No test of this file was reported.';
    result.failures.push({ name: 'the file', place: result.file, reason });
  }
  return [...results.values()];
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

/** The line of a file that ended, and what its tests said. */
export function describeFile({ file, tests, tookMs, failures, skips, notes }: FileResult): string {
  return [
    `${failures.length > 0 ? '✖' : '✔'} ${file}  ${tests} tests, ${seconds(tookMs)}`,
    ...skips.map((skip) => `    skipped: ${skip}`),
    ...notes.map((note) => `    ${note}`),
    ...failures.map(({ name }) => `    failed: ${name}`),
  ].join('\n');
}

/** The end of a run: every failure in full, the slowest files, and the counts. */
export function describeRun(results: readonly FileResult[], tookMs: number): string {
  const failures = results.flatMap((result) => result.failures);
  const slowest = [...results].sort((one, other) => other.tookMs - one.tookMs).slice(0, 10);
  const count = (of: (result: FileResult) => number): number =>
    results.reduce((sum, result) => sum + of(result), 0);
  return [
    ...failures.map(
      ({ name, place, reason }) => `\n✖ ${name}\n  ${place}\n  ${reason.replaceAll('\n', '\n  ')}`,
    ),
    '\nThe slowest files:',
    ...slowest.map((each) => `${seconds(each.tookMs).padStart(9)}  ${each.file}`),
    `\n${results.length} files, ${count(({ tests }) => tests)} tests, ${failures.length} failed, ` +
      `${count(({ skips }) => skips.length)} skipped, in ${seconds(tookMs)}`,
  ].join('\n');
}
