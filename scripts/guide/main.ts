/** `npm run guide [-- --if-stale]`: builds the documents as a site, which a control plane serves at `/guide/`. */
import { readOptions, runScript } from '../options.ts';
import { buildGuide, guideFolder, isStale } from './build.ts';

const { values } = readOptions({ options: { 'if-stale': { type: 'boolean', default: false } } });
if (!values['if-stale'] || isStale(guideFolder)) {
  const build = async (): Promise<void> => {
    const begunAt = performance.now();
    const { pages, bytes } = await buildGuide(guideFolder);
    const seconds = ((performance.now() - begunAt) / 1000).toFixed(1);
    console.log(`guide: ${pages} pages, ${(bytes / 1e6).toFixed(1)} MB, ${seconds} s`);
  };
  await runScript(build, { before: 'guide: ' });
}
