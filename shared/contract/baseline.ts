/** Images that people approved, for `toHaveScreenshot` of browser checks and suites to compare with. spec: open */
import { z } from 'zod';
import { pathId, timestamp } from './primitives.ts';
import { defineRoutes, get, post, remove } from './route.ts';

/** Of one image. */
export const maxBaselineBytes = 10_485_760;
export const maxBaselinesOfCheck = 1_000;
/** Of one result. */
export const maxComparisons = 100;

/** Inside the folder of a check or suite: every part of the path names something; no line ends in it. */
const inside = String.raw`(?!.*(^|\/)(\.{0,2}|node_modules)(\/|$))[^\\\x00-\x1f\x7f\u2028\u2029]+`;
export const snapshotPath = z
  .string()
  .max(500)
  .regex(
    new RegExp(`^${inside}\\.png$`),
    'must be the path of a PNG inside the folder of the check',
  )
  .meta({ example: 'home.spec.ts-snapshots/home-1-chromium-linux.png' });

/** Clients deploy snapshots of texts as well. */
const deployedPath = z
  .string()
  .max(500)
  .regex(new RegExp(`^${inside}$`), 'must be a path inside the folder of the check')
  .meta({ example: 'home.spec.ts-snapshots/home-1-chromium-linux.png' });

/** What clients deploy with a browser check for its screenshots to be compared with. */
export const deployedSnapshots = z
  .array(
    z.object({
      path: deployedPath,
      key: z
        .string()
        .regex(/^files\/[0-9a-f]{64}$/, 'must be the key of an uploaded file')
        .meta({ example: `files/${'0'.repeat(64)}` }),
    }),
  )
  .max(500)
  .superRefine((snapshots, context) => {
    const paths = new Set(snapshots.map(({ path }) => path));
    for (const [index, { path }] of snapshots.entries()) {
      const folders = path.split('/').map((_, end, parts) => parts.slice(0, end).join('/'));
      const file = folders.find((folder) => paths.has(folder));
      if (file === undefined) continue;
      const message = `lies below ${file}, which is another snapshot`;
      context.addIssue({ code: 'custom', path: [index, 'path'], message });
    }
  });

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
    actualDigest: sha256Hex.exactOptional().meta({
      description: 'SHA-256 of that image, once it has arrived; in a result that is read by its id',
    }),
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
        'Each takes the place of what was approved before for the same check, location, platform and path, until another image is deployed for that path. 409 where an image is not here, is encrypted, or is not the same in all projects that share its path.',
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
