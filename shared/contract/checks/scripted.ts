/** Common parts of browser, multi-step, suite and agentic checks. */
import { z } from 'zod';
import { frequencies, maxCheckVariables, scheduledCheckFields, scriptText } from '../check.ts';
import { environmentVariable } from '../primitives.ts';
import type { Judging } from './check-type.ts';

/** Minutes between runs of a check that drives a browser. Spec: Check, `frequency`: 0 is not allowed. */
const browserFrequency = z
  .literal(frequencies.filter((minutes) => minutes !== 0))
  .meta({ example: 10 })
  .default(10);

const dependency = z.object({
  path: z.string().min(1).max(1000),
  content: z.string().min(1).max(1_048_576),
});

/** Schedule and variables; at least a minute. */
export const scriptedScheduleFields = {
  ...scheduledCheckFields,
  frequency: browserFrequency,
  environmentVariables: z.array(environmentVariable).max(maxCheckVariables).nullable().default([]),
};

/** Of types whose tests compare screenshots. */
export const screenshotFields = {
  screenshotMasks: z
    .array(z.string().trim().min(1).max(500))
    .max(50)
    .meta({
      description:
        'CSS selectors of what a page redraws each time: every `toHaveScreenshot` masks it',
      example: ['.clock', '[data-ad]'],
    })
    .default([]),
};

/** Spec: Browser check. `script` is required and may be null. */
export const scriptFields = {
  ...scriptedScheduleFields,
  degradedResponseTime: z.number().min(0).nullable().default(null),
  maxResponseTime: z.number().min(0).nullable().default(null),
  script: scriptText.nullable(),
  scriptPath: z.string().max(1024).nullable().default(null),
  dependencies: z.array(dependency).max(500).nullable().default([]),
  playwrightConfig: z
    .looseObject({})
    .nullable()
    .meta({
      description:
        'Configuration of the test runner (`timeout`, `use`, `expect`), instead of that of a configuration file',
      example: { use: { baseURL: 'https://shop.example' } },
    })
    .default(null),
};

/** Common traits of types that run customer code. */
export const scriptTraits = {
  runsOn: 'agents',
  variables: 'all',
  clientCertificates: () => 'all' as const,
  watchedServer: () => null,
  degradedBy: 'own-rules',
  hasNetworkEvidence: false,
  sockets: 'ordinary',
  trace: null,
  address: null,
  learnsScripts: false,
} as const;

/** A script passes or fails as a whole; response time limits apply when the check sets them. */
export const scriptJudging: Judging = {
  hasResponseTimeLimits: true,
  isTimedByOtherProcess: true,
  readSource: () => ({ actual: undefined, isList: false }),
  ownVerdict: (measurement) => ({
    failed: null,
    degraded:
      typeof measurement.response?.['degraded'] === 'string'
        ? measurement.response['degraded']
        : null,
    isInvertible: true,
  }),
};
