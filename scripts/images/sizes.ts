/** `npm run images -- sizes`: what the images weigh. */
import { table } from '../../agent/commands/output.ts';
import { buildah, hasImage } from './buildah.ts';
import { lookAt } from './smoke/look.ts';
import { imageTargets } from './targets.ts';

/** The images that were built, as a table. */
export async function sizesOfImages(): Promise<string> {
  const rows = [['IMAGE', 'SIZE', 'PACKAGES AND SOURCE']];
  for (const target of imageTargets) {
    if (!(await hasImage(target.image))) continue;
    const listed = JSON.parse(await buildah('images', '--json', target.image)) as {
      size: string;
    }[];
    const { ownBytes } = await lookAt(target);
    rows.push([target.image, listed[0]?.size ?? '', `${(ownBytes / 1e6).toFixed(1)} MB`]);
  }
  return table(rows);
}
