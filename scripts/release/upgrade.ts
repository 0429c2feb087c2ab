/**
 * From a release before to this one and back, with what users install: the control plane first, the agent
 * afterwards, as `docs/upgrade.md` says. Results stay, none is doubled, and the way back is the older build
 * on the same database where its migrations allow it, else on the backup of before.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { assertNothingDoubled } from '../../test/support/accounting.ts';
import { listen } from '../../proof/listen.ts';
import { freePort, type Program } from '../../proof/program.ts';
import { System, type Programs } from '../../proof/system.ts';
import { eventually, queryDatabase } from '../../test/support/system.ts';
import { installedPrevious, noRelease, previousReleases, type Release } from './previous.ts';
import { StepFailure, type Finding, type ReleaseContext } from './step.ts';

const moreResults = 3;
/** What an older build says of a database that it cannot live with. */
const refusal = /has migrations that this build does not know/;

const programsIn = (checkout: string): Programs => ({
  controlPlane: join(checkout, 'control-plane', 'control-plane.js'),
  agent: join(checkout, 'agent', 'monitor-agent.js'),
});

interface Taken {
  release: string;
  results: number;
  back: 'on the same database' | 'with the backup of before';
}

async function goThere(
  folder: string,
  before: Programs,
  after: Programs,
): Promise<Omit<Taken, 'release'>> {
  await using stack = new AsyncDisposableStack();
  const target = stack.use(await listen(createServer((_, response) => response.end('fine'))));
  // Both are one system: one database, one address, one folder of an agent.
  const settings = { PORT: String(await freePort()) };
  const old = stack.use(await System.open({ programs: before, folder, settings }));
  const { accountId, apiKey: rawKey } = old;
  const owner = { accountId, rawKey };
  const updated = stack.use(
    await System.open({ programs: after, folder, settings, owner, isServing: false }),
  );
  const count = (): number => {
    const sql = 'select count(*) n from check_results';
    return Number(queryDatabase<{ n: number }>(old.databaseFile, sql)[0]?.n);
  };
  const more = async (what: string): Promise<void> => {
    const from = count();
    await eventually(
      () => count() >= from + moreResults,
      () => `no results with ${what}`,
    );
  };
  const key = await old.makeLocation('office');
  let agent: Program | undefined;
  const startAgent = async (system: System): Promise<void> => {
    await agent?.stop();
    agent = system.startAgent('agent', key);
    await agent.log('checked in');
  };
  const check = await old.createUrlCheck(`${target.url}/`, {
    ...{ name: 'Target', privateLocations: ['office'] },
  });
  const read = (system: System) => system.api('GET', `/v1/checks/${check.id}`);
  await startAgent(old);
  await more('both as they were');
  const backup = join(folder, 'before.db');
  await old.command('backup', backup);
  await old.controlPlane.stop();
  await updated.restartControlPlane();
  await read(updated);
  await startAgent(old);
  await more('the new control plane and the old agent');
  await startAgent(updated);
  await more('both new');
  assertNothingDoubled(old.databaseFile);
  await agent?.stop();
  await updated.controlPlane.stop();
  const error = await old.command('keys', 'list').then(
    () => null,
    (reason: unknown) => String(reason),
  );
  if (error !== null && !refusal.test(error)) throw new Error(`the way back failed: ${error}`);
  if (error !== null) await old.command('restore', '--yes', backup);
  await old.restartControlPlane();
  await read(old);
  await startAgent(old);
  await more('both as they were, after the way back');
  assertNothingDoubled(old.databaseFile);
  return {
    results: count(),
    back: error === null ? 'on the same database' : 'with the backup of before',
  };
}

export async function upgradeAndBack(context: ReleaseContext): Promise<Finding> {
  const releases = previousReleases(context);
  if (releases.length === 0) return noRelease;
  const taken: Taken[] = [];
  const after = programsIn(join(context.work, 'built'));
  for (const release of releases) {
    const before = await installedPrevious(context, release);
    const folder = mkdtempSync(join(context.work, 'upgrade-'));
    try {
      taken.push({
        release: release.version,
        ...(await goThere(folder, programsIn(before), after)),
      });
    } catch (error) {
      throw failureOf(release, error);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
    context.say(`${release.version}: there and back`);
  }
  const names = taken.map(({ release, back }) => `${release} (back ${back})`);
  const count = taken.length === 1 ? 'the only release before' : `${taken.length} releases before`;
  return { summary: `${count}: from and to ${names.join(', ')}`, figures: taken };
}

function failureOf({ version }: Release, error: unknown): StepFailure {
  const reason = error instanceof Error ? error.message : String(error);
  return new StepFailure(
    `the upgrade from ${version} and back failed: ${reason}`,
    'see "Which versions live together" in docs/upgrade.md, and oldestBuild of the migrations',
  );
}
