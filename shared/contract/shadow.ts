/**
 * Shadow mode: after a move both installations run, and this one lists where their verdicts differ. It reads the
 * results of the other side through the public API, with a key that an administrator gives it.
 */
import { z } from 'zod';
import { pageQuery, timestamp, windowQuery } from './primitives.ts';
import { defineRoutes, get, put, remove } from './route.ts';
import { sensitive } from './sensitive.ts';

/** Where results are not compared for so long, something keeps them from it. */
export const behindAfterHours = 6;

const saw = z
  .object({
    at: timestamp.meta({ description: 'In the time of this installation' }),
    location: z.string(),
    status: z.enum(['passing', 'failing']),
    error: z.string().nullable(),
    responseTime: z.int().min(0).nullable().meta({ description: 'Milliseconds' }),
    resultId: z.string(),
  })
  .meta({ id: 'ShadowEvidence' });

export const shadowDifference = z
  .object({
    id: z.int(),
    checkId: z.uuid(),
    name: z.string(),
    failedAt: z.enum(['THEIRS', 'OURS']).meta({
      description: 'Who saw it failing: the other side, or this installation',
    }),
    firstAt: timestamp,
    lastAt: timestamp,
    results: z.int().min(1).meta({ description: 'Failing results, which the other did not see' }),
    fitsBetweenRuns: z.boolean().meta({
      description: 'The other did not run between the first and the last of them',
    }),
    saw: saw.meta({ description: 'The first failing result' }),
    othersSaw: z.array(saw).meta({ description: 'The results of the other before and after it' }),
  })
  .meta({ id: 'ShadowDifference' });
export type ShadowDifference = z.input<typeof shadowDifference>;

const project = z.string().min(1).max(255);

export const shadow = z
  .object({
    isOn: z.boolean(),
    baseUrl: z.string().nullable(),
    otherAccountId: z.string().nullable(),
    project: project.nullable(),
    startedAt: timestamp.nullable(),
    readUntil: timestamp.nullable().meta({
      description: 'Everything before is compared; null before the first comparison',
    }),
    problem: z.string().nullable().meta({ description: 'Why nothing is read at present' }),
    checks: z.int().meta({ description: 'How many are compared' }),
    notCompared: z.array(z.object({ checkId: z.uuid(), name: z.string(), why: z.string() })),
    compared: z.int().meta({ description: 'Results that the other side had a result beside' }),
    undecided: z.int().meta({ description: 'Results that the other side had none beside' }),
    differences: z.int(),
    history: z.string().nullable().meta({ description: 'How much of it is read' }),
    historyRefused: z.int().meta({ description: 'Checks of which it cannot be read' }),
    mostHistoryDays: z.int().meta({ description: 'Sums of earlier days would not be kept' }),
    reportsTo: z.array(z.string()).meta({ description: 'Who gets the daily message' }),
  })
  .meta({ id: 'Shadow' });
export type ShadowState = z.input<typeof shadow>;

export const shadowRoutes = defineRoutes('Shadow mode', {
  getShadow: get('/v1/shadow', 'Whether the verdicts of another installation are compared', {
    response: shadow,
  }),
  startShadow: put('/v1/shadow', 'Compare the verdicts of another installation from now on', {
    role: 'ADMIN',
    description:
      'For the checks that an import of its account made. The key is kept encrypted, and only reads. `alertChannelIds` get a message each day; without one, administrators get it by mail. `historyDays` of results from before the checks were made here are summed up; a call without it reads no more of them, and there are at most `mostHistoryDays`. Another call changes what it says, and goes on, at the same address; `DELETE` ends it, and comes before another address.',
    body: z.object({
      baseUrl: z
        .string()
        .max(2048)
        .regex(
          /^https?:\/\/[^\s@?#]+$/,
          'must start with http:// or https://, and be host and path',
        )
        .refine((text) => URL.canParse(text), 'has a host or a port that cannot be')
        .meta({ example: 'https://api.other.example' }),
      apiKey: sensitive('secret', z.string().regex(/^[\x21-\x7e]{1,1024}$/, 'must be a key')).meta({
        example: 'cu_0123456789',
      }),
      otherAccountId: z.string().max(64).nullable().default(null),
      project: project.default('import-checkly').meta({
        description: 'The project that the import made; without one, nothing is compared',
      }),
      historyDays: z.int().min(1).max(750).exactOptional(),
      alertChannelIds: z.array(z.int()).max(20).exactOptional().meta({ example: [] }),
    }),
    response: shadow,
  }),
  stopShadow: remove('/v1/shadow', 'End it and forget the key', {
    role: 'ADMIN',
    description: 'Differences stay as long as results.',
    isIdempotent: true,
  }),
  listShadowDifferences: get(
    '/v1/shadow/differences',
    'List where the verdicts of both differ, newest first',
    {
      query: z.object({
        ...pageQuery,
        ...windowQuery,
        checkId: z.uuid().exactOptional(),
      }),
      response: z.array(shadowDifference),
      paged: true,
    },
  ),
});
