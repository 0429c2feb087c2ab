/** Baselines: people approve images of results, and see and withdraw what they approved. */
import { Readable } from 'node:stream';
import { z } from 'zod';
import {
  maxComparisons,
  screenshotComparison,
  type baselineRoutes,
} from '@monitor/shared/contract/baseline.ts';
import {
  type ApprovedImage,
  type BaselineRow,
  type CodeBundleStore,
  deleteBaseline,
  digestOfImage,
  findCheck,
  listBaselines,
  saveBaselines,
} from '../../checks/index.ts';
import type { Services } from '../../core/services.ts';
import { toTimestamp } from '../../db/columns.ts';
import { ApiError, invalidField, notFound } from '../../errors/api-error.ts';
import { asStream } from '../../http/answer.ts';
import type { Handlers } from '../../http/handlers.ts';
import { listArtifacts } from '../artifacts/store.ts';
import { findResult } from '../check-results/store.ts';
import { readImage } from './read-image.ts';

type Baseline = z.input<typeof baselineRoutes.approveBaselines.response>[number];

const details = z
  .object({ screenshotComparisons: z.array(screenshotComparison).max(maxComparisons) })
  .nullish()
  .catch(null);
const resultWithImages = z.object({
  runLocation: z.string(),
  encryptedResult: z.unknown().optional(),
  browserCheckResult: details,
  playwrightCheckResult: details,
});

function toWire(row: BaselineRow): Baseline {
  return {
    ...{ id: row.id, checkId: row.check_id, location: row.location, platform: row.platform },
    ...{ project: row.project, path: row.path, sha256: digestOfImage(row.image_path) },
    ...{ deployedDigest: row.deployed_digest, sizeBytes: row.size_bytes },
    approvedAt: toTimestamp(row.approved_at),
  };
}

export function baselineHandlers(
  services: Services,
  codeBundles: CodeBundleStore,
): Handlers<typeof baselineRoutes> {
  const { db } = services;
  const rowsOf = async (accountId: string, checkId: string) => {
    // What people only try has those of its check, and no approvals of its own.
    const known = await findCheck(db, accountId, checkId);
    if (known?.is_trial !== 0) throw notFound('check', checkId);
    return listBaselines(db, accountId, checkId);
  };

  /** The comparisons of a result, with references to its files in place of links. */
  const comparisonsOf = async (accountId: string, checkId: string, resultId: string) => {
    const reader = { db, resolveReferences: (json: string) => json };
    const json = await findResult(reader, accountId, checkId, resultId);
    if (json === undefined) throw notFound('result', resultId);
    const result = resultWithImages.parse(JSON.parse(json));
    if (result.encryptedResult !== undefined) {
      throw new ApiError(
        'CONFLICT',
        'the images of this result are encrypted for people: this control plane cannot read them, and agents could not compare with them; deploy the images with the code of the check',
      );
    }
    const { screenshotComparisons = [] } =
      result.browserCheckResult ?? result.playwrightCheckResult ?? {};
    if (screenshotComparisons.length === 0) {
      throw new ApiError('CONFLICT', 'the result has no images that could be approved');
    }
    return { location: result.runLocation, comparisons: screenshotComparisons };
  };

  return {
    listBaselines: async ({ params }, { principal }) =>
      (await rowsOf(principal.accountId, params.checkId)).map(toWire),

    approveBaselines: async ({ params, body: { paths } }, { principal, signal }) => {
      const { accountId } = principal;
      const { checkId, checkResultId } = params;
      const { location, comparisons } = await comparisonsOf(accountId, checkId, checkResultId);
      for (const [index, path] of (paths ?? []).entries()) {
        if (comparisons.some((one) => one.path === path)) continue;
        throw invalidField(`paths.${index}`, 'is no image of this result to be approved');
      }
      const files = new Map(
        (await listArtifacts(db, accountId, checkResultId)).map((row) => [
          `artifact:${row.name}`,
          row,
        ]),
      );
      const images = new Map<string, ApprovedImage>();
      for (const one of comparisons) {
        if (paths?.includes(one.path) === false) continue;
        const { bytes, digest } = await readImage(services, files.get(one.actual), one.path);
        const key = `${one.platform} ${one.path}`;
        const other = images.get(key);
        if (other !== undefined && other.digest !== digest) {
          throw new ApiError(
            'CONFLICT',
            `the image ${one.path} is another one in the project ${JSON.stringify(other.project)} than in ${JSON.stringify(one.project)}; put {projectName} into the snapshotPathTemplate of the suite`,
          );
        }
        const body = Readable.from([bytes]);
        await codeBundles.receive(accountId, body, bytes.length, signal, 'file');
        images.set(key, { ...one, digest, sizeBytes: bytes.length });
      }
      const place = { accountId, checkId, location };
      return (await saveBaselines(services, place, [...images.values()])).map(toWire);
    },

    getBaselineImage: async ({ params: { checkId, id } }, { principal }) => {
      const { accountId } = principal;
      const row = (await rowsOf(accountId, checkId)).find((one) => one.id === id);
      const image =
        row === undefined ? undefined : await codeBundles.open(accountId, row.image_path);
      if (image === undefined) throw notFound('baseline', id);
      return asStream(image.stream, {
        'Content-Length': image.row.size_bytes,
        'X-Content-Type-Options': 'nosniff',
      });
    },

    deleteBaseline: async ({ params: { checkId, id } }, { principal }) => {
      await deleteBaseline(services, principal.accountId, checkId, id);
      return undefined;
    },
  };
}
