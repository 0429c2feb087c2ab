/**
 * The command line that teams bring, as npm has it, against a control plane and an agent: no shim between. Every
 * command that the version has is here, or is named with where it is tried. A line that a wrong answer has too shows
 * nothing: each looks for what was put in.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { clientVersions, installClient } from '../support/published-client.ts';
import { tokenOf } from '../support/people.ts';
import { eventually, openTarget, System, temporaryFolder } from '../support/system.ts';

/** They ask no server, or only a person at a terminal. */
const ofTheClient = new Set([
  ...['authCommand', 'baseCommand', 'help', 'init', 'login', 'rules', 'skills', 'skills install'],
  ...['sync-playwright', 'logout', 'debug parse-file', 'debug parse-playwright-config'],
  'debug parse-project',
]);
/** Tried in `existing-clients-deploy.test.ts` and `existing-clients-tests.test.ts`. */
const ofProjects = new Set([
  ...['deploy', 'destroy', 'validate', 'import plan', 'import apply', 'import commit'],
  ...['import cancel', 'test', 'pw-test', 'trigger', 'test-sessions get', 'test-sessions list'],
]);

type Step = [command: string, code: number, ...shows: RegExp[]];

for (const version of clientVersions) {
  test(`every command of checkly ${version} that reads and changes what is there answers rightly`, async (it) => {
    using folder = temporaryFolder();
    await using target = await openTarget();
    await using system = await System.start(folder.path);
    const key = await system.makeLocation('office');
    await using agent = system.startAgent('office', key);
    await agent.log('checked in');
    const often = { privateLocations: ['office'], frequency: 0, frequencyOffset: 10 };
    const made = (path: string, body: object) => system.api<{ id: string }>('POST', path, body);
    const shop = await made('/v1/checks/url', {
      ...{ ...often, name: 'shop', tags: ['web'] },
      request: { url: `${target.url}/ok` },
    });
    const mail = await made('/v1/checks/tcp', {
      ...{ ...often, name: 'mail', retryStrategy: 'FALLBACK' },
      request: { hostname: '127.0.0.1', port: 1 },
    });
    const orders = await made('/v1/checks/api', {
      ...{ ...often, name: 'orders', tags: ['api'], doubleCheck: false },
      request: { method: 'GET', url: `${target.url}/bad` },
    });
    const channel = await made('/v1/alert-channels', {
      ...{ type: 'EMAIL', config: { address: 'ada@example.com' } },
    });
    const hook = await made('/v1/alert-channels', {
      ...{ type: 'WEBHOOK', subscriptions: [{ checkId: mail.id, activated: true }] },
      config: { name: 'hook', url: `${target.url}/hook`, method: 'POST' },
    });
    const service = await made('/v1/status-pages/services', { name: 'Checkout' });
    const page = await made('/v1/status-pages', {
      ...{ name: 'Page', url: 'page-of-shop' },
      cards: [{ name: 'Card', services: [{ id: service.id }] }],
    });
    const { link } = await system.api<{ link: string }>('POST', '/v1/invitations', {
      ...{ email: 'ben@example.com', role: 'READ_ONLY' },
    });
    const joined = await fetch(`${system.baseUrl}/console/session/link/accept`, {
      method: 'POST',
      headers: { 'x-console': '1', 'content-type': 'application/json' },
      body: JSON.stringify({
        ...{ token: tokenOf(link), name: 'Ben', password: 'nine green bottles hang here' },
      }),
    });
    assert.ok(joined.ok, await joined.text());
    await made('/v1/invitations', { email: 'eve@example.com', role: 'READ_ONLY' });
    let results: { id: string; errorGroupIds: string[] }[] = [];
    const hasResults = async () => {
      results = await system.api('GET', `/v1/check-results/${mail.id}?limit=1`);
      const others = await Promise.all(
        [shop, orders].map(({ id }) =>
          system.api<unknown[]>('GET', `/v1/check-results/${id}?limit=1`),
        ),
      );
      return results.length > 0 && others.every(({ length }) => length > 0);
    };
    await eventually(hasResults, () => 'results of the checks');
    const result = results[0]?.id ?? '';
    const group = results[0]?.errorGroupIds[0] ?? '';
    const nothing = '00000000-0000-4000-8000-000000000000';
    const client = await installClient(folder.path, version, system);
    const refused = /the connection was refused: 127\.0\.0\.1:1 \(ECONNREFUSED\)/;
    const ofResult = `--check-id ${mail.id} --result-id ${result}`;
    const steps: Step[] = [
      ['whoami', 0, new RegExp(`\\(${system.accountId}\\) as system\\.`)],
      ['switch --account-id ' + system.accountId, 0, /Account switched to/],
      ['runtimes', 0, /"name": "2025\.04"/, /"@playwright\/test": "1\.51\.1"/],
      ['account plan', 0, /Variables of a check +50 /, /Locations: 0 of 22 available/],
      ['account plan CHECK_VARIABLES', 0, /Limit: +50\n/],
      ['members', 0, /^member +ben@example\.com +Ben +READ_ONLY +ACTIVE /m],
      ['members --type invite', 0, /eve@example\.com/],
      ['members update ben@example.com --role READ_WRITE --force', 0, /ben@example\.com/],
      ['members --search ben --output json', 0, /"role": "READ_WRITE"/],
      ['members delete ben@example.com --force', 0, /ben@example\.com/],
      ['members --type member', 0, /No account members found/],
      ['env add LOGIN ada', 0, /"LOGIN" added/],
      ['env add PIN 1234 --secret', 0, /Secret environment variable "PIN" added/],
      ['env ls', 0, /^LOGIN=ada$/m, /^PIN=$/m],
      ['env update LOGIN ben', 0, /"LOGIN" updated/],
      ['env pull pulled.env --force', 0, /written to pulled\.env/],
      ['env rm LOGIN --force', 0, /"LOGIN" deleted/],
      ['env rm LOGIN --force', 1, /"LOGIN" does not exist/],
      ['checks list', 0, /^shop +URL +passing /m, /^mail +TCP +failing /m],
      ['checks list --tag web --output json', 0, /"total": 1,/, /"lastRunLocation": "office"/],
      [
        'checks list --search mail --type TCP',
        0,
        /^mail +TCP +failing [^]*Showing 1-1 of 1 checks/m,
      ],
      ['checks list --search zebra', 0, /No checks matching: search="zebra"/],
      [
        `checks get ${shop.id}`,
        ...[0, /Status: +passing\n/, /Availability: +100\.00%/, /s ago +office +passing +\d+ms/],
      ] as Step,
      [
        `checks get ${mail.id}`,
        ...[0, /Status: +failing\n/, /s ago +office +failing +\d+ms/, new RegExp(group)],
      ] as Step,
      [`checks get ${mail.id} --result ${result}`, 0, /URL: +127.0.0.1:1\n/, refused],
      [
        `checks get ${mail.id} --result ${result} --include-attempts`,
        0,
        /FINAL\) ‹ +failing +office/,
      ],
      [`checks get ${mail.id} --error-group ${group}`, 0, /FULL ERROR\n/, refused],
      [`checks get ${orders.id} --group-by location`, 0, / {2}office\n +Availability: +0\.00%/],
      [`checks get ${nothing}`, 1, /check 00000000\S+ does not exist/],
      ['checks stats', 0, /^shop +URL +passing +100\.00% +\d+\.\d+s/m],
      [`checks stats ${orders.id} --range last7Days`, 0, /^orders +API +failing +0\.00% +\d/m],
      [`checks run --check-id ${shop.id}`, 0, /^passed +shop +URL +office +\d+ms/m],
      ['checks run --tags api', 1, /^failed +orders +API +office +\d+ms/m],
      ['checks run --tags none', 1, /No matching checks were found/],
      [`assets list ${ofResult}`, 0, /^log +traceroute\.txt/m, /^pcap +capture\.pcap/m],
      [
        `assets download ${ofResult} --type all --dir files --force`,
        0,
        /2 assets processed \(2 dow/,
      ],
      ['status-pages list', 0, /^Page +page-of-shop +Card +Checkout +\S{36}/m],
      [`status-pages get ${page.id}`, 0, /^Card +Checkout +\S{36}/m],
      ['incidents list', 0, /No incidents/],
      [
        `incidents create --status-page-id ${page.id} --title down --severity major --message broken --force`,
        ...[0, /^Severity: +major$/m, /^Checkout +\S{36}$/m, /^Message: broken$/m],
      ] as Step,
      ['incidents list --status open', 0, /^down +major +investigating +1 /m],
      [
        'incidents update {incident} --message found --status identified --force',
        0,
        /Status: +identified/,
      ],
      ['incidents resolve {incident} --message done --force', 0, /Incident Resolved\n/],
      ['incidents list --status resolved', 0, /^down +major +resolved +1 /m],
      [
        'alert-channels list',
        0,
        /^email +ada@example\.com +ada@\S+ +0 /m,
        /^webhook +hook +hook +1 /m,
      ],
      [`alert-channels get ${channel.id}`, 0, /Target: +ada@example\.com\n/],
      [`alert-channels logs ${hook.id}`, 0, new RegExp(`webhook +${mail.id.slice(0, 8)}`)],
      ['api /v1/private-locations', 0, /"slugName":"office"/],
      ['api /v1/checks --jq .[].name', 0, /"orders"\n"mail"\n"shop"/],
      [`rca run --error-group ${group}`, 0, /Root cause analysis triggered/],
      [`rca get ${nothing}`, 1, /root cause analysis 00000000\S+ does not exist/],
      // Nothing is metered here: there is no contract to tell of.
      ...['summary', 'terms', 'series'].map((part): Step => [
        `account usage ${part}`,
        ...([1, new RegExp(`there is nothing at GET /v1/usage/${part}`)] as const),
      ]),
      [`checks delete ${shop.id} --dry-run`, 0, /Delete check \\"shop\\" \(URL\)/],
      [`checks delete ${shop.id} --force`, 0, /shop/],
      [`checks delete ${shop.id} --force`, 1, /not found/],
    ];
    const has = (command: string): boolean =>
      client.commands.some((each) => command.startsWith(each));
    const wrong: string[] = [];
    let incident = '';
    for (const [given, code, ...shows] of steps) {
      if (!has(given)) continue;
      const command = given.replace('{incident}', incident);
      const ended = await client.end(command);
      incident = /checkly incidents resolve (\S{36})/.exec(ended.text)?.[1] ?? incident;
      const isRight = ended.code === code && shows.every((each) => each.test(ended.text));
      const line = ended.text.split('\n').find((each) => shows[0]?.test(`${each}\n`)) ?? '';
      it.diagnostic(`${isRight ? 'right' : 'WRONG'} ${ended.code} ${given}: ${line.trim()}`);
      if (!isRight) wrong.push(`${command} ended with ${ended.code}:\n${ended.text}`);
    }
    assert.deepEqual(wrong, []);
    assert.match(readFileSync(join(folder.path, 'pulled.env'), 'utf8'), /^LOGIN=ben$/m);
    assert.match(
      readFileSync(join(folder.path, 'files', 'traceroute.txt'), 'utf8'),
      /connection refused/,
    );
    const untried = client.commands.filter(
      (each) =>
        !ofTheClient.has(each) &&
        !ofProjects.has(each) &&
        !steps.some(([command]) => command === each || command.startsWith(`${each} `)),
    );
    assert.deepEqual(untried, []);
  });
}
