/** Results of a test runner that ran in a pipeline: shown beside those of agents. */
import { z } from 'zod';
import { pathId, queryInteger, timestamp } from './primitives.ts';
import { defineRoutes, get, post } from './route.ts';
import { repoInfo } from './test-session.ts';

/** Most results of a reported session: suites, or projects of one. */
const maxReportedResults = 100;

const byResult = z.object({ testSessionId: pathId, testResultId: pathId });

export const testReportRoutes = defineRoutes('Compatibility', {
  createReportedSession: post('/next/test-sessions/create', 'Begin a session of a test runner', {
    body: z.object({
      name: z.string().min(1).max(255),
      environment: z.string().max(255).nullable().default(null),
      startedAt: z
        .int()
        .min(0)
        .exactOptional()
        .meta({ description: 'Milliseconds since the epoch' }),
      testResults: z
        .array(z.object({ name: z.string().min(1).max(1_000) }))
        .min(1)
        .max(maxReportedResults)
        .meta({ example: [{ name: 'shop' }] }),
      provider: z.literal('PW_REPORTER').default('PW_REPORTER'),
      repoInfo,
    }),
    response: z.object({
      testSessionId: z.uuid(),
      link: z.string(),
      testResults: z.array(z.object({ testResultId: z.uuid() })),
    }),
    errors: [429],
  }),
  uploadReport: post(
    '/next/test-sessions/{testSessionId}/results/{testResultId}/upload',
    'Upload the files of a result as a zip',
    {
      params: byResult,
      bodyStream: true,
      response: z.object({
        assetId: z.string(),
        region: z.string(),
        key: z.string(),
        url: z.string(),
      }),
      errors: [413],
    },
  ),
  finishReportedResult: post(
    '/next/test-sessions/{testSessionId}/results/{testResultId}',
    'Report how a result ended',
    {
      description: 'What is reported again changes nothing.',
      params: byResult,
      body: z.object({
        status: z.enum(['PASSED', 'FAILED', 'CANCELLED']),
        assetEntries: z
          .array(z.looseObject({ name: z.string().max(1_000) }))
          .max(5_000)
          .nullable()
          .default([]),
        isDegraded: z.boolean().default(false),
        startedAt: timestamp.exactOptional(),
        stoppedAt: timestamp.exactOptional(),
        responseTime: z.number().min(0).max(2_147_483_647).default(0),
        metadata: z.looseObject({}).nullable().default({}),
      }),
      bodyLimitBytes: 20_971_520,
      status: 200,
      response: z.object({ testResultId: z.uuid() }),
      errors: [413],
    },
  ),
  downloadReport: get(
    '/v1/test-reports/{testResultId}',
    'Download the files of a reported result by their link',
    {
      description:
        'Links come with the assets of a test result and need no key; they expire after an hour.',
      authentication: 'none',
      params: z.object({ testResultId: pathId }),
      query: z.object({ expires: queryInteger(0, 4_102_444_800), signature: z.string().max(128) }),
      responseStream: 'application/zip',
      errors: [403],
    },
  ),
});
