/** Images that people approved, for `toHaveScreenshot` of browser checks and suites to compare with. spec: open */
import { z } from 'zod';
import { pathId, timestamp } from './primitives.ts';
import { defineRoutes, get, post, remove } from './route.ts';

/** Of one image. */
export const maxBaselineBytes = 10_485_760;
export const maxBaselinesOfCheck = 1_000;
/** Of one result. */
export const maxComparisons = 100;

/** A PNG inside the folder of a check or suite: every part of the path names something. */
const insidePath = /^(?!.*(^|\/)(\.{0,2}|node_modules)(\/|$))[^\\\x00-\x1f\x7f]+\.png$/;
export const snapshotPath = z
  .string()
  .max(500)
  .regex(insidePath, 'must be the path of a PNG inside the folder of the check')
  .meta({ example: 'home.spec.ts-snapshots/home-1-chromium-linux.png' });

export const sha256Hex = z
  .string()
  .regex(/^[0-9a-f]{64}$/)
  .meta({ example: '0'.repeat(64) });
const platform = z
  .string()
  .max(40)
  .meta({ description: 'Operating system and processor of the agent', example: 'linux-x64' });

/** An image that a run had nothing to compare with, or that differed from what it was compared with. */
export const screenshotComparison = z
  .object({
    path: snapshotPath,
    /** The browser of a browser check, the project of a suite. */
    project: z.string().max(200),
    platform,
    outcome: z.enum(['MISSING', 'DIFFERENT']),
    deployedDigest: sha256Hex.nullable().meta({
      description: 'SHA-256 of the image that was deployed with the code; null without one',
    }),
    expected: z.string().nullable().meta({ description: 'Link, as of all files of a result' }),
    actual: z.string(),
    diff: z.string().nullable(),
  })
  .meta({ id: 'ScreenshotComparison' });
export type ScreenshotComparison = z.output<typeof screenshotComparison>;

const baseline = z
  .object({
    id: z.uuid(),
    checkId: z.uuid(),
    location: z.string(),
    platform,
    project: z.string(),
    path: snapshotPath,
    sha256: sha256Hex,
    deployedDigest: sha256Hex.nullable(),
    sizeBytes: z.int().min(0),
    approvedAt: timestamp,
  })
  .meta({ id: 'Baseline' });

const ofCheck = { checkId: pathId };

export const baselineRoutes = defineRoutes('Baselines', {
  listBaselines: get('/v1/checks/{checkId}/baselines', 'List the approved images of a check', {
    params: z.object(ofCheck),
    response: z.array(baseline),
  }),
  approveBaselines: post(
    '/v1/check-results/{checkId}/{checkResultId}/baselines',
    'Approve images of a result: later runs in its location compare with them',
    {
      description:
        'Each takes the place of what was approved before for the same check, location, platform and path, until another image is deployed for that path. 409 where an image is not here, or is encrypted.',
      params: z.object({ ...ofCheck, checkResultId: pathId }),
      body: z.object({
        paths: z.array(snapshotPath).min(1).max(maxComparisons).exactOptional().meta({
          description: 'Of these images; all of the result without it',
        }),
      }),
      response: z.array(baseline),
      errors: [409],
    },
  ),
  getBaselineImage: get('/v1/checks/{checkId}/baselines/{id}/image', 'Read an approved image', {
    params: z.object({ ...ofCheck, id: pathId }),
    responseStream: 'image/png',
  }),
  deleteBaseline: remove(
    '/v1/checks/{checkId}/baselines/{id}',
    'Withdraw an approval; what was deployed counts again',
    { params: z.object({ ...ofCheck, id: pathId }) },
  ),
});
