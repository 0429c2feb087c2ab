/** The overview of all checks in one answer, a few hundred bytes per check. */
import { z } from 'zod';
import { pathId, queryBoolean, queryInteger, queryList, timestamp } from './primitives.ts';
import { checkType } from './checks/index.ts';
import { defineRoutes, get } from './route.ts';

/** Worst first. */
export const checkStatuses = [
  'FAILING',
  'DEGRADED',
  'ERROR',
  'UNSERVED',
  'UNPLACED',
  'MAINTENANCE',
  'UNKNOWN',
  'PASSING',
  'INACTIVE',
] as const;
export type CheckStatus = (typeof checkStatuses)[number];

export const checkOverview = z
  .object({
    id: z.uuid(),
    name: z.string(),
    checkType,
    tags: z.array(z.string()),
    groupId: z.int().nullable(),
    groupName: z.string().nullable(),
    activated: z.boolean().meta({ description: 'True when the check and its group are activated' }),
    muted: z.boolean().meta({ description: 'True when the check or its group is muted' }),
    frequency: z.int().meta({ description: 'Minutes; 0 for every `frequencyOffset` seconds' }),
    frequencyOffset: z.int(),
    locations: z.array(z.string()),
    unservedLocations: z.array(z.string()).meta({
      description: 'Locations of the check that no agent serves at the moment',
    }),
    state: z.enum(['PASSING', 'DEGRADED', 'FAILING', 'UNKNOWN']).meta({
      description: 'Last known state of the target; UNKNOWN before the first conclusive result',
    }),
    status: z.enum(checkStatuses).meta({
      description:
        'The state, or what is more important: ERROR for an agent error, UNSERVED without an agent in any location, UNPLACED without a location',
    }),
    hasErrors: z.boolean().meta({
      description: 'The newest run ended with an agent error, which says nothing about the target',
    }),
    lastRunAt: timestamp.nullable(),
    createdAt: timestamp,
    importedFrom: timestamp.nullable(),
    sslDaysRemaining: z.number().nullable(),
    maintenance: z.object({ name: z.string(), endsAt: timestamp }).nullable().meta({
      description: 'The maintenance window that the check is in',
    }),
    recentRuns: z
      .object({
        outcomes: z.string().meta({
          description: 'A letter for each run: P passed, D degraded, F failed, E agent error',
          example: 'PPDF',
        }),
        responseTimes: z.array(z.int()).meta({ description: 'Milliseconds' }),
        newestAt: timestamp.nullable(),
        oldestAt: timestamp.nullable(),
      })
      .meta({ description: 'The latest FINAL results of all locations, oldest first' }),
  })
  .meta({ id: 'CheckOverview' });
export type CheckOverview = z.input<typeof checkOverview>;

export const checkListOrders = [
  'status',
  'name',
  'type',
  'lastRun',
  'availability',
  'p95',
] as const;
export type CheckListOrder = (typeof checkListOrders)[number];
/** Figures are read check by check. */
export const maxSortedByFigures = 1_000;

const statusCounts = z
  .array(z.object({ status: z.enum(checkStatuses), checks: z.int() }))
  .meta({ description: 'How many checks have each status, worst first; none that no check has' });

const words = z
  .string()
  .max(200)
  .refine((text) => text.split(/\s+/).length <= 20, 'must have at most 20 words')
  .default('');

const checkList = z
  .object({
    page: z.int(),
    lines: z
      .array(
        z.object({
          group: z
            .object({ id: z.int().nullable(), name: z.string().nullable(), statusCounts })
            .nullable()
            .meta({ description: 'The group that the next lines are of; id null for no group' }),
          check: checkOverview.nullable().meta({ description: 'Null for the line of a group' }),
        }),
      )
      .meta({ description: 'Checks, and groups above theirs where a check is in one' }),
    sort: z.enum(checkListOrders).meta({
      description:
        'The order of the lines: another than the one that was asked for, where too many checks match for it',
    }),
    matching: z.int().meta({ description: 'Checks that match, also those of folded groups' }),
    statusCounts,
    types: z.array(checkType).meta({ description: 'Of all checks' }),
    tags: z.array(z.string()).meta({ description: 'Of all checks' }),
  })
  .meta({ id: 'CheckList' });
export type CheckList = z.input<typeof checkList>;

export const checkOverviewRoutes = defineRoutes('Check statuses', {
  listCheckOverview: get(
    '/v1/check-overview',
    'All checks with their state and latest runs, by name',
    {
      query: z.object({
        checkId: queryList(pathId).exactOptional().meta({ description: 'Only these checks' }),
        runs: queryInteger(0, 100).default(24).meta({ description: 'How many runs of each check' }),
      }),
      response: z.array(checkOverview),
      errors: [404],
    },
  ),
  listChecksByGroup: get('/v1/check-overview/list', 'A page of the checks that match, by group', {
    query: z.object({
      search: words.meta({
        description: 'Words of the name, the group, the type, tags or locations; all must be there',
      }),
      name: words.meta({ description: 'Words of the name alone; all must be there' }),
      status: z.enum(checkStatuses).exactOptional(),
      checkType: checkType.exactOptional(),
      tag: z.string().max(200).exactOptional(),
      sort: z
        .enum(checkListOrders)
        .default('status')
        .meta({
          description: `Worst, newest or slowest first. By availability or p95 of the last day: up to ${maxSortedByFigures} checks that match, more of them by status`,
        }),
      reversed: queryBoolean.default(false),
      folded: queryList(queryInteger(0, 999_999_999_999))
        .pipe(z.array(z.int()).max(500))
        .default([])
        .meta({
          description: 'Groups whose checks are left out; 0 for the checks without a group',
        }),
      runs: queryInteger(0, 100).default(24).meta({ description: 'How many runs of each check' }),
      limit: queryInteger(1, 1000).default(100),
      page: queryInteger(1, 1_000_000).default(1),
    }),
    response: checkList,
    paged: true,
  }),
});
