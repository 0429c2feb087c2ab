/**
 * From a release before to this one and back, with what users install: the control plane first, the agent
 * afterwards, as `docs/upgrade.md` says. Results stay, none is doubled, and the way back is the older build
 * on the same database where its migrations allow it, else on the backup of before.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { assertNothingDoubled } from '../../test/support/accounting.ts';
import { Operator } from '../../test/support/control-plane-command.ts';
import { listen } from '../../proof/listen.ts';
import { Program } from '../../proof/program.ts';
import { eventually, queryDatabase } from '../../test/support/system.ts';
import { callApi } from '../../proof/api.ts';
import { installedPrevious, noRelease, previousReleases, type Release } from './previous.ts';
import { StepFailure, type Finding, type ReleaseContext } from './step.ts';

const moreResults = 3;
/** What an older build says of a database that it cannot live with. */
const refusal = /has migrations that this build does not know/;

interface Programs {
  controlPlane: string;
  agent: string;
}

const sourcesIn = (checkout: string): Programs => ({
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
  const stack = new AsyncDisposableStack();
  const target = stack.use(await listen(createServer((_, response) => response.end('fine'))));
  const old = new Operator(folder, {}, before.controlPlane);
  const updated = new Operator(folder, {}, after.controlPlane);
  const count = (): number =>
    Number(
      queryDatabase<{ n: number }>(old.database, 'select count(*) n from check_results')[0]?.n,
    );
  const more = async (what: string): Promise<void> => {
    const from = count();
    await eventually(
      () => count() >= from + moreResults,
      () => `no results with ${what}`,
    );
  };
  let agent: Program | null = null;
  const stop = async (program: Program | null): Promise<void> => {
    program?.signal('SIGTERM');
    await program?.exited;
  };
  let key = '';
  const startAgent = async (program: string, url: string): Promise<void> => {
    await stop(agent);
    agent = stack.use(
      new Program([program, 'start'], {
        ...{ API_KEY: key, CONTROL_PLANE_URL: url, AGENT_HEALTH_PORT: '0' },
        AGENT_DATA_DIR: join(folder, 'agent'),
      }),
    );
    await agent.log('checked in');
  };
  try {
    const { rawKey: apiKey } = await old.json<{ rawKey: string }>('keys', 'create', '--name', 'a');
    let serving = stack.use(await old.serve());
    const api = { baseUrl: serving.url, apiKey };
    const { id } = await callApi<{ id: string }>(api, 'POST', '/v1/private-locations', {
      ...{ name: 'Office', slugName: 'office' },
    });
    ({ rawKey: key } = await callApi<{ rawKey: string }>(
      ...([api, 'POST', `/v1/private-locations/${id}/keys`] as const),
    ));
    const check = await callApi<{ id: string }>(api, 'POST', '/v1/checks/url', {
      ...{ name: 'Target', frequency: 0, frequencyOffset: 10, privateLocations: ['office'] },
      request: { url: `${target.url}/` },
    });
    await startAgent(before.agent, serving.url);
    await more('both as they were');
    const backup = join(folder, 'before.db');
    await old.json('backup', backup);
    const change = async (operator: Operator): Promise<void> => {
      await stop(serving);
      serving = stack.use(await operator.serve());
    };
    await change(updated);
    const read = async (): Promise<string> =>
      (
        await callApi<{ name: string }>(
          { baseUrl: serving.url, apiKey },
          'GET',
          `/v1/checks/${check.id}`,
        )
      ).name;
    await read();
    await startAgent(before.agent, serving.url);
    await more('the new control plane and the old agent');
    await startAgent(after.agent, serving.url);
    await more('both new');
    assertNothingDoubled(old.database);
    await stop(agent);
    await stop(serving);
    const { code, error } = await old.run('keys', 'list', '--json');
    if (code !== 0 && !refusal.test(error)) throw new Error(`the way back failed: ${error}`);
    if (code !== 0) await old.json('restore', '--yes', backup);
    serving = stack.use(await old.serve());
    await read();
    await startAgent(before.agent, serving.url);
    await more('both as they were, after the way back');
    assertNothingDoubled(old.database);
    return {
      results: count(),
      back: code === 0 ? 'on the same database' : 'with the backup of before',
    };
  } finally {
    await stack.disposeAsync();
  }
}

export async function upgradeAndBack(context: ReleaseContext): Promise<Finding> {
  const releases = previousReleases(context);
  if (releases.length === 0) return noRelease;
  const taken: Taken[] = [];
  const after = sourcesIn(join(context.work, 'built'));
  for (const release of releases) {
    const before = await installedPrevious(context, release);
    const folder = mkdtempSync(join(context.work, 'upgrade-'));
    mkdirSync(join(folder, 'agent'));
    try {
      taken.push({
        release: release.version,
        ...(await goThere(folder, sourcesIn(before), after)),
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
