import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { readConfig } from '../../../../agent/config.ts';
import { judgePolicy, judgeSettings } from '../../../../agent/doctor/steps/settings.ts';
import { locationKey as key } from '../../../support/fake-control-plane.ts';
import { makeSigningKey } from '../../../support/signing.ts';
import { temporaryFolder } from '../../../support/system.ts';

function judged(
  given: Record<string, string>,
  files: Record<string, string> = {},
  exposedBecause: string | null = null,
) {
  const environment = { CONTROL_PLANE_URL: 'https://cp.example', ...given };
  const read = (path: string): string => files[path] ?? '';
  const { config, warnings } = readConfig({ environment, readFile: read });
  return judgeSettings({ environment, config, warnings, read, exposedBecause });
}

test('what cannot be meant so is named, with what to do', () => {
  const rows: [Record<string, string>, 'warn' | 'fail', RegExp][] = [
    [{ API_KEY: `"${key}"` }, 'fail', /quotes.*docker/],
    [{ API_KEY: 'cu_0123' }, 'fail', /a key of the API/],
    [{ API_KEY: 'pl_…4f2a' }, 'fail', /masked key/],
    [{ API_KEY: key.slice(0, -1) }, 'fail', /66 characters/],
    [{ API_KEY: '${KEY}' }, 'fail', /nobody has replaced/],
    [{ API_KEY: '<your key>' }, 'fail', /placeholder/],
    [{ API_KEY: 'pl_0123 456789' }, 'fail', /white space in it/],
    [{ AGENT_DATA_DIR: '/data ' }, 'warn', /AGENT_DATA_DIR begins or ends with white space/],
    [{ AGENT_CHROMIUM_PATH: '"/usr/bin/chromium"' }, 'warn', /AGENT_CHROMIUM_PATH has quotes/],
    [{ HTTPS_PROXY: 'http://a:1', https_proxy: 'http://b:1' }, 'warn', /uses https_proxy/],
    [{ AGENT_KEY: 'x' }, 'warn', /AGENT_KEY is not a setting/],
    [{ CONTROL_PLANE_URL: '' }, 'warn', /not set: http:\/\/127\.0\.0\.1:3000 is used.*set it if/],
    [{ MONITOR_API_KEY: 'x' }, 'warn', /did you mean API_KEY/],
    [{ LOG_LEVLE: 'DEBUG' }, 'warn', /did you mean LOG_LEVEL/],
    [{ api_key: 'x' }, 'warn', /did you mean API_KEY/],
    [{ CONTROL_PLANE_URL: 'http://cp.example' }, 'warn', /unencrypted/],
    [
      { CONTROL_PLANE_URL: 'https://cp.example/v1' },
      'warn',
      /ends with \/v1.*set https:\/\/cp\.example/,
    ],
    [
      { CONTROL_PLANE_URL: 'https://u:s3cret@cp.example' },
      'warn',
      /has a login, which is not sent/,
    ],
    [{ NO_PROXY: '10.*, cp.example' }, 'warn', /NO_PROXY has "10\.\*", which no host can match/],
    [
      { CONTROL_PLANE_URL: 'http://localhost:1', HTTPS_PROXY: 'http://a:1' },
      'warn',
      /proxy is not used/,
    ],
    [{ AGENT_WORK_DIR: '/w', AGENT_DATA_DIR: '/w/data' }, 'fail', /content is deleted/],
    [{ NODE_TLS_REJECT_UNAUTHORIZED: '0' }, 'warn', /NODE_EXTRA_CA_CERTS/],
    [{ PROBE_CONFIG_FILE: '/p' }, 'warn', /PROBE_ENDPOINT=on/],
    [{ LLM_API_KEY: 'sk-0123' }, 'warn', /LLM_MODEL/],
  ];
  for (const [environment, verdict, words] of rows) {
    const findings = judged(environment);
    const found = findings.find((one) => words.test(`${one.evidence} -> ${one.fix ?? ''}`));
    assert.equal(found?.verdict, verdict, JSON.stringify([environment, findings]));
    assert.doesNotMatch(JSON.stringify(findings), /0123|s3cret/);
  }
});

test('a key file may end with a line break, and with nothing else', () => {
  const given = { API_KEY_FILE: '/run/key' };
  assert.equal(judged(given, { '/run/key': `${key}\n` })[0]?.verdict, 'ok');
  const [twoLines] = judged(given, { '/run/key': `${key}\n${key}\n` });
  assert.match(twoLines?.evidence ?? '', /from the file \/run\/key\) has more than one line/);
});

test('secrets that cannot be taken out of the environment are named, with the way out', () => {
  const given = { API_KEY: key, https_proxy: 'http://user:s3cret@proxy:1' };
  const [found] = judged(given, {}, 'the package cannot be loaded');
  assert.equal(found?.verdict, 'warn');
  assert.match(found.evidence, /API_KEY, https_proxy in \/proc\/PID\/environ.*cannot be loaded$/);
  assert.match(found.fix ?? '', /^give API_KEY_FILE, HTTPS_PROXY_FILE instead/);
  assert.equal(judged(given)[0]?.verdict, 'ok');
  const file = judged({ API_KEY_FILE: '/key' }, { '/key': key }, 'no package');
  assert.equal(file[0]?.verdict, 'ok');
});

test('valid settings are listed by name, and variables of other programs are ignored', () => {
  const findings = judged({ API_KEY: key, PATH: '/bin', HOSTNAME: 'x', LOGNAME: 'y' });
  assert.deepEqual(
    findings.map(({ verdict, evidence }) => [verdict, evidence]),
    [['ok', 'API_KEY, CONTROL_PLANE_URL given']],
  );
});

test('two changes make a misspelling, three another word', () => {
  const meant = (name: string) =>
    /did you mean (\w+)/.exec(JSON.stringify(judged({ [name]: 'DEBUG' })))?.[1];
  assert.equal(meant('LOG_LEVLE'), 'LOG_LEVEL');
  assert.equal(meant('LOGLEVEL'), 'LOG_LEVEL');
  assert.equal(meant('LOG_FILES'), undefined);
});

test('doctor says whether the policy for signed work is read, and whose keys are in it', async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, 'policy.yaml');
  const keys = ['anna', 'ben'].map((name) => ({
    name,
    key: makeSigningKey(folder.path).publicKey,
  }));
  writeFileSync(file, JSON.stringify({ keys }));
  const said = async () =>
    (await judgePolicy(file)).map(({ verdict, evidence }) => [verdict, evidence]);
  assert.deepEqual(await said(), [
    ['ok', 'only work runs that one of these keys signed (2): anna, ben'],
  ]);
  rmSync(file);
  assert.match(
    String((await said())[0]),
    /^fail,the policy .* cannot be read, so that all work is refused: ENOENT/,
  );
  assert.deepEqual(await judgePolicy(undefined), []);
});
