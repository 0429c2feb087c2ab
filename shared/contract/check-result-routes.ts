/** Results and runs for clients. Spec: Check result; Check results (endpoints); Limits. */
import { z } from 'zod';
import { encryptedResult } from './encrypted-result.ts';
import { artifactType, missedReason, nullableResults, resultType } from './check-result.ts';
import { checkType } from './checks/index.ts';
import {
  cursorPage,
  cursorQuery,
  pageQuery,
  pathId,
  queryBoolean,
  queryInteger,
  queryNames,
  timestamp,
  windowQuery,
} from './primitives.ts';
import { defineRoutes, get } from './route.ts';

export const checkResult = z
  .object({
    id: z.uuid(),
    name: z.string(),
    checkId: z.uuid(),
    checkType,
    resultType,
    hasFailures: z.boolean(),
    hasErrors: z.boolean(),
    isDegraded: z.boolean().nullable(),
    overMaxResponseTime: z.boolean().nullable(),
    runLocation: z.string(),
    startedAt: timestamp.nullable(),
    stoppedAt: timestamp.nullable(),
    created_at: timestamp,
    responseTime: z.int().min(0).meta({ description: 'Milliseconds' }),
    ...nullableResults,
    checkRunId: z.int(),
    attempts: z.int().min(0).meta({ description: 'Number of this attempt; 1 without a retry' }),
    sequenceId: z.string().nullable(),
    errorGroupIds: z.array(z.string()),
    encryptedResult: encryptedResult.exactOptional().meta({
      description:
        'The details of a result that only the holder of a private key can read; the other fields of details are null then. Absent otherwise',
    }),
    payloadError: z.string().exactOptional().meta({
      description:
        'Set when the details of the result are damaged and cannot be read. Absent otherwise',
    }),
    scheduledFor: timestamp
      .nullable()
      .meta({ description: 'The slot this run belongs to; null for a triggered run' }),
    underLoad: z.boolean().meta({
      description: 'Whether a time limit was broken is undecided: the agent waited too long',
    }),
    agentWaitMs: z.number().min(0).nullable().meta({
      description:
        'Milliseconds of an undecided attempt in which the agent waited for a CPU, was busy or was stopped. 0 where that does not touch the verdict; null for results of older agents',
      example: 0,
    }),
    isCancelled: z.boolean().meta({ description: 'Cancelled by a user; counts for nothing' }),
    isLate: z
      .boolean()
      .meta({ description: 'It arrived after the FINAL result of its run and counts for nothing' }),
    isPayloadDropped: z.boolean().meta({
      description:
        'The details are not there: the agent had no room for them, or did not encrypt them where it should have. The verdict and the times remain',
    }),
    detailsOmitted: z.literal(true).exactOptional().meta({
      description:
        'The details are left out, because the answer would be too large; read the result by its id',
    }),
  })
  .meta({ id: 'CheckResult' });
export type CheckResult = z.input<typeof checkResult>;

export const sixHoursMs = 6 * 3_600_000;

const resultFilters = {
  ...windowQuery,
  location: z.string().min(1).max(64).exactOptional().meta({
    description: 'A data-center location, or the slug of a private location',
  }),
  checkType: checkType.exactOptional(),
  hasFailures: queryBoolean.exactOptional(),
  resultType: z.enum(['FINAL', 'ATTEMPT', 'ALL']).default('FINAL'),
};

const resultFields = Object.keys(checkResult.shape);
/** Whole unless `fields` names some; types are those of whole ones, since the console names none. */
const projected = z.union([checkResult, checkResult.partial()]).meta({
  override: { $ref: '#/components/schemas/CheckResult' },
}) as unknown as typeof checkResult;

export const asset = z.object({
  type: artifactType,
  name: z.string(),
  url: z
    .string()
    .nullable()
    .meta({ description: 'Valid for an hour; null until the file has arrived' }),
  contentType: z.string(),
  size: z.int().min(0),
  state: z.enum(['PENDING', 'STORED', 'WITHHELD', 'EXPIRED']),
  reason: z.string().nullable().meta({ description: 'Why it was withheld' }),
  viewerUrl: z
    .string()
    .nullable()
    .meta({ description: 'A page that shows the trace, valid for an hour' }),
  source: z.object({
    type: z.literal('check-result'),
    checkId: z.uuid(),
    checkName: z.string(),
    checkType,
    resultId: z.uuid(),
  }),
});
export type Asset = z.input<typeof asset>;

