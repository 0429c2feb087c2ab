/**
 * What published clients ask for: every method, path and query goes into `test/fixtures/client-requests.json`, which an
 * ordinary test replays. `RECORD_CLIENTS=1` writes what is new.
 */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { execFileSync } from 'node:child_process';
import test from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { clientVersions, installClient } from '../support/published-client.ts';
import { openRecordingProxy } from '../support/recording-proxy.ts';
import { eventually, openTarget, System, temporaryFolder } from '../support/system.ts';

const fixture = join(import.meta.dirname, '..', 'fixtures', 'client-requests.json');

/** Without what it says of itself. */
const saidBy = (error: unknown): string =>
  stripVTControlCharacters(String((error as { stderr?: string }).stderr))
    .split('\n')
    .filter((line) => !/update available|npm install -D/.test(line) && line.trim() !== '')
    .slice(0, 4)
    .join(' ');

interface Fixture {
  method: string;
  path: string;
  query: string;
  /** Of the first and of the last client that sends it. */
  versions: string[];
}

for (const version of ['7.15.0', ...clientVersions]) {
  test(`checkly ${version} asks for nothing that is not recorded`, async () => {
    using folder = temporaryFolder();
    await using target = await openTarget();
    await using system = await System.start(folder.path);
    await using proxy = await openRecordingProxy(system.baseUrl);
    const key = await system.makeLocation('office');
    await using agent = system.startAgent('office', key);
    await agent.log('checked in');
    const made = (path: string, body: object) => system.api<{ id: string }>('POST', path, body);
    const check = await made('/v1/checks/tcp', {
      ...{ name: 'mail', privateLocations: ['office'], frequency: 0, frequencyOffset: 10 },
      request: { hostname: '127.0.0.1', port: 1 },
    });
    await made('/v1/alert-channels', { type: 'EMAIL', config: { address: 'ada@example.com' } });
    const service = await made('/v1/status-pages/services', { name: 'Shop' });
    const page = await made('/v1/status-pages', {
      ...{ name: 'Page', url: 'page', cards: [{ name: 'Card', services: [{ id: service.id }] }] },
    });
    let results: { id: string; errorGroupIds: string[] }[] = [];
    const hasResult = async (): Promise<boolean> => {
      results = await system.api('GET', `/v1/check-results/${check.id}?limit=1`);
      return results.length > 0;
    };
    await eventually(hasResult, () => 'a result of the check');
    const project = join(folder.path, 'project');
    mkdirSync(project, { recursive: true });
    const files = {
      'checkly.config.ts': `import { defineConfig } from 'checkly'
export default defineConfig({ projectName: 'shop', logicalId: 'shop', checks: { checkMatch: '*.check.ts', privateLocations: ['office'] }, cli: { privateRunLocation: 'office' } })\n`,
      'shop.check.ts': `import * as c from 'checkly/constructs'
new c.ApiCheck('api', { name: 'api', tags: ['t'], request: { url: '${target.url}/ok', method: 'GET' } })
new c.HeartbeatMonitor('beat', { name: 'beat', period: 1, periodUnit: 'days', grace: 1, graceUnit: 'hours' })\n`,
    };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder.path, name), text);
    // Version 7 reads TypeScript with it.
    execFileSync('npm', ['install', '--no-audit', '--no-fund', '--prefix', folder.path, 'jiti@2']);
    const client = await installClient(folder.path, version, {
      ...system,
      ...{ baseUrl: proxy.url, apiKey: system.apiKey, accountId: system.accountId },
    });
    const [result] = results;
    for (const command of [
      ...[
        'whoami',
        'runtimes',
        'account plan',
        'members',
        'env add LOGIN ada',
        'env ls',
        'env pull --force',
      ],
      ...[
        'env update LOGIN ben',
        'env rm LOGIN --force',
        'locations',
        'checks list',
        'checks list --tag web',
      ],
      ...['checks list --search mail --type TCP', 'checks list --status failing', 'checks stats'],
      ...[
        `checks stats ${check.id}`,
        `checks get ${check.id}`,
        `checks get ${check.id} --output json`,
      ],
      ...[
        `checks get ${check.id} --result ${result?.id}`,
        `checks get ${check.id} --error-group ${result?.errorGroupIds[0]}`,
      ],
      ...[`checks get ${check.id} --group-by location --filter-status failure`],
      ...[`checks get ${check.id} --result ${result?.id} --include-attempts`],
      ...[`assets list --check-id ${check.id} --result-id ${result?.id}`],
      ...[
        'status-pages list',
        `status-pages get ${page.id}`,
        'incidents list',
        'incidents list --status open',
      ],
      ...[
        `incidents create --status-page-id ${page.id} --title down --force`,
        'alert-channels list',
      ],
      ...[
        'alert-channels get 1',
        'alert-channels logs',
        'alert-channels logs 1',
        `checks run ${check.id} --force`,
      ],
      ...[
        'test-sessions list',
        'validate',
        'test',
        'test --record',
        'trigger --tags t',
        'deploy --preview',
        'deploy --force',
      ],
      ...[
        'trigger --private-location office --tags t',
        'test-sessions list --status passed',
        'deploy --force',
      ],
      ...[
        'import plan --preview',
        'destroy --force',
        'rca run',
        `checks delete ${check.id} --force`,
      ],
    ]) {
      await client.run(command).catch((error: unknown) => {
        console.log(`${version} ${command}: ${saidBy(error)}`);
      });
    }
    const known = JSON.parse(readFileSync(fixture, 'utf8')) as Fixture[];
    const unanswered: string[] = [];
    for (const { request, status } of proxy.seen.values()) {
      const same = known.find(
        ({ method, path, query }) =>
          method === request.method && path === request.path && query === request.query,
      );
      if (same === undefined) known.push({ ...request, versions: [version] });
      else if (!same.versions.includes(version)) same.versions.push(version);
      if (status >= 500 || status === 405 || status === 400)
        unanswered.push(`${request.method} ${request.path}?${request.query} ${status}`);
      if (same === undefined && process.env['RECORD_CLIENTS'] === undefined)
        unanswered.push(`not recorded: ${request.method} ${request.path}?${request.query}`);
    }
    if (process.env['RECORD_CLIENTS'] !== undefined) {
      known.sort((one, other) =>
        `${one.path} ${one.method} ${one.query}` < `${other.path} ${other.method} ${other.query}`
          ? -1
          : 1,
      );
      writeFileSync(fixture, `${JSON.stringify(known, null, 2)}\n`);
    }
    assert.deepEqual(unanswered, []);
  });
}
