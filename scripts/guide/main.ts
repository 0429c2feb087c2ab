/** `npm run guide [-- --if-stale]`: builds the documents as a site, which a control plane serves at `/guide/`. */
import { readOptions } from '../options.ts';
import { buildGuide, guideFolder, isStale } from './build.ts';

const { values } = readOptions({ options: { 'if-stale': { type: 'boolean', default: false } } });
if (!values['if-stale'] || isStale(guideFolder)) {
  const begunAt = performance.now();
  try {
    const { pages, bytes } = await buildGuide(guideFolder);
    const seconds = ((performance.now() - begunAt) / 1000).toFixed(1);
    console.log(`guide: ${pages} pages, ${(bytes / 1e6).toFixed(1)} MB, ${seconds} s`);
  } catch (error) {
    console.error(`guide: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  }
}
