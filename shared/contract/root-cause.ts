/** Causes by name: what the facts of a minute say about why checks fail. Shape from the field's practice. */
import { z } from 'zod';
import { checkType } from './checks/index.ts';
import { pathId, timestamp } from './primitives.ts';
import { defineRoutes, get, post } from './route.ts';

export const rootCause = z
  .object({
    classification: z.string().meta({
      description: 'The class, such as `host-down`; `not-enough-to-tell` without one',
      example: 'host-down',
    }),
    rootCause: z.string().meta({ description: 'One sentence with a place' }),
    userImpact: z.string(),
    codeFix: z.string().nullable().meta({ description: 'Always null: no code is read' }),
    evidence: z.array(
      z.object({
        artifacts: z.array(z.object({ name: z.string(), type: z.string() })),
        description: z.string(),
      }),
    ),
    referenceLinks: z.array(z.object({ url: z.string(), title: z.string() })),
    title: z.string().meta({ description: 'The class in words' }),
    place: z.string().nullable(),
    side: z
      .enum(['target', 'network', 'check', 'location', 'agent', 'control-plane'])
      .nullable()
      .meta({ description: 'Where it lies; null where there is not enough to tell' }),
    confidence: z.enum(['certain', 'likely', 'unclear']),
    rulesOut: z.array(z.string()),
    wouldTell: z.array(z.string()).meta({ description: 'What would tell more' }),
    since: timestamp,
    locations: z.array(z.string()),
    checks: z.array(z.object({ id: z.uuid(), name: z.string(), resultId: z.uuid() })).meta({
      description: 'The first few that it explains',
    }),
    moreChecks: z.int(),
  })
  .meta({ id: 'RootCause' });
export type RootCause = z.infer<typeof rootCause>;

export const rootCauseAnalysis = z
  .object({
    id: z.uuid(),
    status: z.enum(['COMPLETED']),
    created_at: timestamp,
    checkId: z.uuid(),
    checkType,
    errorGroupId: z.uuid(),
    provider: z.string().meta({ description: '`rules`: a table decides, no language model' }),
    model: z.string(),
    durationMs: z.int(),
    userContext: z.string().nullable(),
    analysis: rootCause,
  })
  .meta({ id: 'RootCauseAnalysis' });
export type RootCauseAnalysis = z.infer<typeof rootCauseAnalysis>;

const asking = {
  description: 'Decided at once, from the minute in which the error was last seen.',
  body: z.object({ userContext: z.string().max(256).exactOptional() }).prefault({}),
  status: 202,
  response: z.object({ id: z.uuid(), status: z.enum(['PENDING']) }),
} as const;

export const rootCauseRoutes = defineRoutes('Root cause analyses', {
  analyseErrorGroup: post(
    '/v1/root-cause-analyses/error-groups/{errorGroupId}',
    'Ask for an analysis of an error group',
    { ...asking, params: z.object({ errorGroupId: pathId }) },
  ),
  analyseTestSessionErrorGroup: post(
    '/v1/root-cause-analyses/test-session-error-groups/{testSessionErrorGroupId}',
    'Ask for an analysis of an error group of a test session',
    { ...asking, params: z.object({ testSessionErrorGroupId: pathId }) },
  ),
  getRootCauseAnalysis: get('/v1/root-cause-analyses/{id}', 'Read an analysis', {
    params: z.object({ id: pathId }),
    otherStatuses: [202],
    response: rootCauseAnalysis,
  }),
  getRootCausesOfResult: get(
    '/v1/root-cause-analyses/results/{checkId}/{checkResultId}',
    'Read why a result failed, by what else ran in its minute',
    {
      params: z.object({ checkId: pathId, checkResultId: pathId }),
      response: z.array(rootCause),
    },
  ),
});
