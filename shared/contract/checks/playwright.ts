/** Playwright check suite: a project with its own dependencies. Shape from the field. spec: open */
import { z } from 'zod';
import { checkBodies, type AgentCheckType } from './check-type.ts';
import { metrics, responseTimeAnalytics } from './metric.ts';
import {
  screenshotFields,
  scriptedScheduleFields,
  scriptJudging,
  scriptTraits,
} from './scripted.ts';

const text = (max: number) => z.string().max(max);

const shown = [metrics.TTFB, metrics.FCP, metrics.LCP, metrics.TBT];
/** Most agents that share one run. */
export const maxShards = 16;

export const playwrightCheck: AgentCheckType = {
  ...scriptTraits,
  pathPart: 'playwright',
  title: 'Playwright check suite',
  label: 'Playwright',
  target: '{codeBundlePath}',
  sample: { codeBundlePath: 'bundle.tgz' },
  ...checkBodies('PLAYWRIGHT', {
    ...scriptedScheduleFields,
    codeBundlePath: text(1024).min(1),
    cacheHash: text(128).nullable().default(null),
    playwrightVersion: text(64).nullable().default(null),
    workingDir: text(1024).nullable().default(null),
    testCommand: text(4096).default('npx playwright test'),
    installCommand: text(4096).nullable().default(''),
    browsers: z
      .array(z.enum(['chromium', 'firefox', 'webkit']))
      .max(3)
      .default(['chromium']),
    engine: z.enum(['node', 'bun']).nullable().default(null),
    engineVersion: text(64).nullable().default(null),
    shards: z
      .int()
      .min(1)
      .max(maxShards)
      .meta({ description: 'So many parts of the suite run at once, on the agents of a location' })
      .default(1),
    quarantinedTests: z
      .array(
        z.object({
          test: text(2_500).min(1).meta({
            description: 'As series are called: `basket.spec.ts › pays [chromium]`',
          }),
          until: z.iso.datetime({ offset: true }),
        }),
      )
      .max(200)
      .meta({ description: 'They run and are shown; until then their failures alert nobody' })
      .default([]),
    ...screenshotFields,
  }),
  clientCertificates: () => 'none',
  resultField: 'playwrightCheckResult',
  analytics: {
    ...responseTimeAnalytics,
    operation: { path: 'playwright-checks', id: 'getPlaywrightCheckAnalytics' },
    metrics: [
      ...[metrics.responseTime, metrics.tests, metrics.testsPassed, metrics.testsFailed],
      ...[metrics.testsFlaky, metrics.testsSkipped, metrics.testRetries],
      ...[metrics.testDuration, metrics.installTime, metrics.browserStart],
      ...[metrics.requests, metrics.bytes, metrics.CLS, ...shown],
    ],
    groupBy: ['runLocation', 'project', 'test', 'page'],
    chart: { time: metrics.responseTime, parts: shown, isStacked: false },
  },
  // Playwright retries single tests itself.
  isRetried: false,
  shardsOf: (fields) => Number(fields['shards'] ?? 1),
  // Installing takes up to 5 minutes, the tests up to 30; the rest is for files and secrets.
  maxRunMs: 40 * 60_000,
  runtime: 'never',
  browser: 'as-named',
  judging: scriptJudging,
};
