/** Reports: success ratios, response times, error budgets. Spec: Reporting. */
import { z } from 'zod';
import { csvFormat, precision, quickRanges, windowRules, type QuickRange } from './analytics.ts';
import {
  queryBoolean,
  queryList,
  timestamp,
  timezone as anyTimezone,
  windowQuery,
} from './primitives.ts';
import { checkType } from './checks/index.ts';
import { defineRoutes, get } from './route.ts';

/** Longest window of a report with `granularity`, and its largest number of buckets. */
export const maxReportDays = 400;
export const maxReportBuckets = 120;

export const granularities = ['day', 'week', 'month'] as const;
export type Granularity = (typeof granularities)[number];

const timezone = anyTimezone
  .default('UTC')
  .meta({ description: 'IANA name; days, weeks and months begin at midnight there' });

const target = z
  .string()
  .regex(/^\d{1,3}(\.\d{1,6})?$/, 'must be a number from 0 to 100')
  .transform(Number)
  .refine((percent) => percent > 0 && percent <= 100, 'must be above 0 and at most 100')
  .meta({
    override: {
      type: 'number',
      exclusiveMinimum: 0,
      maximum: 100,
      description: 'The objective for the success ratio, in percent; adds `slo`',
      example: 99.9,
    },
  });

const value = z.number().nullable();

const serviceLevel = z
  .object({
    target: z.number(),
    isMet: z.boolean(),
    downtimeMinutes: z.number(),
    errorBudget: z.object({
      allowedMinutes: z.number(),
      usedMinutes: z.number(),
      remainingMinutes: z.number().meta({ description: 'Negative when it is overspent' }),
      usedPercent: value.meta({ description: 'Null for a target of 100, which allows nothing' }),
    }),
  })
  .nullable()
  .meta({ id: 'ServiceLevel', description: 'Null without data' });

const numbers = {
  successRatio: value,
  avg: value,
  p95: value,
  p99: value,
  slo: serviceLevel.exactOptional(),
};

export const reportRow = z
  .object({
    name: z.string(),
    checkId: z.uuid(),
    checkType,
    deactivated: z.boolean(),
    tags: z.array(z.string()),
    aggregate: z.object(numbers),
    aggregates: z
      .array(z.object({ from: timestamp, to: timestamp, ...numbers }))
      .exactOptional()
      .meta({ description: 'With `granularity`: one for each day, week or month, oldest first' }),
  })
  .meta({ id: 'ReportRow' });

export const reportingRoutes = defineRoutes('Reporting', {
  getReport: get('/v1/reporting', 'Success ratio and response times of all checks, by name', {
    description: `\`successRatio\` is in percent, times are in milliseconds; null without data. What ran during a maintenance window of the check does not count, and neither do results with \`hasErrors\`, which are agent errors. \`filterByTags\` keeps checks that have any of the tags. \`granularity\` adds \`aggregates\`, over at most ${maxReportDays} days and ${maxReportBuckets} buckets. \`target\` adds \`slo\`: downtime is the share of failed results of the time in which the check existed and was not in maintenance. ${windowRules} With \`timezone\`, ranges that begin at midnight do so there. ${precision}`,
    query: z.object({
      ...windowQuery,
      quickRange: z
        .enum(['last24Hrs', ...quickRanges.slice(1)])
        .default('last24Hrs')
        .transform((range): QuickRange =>
          range === 'last24Hrs' ? 'last24Hours' : (range as QuickRange),
        ),
      filterByTags: queryList(z.string().min(1)).exactOptional(),
      deactivated: queryBoolean.exactOptional(),
      granularity: z.enum(granularities).exactOptional(),
      timezone,
      target: target.exactOptional(),
      format: csvFormat,
    }),
    orCsv: true,
    response: z.array(reportRow),
  }),
});
