/** An image of a result, as it may become a baseline: agents and scripts sent it, so nothing of it is trusted. */
import { hash } from 'node:crypto';
import { maxBaselineBytes } from '@monitor/shared/contract/baseline.ts';
import type { Services } from '../../core/services.ts';
import { ApiError } from '../../errors/api-error.ts';
import { openFile } from '../artifacts/open-file.ts';
import type { ArtifactRow } from '../artifacts/store.ts';

/** Signature of a PNG and the beginning of its first chunk, which holds its size. */
const pngStart = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
/** What viewers and agents can unpack. */
const maxPixels = 100_000_000;

function isPng(bytes: Buffer): boolean {
  if (bytes.length < 24 || !bytes.subarray(0, pngStart.length).equals(pngStart)) return false;
  const pixels = bytes.readUInt32BE(16) * bytes.readUInt32BE(20);
  return pixels > 0 && pixels <= maxPixels;
}

const whyNot: Readonly<Record<Exclude<ArtifactRow['state'], 'STORED'>, string>> = {
  PENDING: 'has not arrived yet; try again later',
  WITHHELD: 'stayed on the agent',
  EXPIRED: 'is not kept any more; approve one of a newer result',
};

/** The bytes of the image and their digest. Throws 409 with the reason where it cannot be a baseline. */
export async function readImage(
  { artifacts }: Pick<Services, 'artifacts'>,
  row: ArtifactRow | undefined,
  path: string,
): Promise<{ bytes: Buffer; digest: string }> {
  const refuse = (reason: string) => new ApiError('CONFLICT', `the image ${path} ${reason}`);
  if (row === undefined) throw refuse('did not come with the result');
  if (row.state !== 'STORED') {
    throw refuse([whyNot[row.state], row.reason].filter(Boolean).join(': '));
  }
  if (row.size_bytes > maxBaselineBytes) throw refuse(`has more than ${maxBaselineBytes} bytes`);
  const plain = await openFile({ artifacts }, row);
  if (plain === null) throw refuse('is not in the store');
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of plain) {
    sizeBytes += (chunk as Buffer).length;
    if (sizeBytes > maxBaselineBytes) break;
    chunks.push(chunk as Buffer);
  }
  plain.destroy();
  const bytes = Buffer.concat(chunks);
  if (sizeBytes > maxBaselineBytes || !isPng(bytes)) throw refuse('is no PNG that can be compared');
  return { bytes, digest: hash('sha256', bytes, 'hex') };
}
