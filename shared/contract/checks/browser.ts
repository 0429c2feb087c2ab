/** Browser check: a script that drives a browser. Spec: Browser check (`checkType` BROWSER). */
import { z } from 'zod';
import { deployedSnapshots } from '../baseline.ts';
import { checkBodies, type AgentCheckType } from './check-type.ts';
import { metrics, responseTimeAnalytics } from './metric.ts';
import { screenshotFields, scriptFields, scriptJudging, scriptTraits } from './scripted.ts';

const domainName =
  /^(?=.{1,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/i;

const { responseTime, CLS, TBT, consoleErrors, networkErrors, userScriptErrors, documentErrors } =
  metrics;
const vitals = [metrics.TTFB, metrics.FCP, metrics.LCP];

export const browserCheck: AgentCheckType = {
  ...scriptTraits,
  pathPart: 'browser',
  title: 'Browser check',
  label: 'Browser',
  target: '{scriptPath}',
  sample: { script: 'await 0;' },
  ...checkBodies('BROWSER', {
    ...scriptFields,
    sslCheckDomain: z
      .union([z.literal(''), z.string().regex(domainName, 'must be a fully qualified domain name')])
      .nullable()
      .default(null),
    ...screenshotFields,
    snapshots: deployedSnapshots
      .nullable()
      .meta({
        description: 'Files that its screenshots are compared with, as clients upload them',
      })
      .default(null),
  }),
  resultField: 'browserCheckResult',
  analytics: {
    ...responseTimeAnalytics,
    operation: { path: 'browser-checks', id: 'getBrowserCheckAnalytics' },
    metrics: [
      responseTime,
      ...vitals,
      CLS,
      TBT,
      consoleErrors,
      networkErrors,
      userScriptErrors,
      documentErrors,
    ],
    groupBy: ['runLocation', 'pageIndex'],
    chart: { time: responseTime, parts: [...vitals, TBT], isStacked: false },
  },
  isRetried: true,
  maxRunMs: 240_000,
  runtime: 'always',
  browser: 'always',
  judging: scriptJudging,
};
