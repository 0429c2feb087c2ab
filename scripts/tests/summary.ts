/** What the run of test files comes to, from the lines that their processes reported. */
import type { ReportLine } from './reporter.ts';

/** The reason for which a test of the long tier is skipped: nothing is missing here. */
export const longTier = 'long tier: TEST_LONG=1';

export interface FileResult {
  file: string;
  tests: number;
  /** Of the long tier, not run. */
  left: number;
  tookMs: number;
  cpuMs: number;
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
    files.map((file) => [
      file,
      { file, tests: 0, left: 0, tookMs: 0, cpuMs: 0, failures: [], skips: [], notes: [] },
    ]),
  );
  let current = results.get(files[0] ?? '');
  for (const line of lines) {
    current = results.get(line.file ?? '') ?? current;
    if (current === undefined) continue;
    if (line.kind === 'note') {
      current.notes.push(line.text);
      continue;
    }
    current.cpuMs += line.cpuMs;
    if (line.kind === 'end') continue;
    const { name, nesting, outcome, reason, tookMs } = line;
    if (nesting === 0) current.tookMs += tookMs;
    if (outcome === 'skipped' && reason === longTier) {
      current.left += 1;
      continue;
    }
    current.tests += 1;
    if (outcome === 'skipped') current.skips.push(reason === '' ? name : `${name}: ${reason}`);
    if (outcome === 'failed' && reason !== '') {
      current.failures.push({ name, place: `${line.file ?? ''}:${line.line ?? 0}`, reason });
    }
  }
  for (const result of results.values()) {
    if (result.tests + result.left > 0) continue;
    const reason = 'No test of this file was reported.';
    result.failures.push({ name: 'the file', place: result.file, reason });
  }
  return [...results.values()];
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

/** How much of a reason is shown at once; the end of the run has all of it. */
const shownLines = 6;

/** The line of a file that ended, and what its tests said. */
export function describeFile(result: FileResult): string {
  const { file, tests, left, tookMs, cpuMs, failures, skips, notes } = result;
  const mark = failures.length > 0 ? '✖' : '✔';
  const more = left === 0 ? '' : `, ${left} more in the long tier`;
  return [
    `${mark} ${file}  ${tests} tests, ${seconds(tookMs)}, ${seconds(cpuMs)} of CPU${more}`,
    ...skips.map((skip) => `    skipped: ${skip}`),
    ...notes.map((note) => `    ${note}`),
    ...failures.flatMap(({ name, reason }) => [
      `    failed: ${name}`,
      ...reason.split('\n', shownLines).map((line) => `      ${line}`),
    ]),
  ].join('\n');
}

/** The ten files with the largest figure. */
function most(results: readonly FileResult[], figure: 'tookMs' | 'cpuMs'): string[] {
  return [...results]
    .sort((one, other) => other[figure] - one[figure])
    .slice(0, 10)
    .map((each) => `${seconds(each[figure]).padStart(9)}  ${each.file}`);
}

/** The end of a run: every failure in full, the files that took the most time and CPU, and the counts. */
export function describeRun(results: readonly FileResult[], tookMs: number): string {
  const failures = results.flatMap((result) => result.failures);
  const count = (of: (result: FileResult) => number): number =>
    results.reduce((sum, result) => sum + of(result), 0);
  const left = count((result) => result.left);
  return [
    ...failures.map(
      ({ name, place, reason }) => `\n✖ ${name}\n  ${place}\n  ${reason.replaceAll('\n', '\n  ')}`,
    ),
    '\nThe slowest files:',
    ...most(results, 'tookMs'),
    '\nThe files that used the most CPU:',
    ...most(results, 'cpuMs'),
    `\n${results.length} files, ${count(({ tests }) => tests)} tests, ${failures.length} failed, ` +
      `${count(({ skips }) => skips.length)} skipped, in ${seconds(tookMs)}`,
    ...(left === 0
      ? []
      : [`${left} tests of the long tier were not run: TEST_LONG=1 runs them too`]),
  ].join('\n');
}
