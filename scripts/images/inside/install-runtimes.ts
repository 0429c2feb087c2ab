/**
 * Installs runtimes while an image is built: `node install-runtimes.ts FOLDER BROWSERS RUNTIME…`. With
 * nothing of the command line of the agent, so that its changes do not install them anew.
 */
import { existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { playwrightRevision } from '../../../agent/runtimes/playwright-revision.ts';
import { installRuntime } from '../../../agent/runtimes/install-runtime.ts';
import { planOf } from '../../../agent/runtimes/runtime-plan.ts';
import { stripPackages } from './strip-packages.ts';

const [folder = '', browsers = '', ...ids] = process.argv.slice(2);
const directory = resolve(folder);
const secrets = {
  NODE_EXTRA_CA_CERTS: '/run/secrets/ca',
  npm_config_userconfig: '/run/secrets/npmrc',
};
const environment = {
  ...process.env,
  ...Object.fromEntries(Object.entries(secrets).filter(([, file]) => existsSync(file))),
};

/** Puts Debian's ffmpeg where the Playwright of a runtime looks for its own: without it no run has a video. */
function linkFfmpeg(runtime: string): void {
  const place = join(resolve(browsers), `ffmpeg-${playwrightRevision(runtime, 'ffmpeg')}`);
  if (existsSync(place)) return;
  mkdirSync(place, { recursive: true });
  symlinkSync('/usr/bin/ffmpeg', join(place, 'ffmpeg-linux'));
}

for (const id of ids) {
  const plan = planOf(id);
  const { verification } = await installRuntime({
    plan,
    directory,
    environment,
    onUnpacked: (runtime) => stripPackages(join(runtime, 'node_modules'), { keepsTests: true }),
    now: () => Number(process.env['SOURCE_DATE_EPOCH'] ?? 0) * 1000,
  });
  linkFfmpeg(join(directory, id));
  const { packages, nodeVersion, sizeBytes } = verification;
  console.log(
    `${id}: ${Object.keys(packages).length} packages, Node ${nodeVersion}, ${Math.round(sizeBytes / 1e6)} MB`,
  );
  for (const { package: name, wanted, instead } of plan.substitutions) {
    console.log(`  ${name} ${instead ?? 'left out'} instead of ${wanted}`);
  }
}
rmSync(join(directory, '.lock'), { force: true });