export const checkRun = z
  .object({
    checkRunId: z.int(),
    sequenceId: z.string(),
    checkId: z.uuid(),
    location: z.string(),
    scheduledFor: timestamp.nullable(),
    state: z.enum(['RUNNING', 'FINAL', 'MISSED']),
    missedReason: missedReason.nullable(),
    resultId: z.string().nullable().meta({ description: 'The FINAL result, when there is one' }),
    lateResults: z.int().min(0).meta({
      description: 'Number of results that arrived after the FINAL result',
    }),
    lateResultIds: z.array(z.uuid()).meta({ description: 'Ids of these results' }),
  })
  .meta({ id: 'CheckRun' });

export const artifactRoutes = defineRoutes('Check results', {
  listCheckResultAssets: get(
    '/v1/check-results/{checkId}/{checkResultId}/assets',
    'List the files of a result with links to them',
    {
      params: z.object({ checkId: pathId, checkResultId: pathId }),
      query: z.object({
        type: artifactType.exactOptional(),
        name: z.string().min(1).max(200).exactOptional().meta({
          description: 'Pattern with * and ?, case-insensitive',
        }),
      }),
      response: z
        .object({
          assets: z.array(asset),
          truncated: z.boolean(),
          entriesReturned: z.int(),
          entriesTotal: z.int(),
        })
        .meta({ id: 'AssetManifest' }),
    },
  ),
  downloadArtifact: get(
    '/v1/artifacts/{resultId}/{name}',
    'Download a file of a result by its link',
    {
      description:
        'Links come with results and asset lists and need no key; they expire after an hour. `Range` and `If-None-Match` are honoured: 206, 304, or 416 for a range outside the file. An expired or altered link answers 403.',
      authentication: 'none',
      params: z.object({ resultId: pathId, name: z.string().max(200) }),
      query: z.object({ expires: queryInteger(0, 4_102_444_800), signature: z.string().max(128) }),
      otherStatuses: [206, 304, 416],
      responseStream: 'application/octet-stream',
      errors: [403],
    },
  ),
});

export const checkResultRoutes = defineRoutes('Check results', {
  listCheckResults: get(
    '/v1/check-results/{checkId}',
    'List the results of a check, newest first',
    {
      description:
        '`from` defaults to six hours before `to` or now, `to` to six hours after `from`. An answer contains at most 16 MiB of result details, the newest first; further results have `detailsOmitted`.',
      deprecated: true,
      rateLimit: { requests: 60, seconds: 60 },
      params: z.object({ checkId: pathId }),
      query: z.object({
        ...pageQuery,
        ...resultFilters,
      }),
      response: z.array(checkResult),
      errors: [402, 429],
      paged: true,
    },
  ),
  listCheckResultsByCursor: get(
    '/v2/check-results/{checkId}',
    'List the results of a check, newest first, page by page',
    {
      description:
        'The window has no limit; without `from` it has no beginning. An answer contains at most 16 MiB of result details; further results have `detailsOmitted`. With `fields` entries have these fields only.',
      rateLimit: { requests: 60, seconds: 60 },
      params: z.object({ checkId: pathId }),
      query: z.object({
        ...resultFilters,
        isLate: queryBoolean.exactOptional().meta({
          description:
            'True lists only results that arrived after the FINAL result of their run, of any `resultType`',
        }),
        limit: queryInteger(1, 100).default(10),
        nextId: cursorQuery.nextId,
        fields: queryNames(resultFields, 'a field of a result').exactOptional(),
      }),
      response: cursorPage(projected),
      errors: [402, 429],
    },
  ),
  getCheckResult: get('/v1/check-results/{checkId}/{checkResultId}', 'Read one result', {
    params: z.object({ checkId: z.string(), checkResultId: z.string() }),
    response: checkResult,
  }),
  listCheckRuns: get(
    '/v1/check-runs/{checkId}',
    'List the runs of a check, newest first: every slot, run or missed',
    {
      description:
        'Every slot of a check is listed once, with its FINAL result or with the reason why it was missed.',
      params: z.object({ checkId: z.string() }),
      query: z.object({
        ...pageQuery,
        ...windowQuery,
        location: z.string().min(1).max(64).exactOptional(),
        state: z.enum(['RUNNING', 'FINAL', 'MISSED']).exactOptional(),
      }),
      response: z.array(checkRun),
      paged: true,
    },
  ),
});
