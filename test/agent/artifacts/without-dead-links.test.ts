import assert from 'node:assert/strict';
import test from 'node:test';
import type { ArtifactDeclaration } from '@monitor/shared/contract/agent-protocol.ts';
import { noDetails, type PlaywrightCheckResult } from '@monitor/shared/contract/check-result.ts';
import { withoutDeadLinks } from '../../../agent/artifacts/without-dead-links.ts';

const file = (name: string, size: number, withheld: string | null): ArtifactDeclaration => ({
  ...{ name, type: 'file', contentType: 'application/octet-stream', size, withheld },
});

const suite: PlaywrightCheckResult = {
  ...{ errors: [], startTime: 1, endTime: 2, runtimeVersion: '', tests: [] },
  jobLog: [{ time: 1, msg: 'began', level: 'INFO' }],
  jobAssets: ['artifact:a.txt', 'artifact:film.webm', 'https://shop.example/b.txt'],
  playwrightTestTraces: ['artifact:trace.zip'],
  playwrightTestJsonReportFile: 'artifact:report.json',
  playwrightTestVideos: ['artifact:film.webm'],
  playwrightTraceFiles: [{ url: 'artifact:trace.zip', name: 'a', filename: 'trace.zip' }],
  metrics: {
    ...{ total: 0, passed: 0, failed: 0, flaky: 0, skipped: 0, retries: 0 },
    ...{ durationMs: 0, installMs: 0, cacheHit: false },
  },
};
test('a file that stays on the agent has no link, and a line in the log says why and how large it is', () => {
  const declared = [
    file('a.txt', 1, null),
    file('trace.zip', 2, null),
    file('report.json', 3, null),
    file('film.webm', 200_000_000, 'it is too large'),
  ];
  const { playwrightCheckResult: shown } = withoutDeadLinks(
    { ...noDetails, playwrightCheckResult: suite },
    declared,
    5,
  );
  assert.deepEqual(shown, {
    ...suite,
    jobAssets: ['artifact:a.txt', 'https://shop.example/b.txt'],
    playwrightTestVideos: [],
    jobLog: [
      ...suite.jobLog,
      {
        time: 5,
        msg: 'the file film.webm (200000000 bytes) was not uploaded: it is too large',
        level: 'WARN',
      },
    ],
  });
});

test('a run whose files were given up has no links at all', () => {
  const { playwrightCheckResult: shown } = withoutDeadLinks(
    { ...noDetails, playwrightCheckResult: suite },
    [],
    5,
  );
  assert.deepEqual(shown?.jobAssets, ['https://shop.example/b.txt']);
  assert.deepEqual(shown.playwrightTraceFiles, []);
  assert.equal(shown.playwrightTestJsonReportFile, null);
});

test('a compared image that is not there cannot be approved, and no comparison names it', () => {
  const compared = {
    ...{ path: 'home.png', project: '', platform: 'linux-x64', outcome: 'DIFFERENT' as const },
    ...{ deployedDigest: null, expected: 'artifact:e.png', actual: 'artifact:a.png', diff: null },
  };
  const screenshotComparisons = [compared, { ...compared, actual: 'artifact:gone.png' }];
  const shownWith = (names: string[]) =>
    withoutDeadLinks(
      { ...noDetails, playwrightCheckResult: { ...suite, screenshotComparisons } },
      names.map((name) => file(name, 1, null)),
      5,
    ).playwrightCheckResult;
  assert.deepEqual(shownWith(['a.png'])?.screenshotComparisons, [{ ...compared, expected: null }]);
  assert.equal('screenshotComparisons' in (shownWith([]) ?? {}), false);
});
