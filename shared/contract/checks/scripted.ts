/** What browser, multi-step, suite and agentic checks have in common. */
import { z } from 'zod';
import {
  frequencies,
  inheritedFields,
  maxCheckVariables,
  scheduledCheckFields,
  scriptText,
} from '../check.ts';
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

/** Schedule and variables; never sub-minute. */
export const scriptedScheduleFields = {
  ...scheduledCheckFields,
  frequency: browserFrequency,
  environmentVariables: z.array(environmentVariable).max(maxCheckVariables).nullable().default([]),
};

/** Spec: Browser check. `script` is required and may be null. */
export const scriptFields = {
  ...scriptedScheduleFields,
  degradedResponseTime: z.number().min(0).nullable().default(null),
  maxResponseTime: z.number().min(0).nullable().default(null),
  script: scriptText.nullable(),
  scriptPath: inheritedFields.scriptPath,
  dependencies: z.array(dependency).max(500).nullable().default([]),
};

/** A script passes or fails as a whole; there are neither assertions nor limits of the response time. */
export const scriptJudging: Judging = {
  hasResponseTimeLimits: false,
  readSource: () => ({ actual: undefined, isList: false }),
  ownVerdict: (measurement) => ({
    failed: null,
    degraded: measurement.response?.['isDegraded'] === true,
    isInvertible: true,
  }),
};
