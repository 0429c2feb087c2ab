import assert from 'node:assert/strict';
import test from 'node:test';
import { readConfig } from '../../agent/config.ts';

test('the dependency cache is switched on by our words and by that of existing deployments', () => {
  const cacheFor = (text: string | undefined) =>
    readConfig({ environment: { DEPENDENCY_CACHE: text } }).config.DEPENDENCY_CACHE;
  assert.equal(cacheFor(undefined), 'OFF');
  assert.equal(cacheFor('off'), 'OFF');
  assert.equal(cacheFor('on'), 'ON');
  assert.equal(cacheFor('CHECKLY_S3'), 'ON');
  assert.throws(() => cacheFor('S3'), /DEPENDENCY_CACHE must be one of OFF, ON, LOCAL/);
});

test('a proxy whose address is not all that it says is refused, without a piece of its login', () => {
  const read = (text: string) => readConfig({ environment: { HTTPS_PROXY: text } }).config;
  for (const text of [
    'http://u:pa@rt#x@host:3128',
    'http://u:hunt?er2@host:3128',
    'http://u:hunt/er2@host:3128',
    'http://u:hunt@er2@host:3128',
    'http://host:3128/path',
  ]) {
    assert.throws(
      () => read(text),
      ({ message }: Error) =>
        /HTTPS_PROXY must be http:.*%XX/.test(message) && !/pa@rt|hunt/.test(message),
      text,
    );
  }
  for (const text of ['host:3128', 'http://u:p%40ss@host:3128/', 'http://[fd00::1]:3128'])
    assert.ok(read(text).HTTPS_PROXY, text);
});

test('a misspelt setting and an address that nobody gave are warnings of every command that serves', () => {
  const warnings = (environment: Record<string, string>, isLinked = true) =>
    readConfig({ environment, isLinked }).warnings.join('\n');
  assert.match(
    warnings({ CONTROL_PLANE_URI: 'https://cp.example' }),
    /CONTROL_PLANE_URI is not a setting.*did you mean CONTROL_PLANE_URL\?\nCONTROL_PLANE_URL is not set: http:\/\/127\.0\.0\.1:3000 is used/,
  );
  assert.match(warnings({ AGENT_SOMETHING: '1' }), /^AGENT_SOMETHING is not a setting/);
  assert.equal(warnings({ PATH: '/bin', CONTROL_PLANE_URL: 'https://cp.example' }), '');
  assert.match(
    warnings({ CONTROL_PLANE_URL: 'https://u:hunt@cp.example' }),
    /^CONTROL_PLANE_URL has a login, which is not sent: remove it$/,
  );
  assert.match(
    warnings({ CONTROL_PLANE_URL: 'https://cp.example/v1' }),
    /: set https:\/\/cp\.example$/,
  );
  assert.match(
    warnings({ CONTROL_PLANE_URL: 'https://cp.example', NO_PROXY: '.corp,*.corp,127.*,a;b' }),
    /^NO_PROXY has "127\.\*", [^\n]*\nNO_PROXY has "a;b", [^\n]*$/,
  );
  assert.equal(warnings({}, false), '');
});

test('CONTROL_PLANE_URL has one form, without a login, and nothing behind its path', () => {
  const forms = [
    ['https://u:p@CP.example:443/', 'https://cp.example'],
    ['http:///127.0.0.1:3000', 'http://127.0.0.1:3000'],
    [' https://cp.example/monitor// ', 'https://cp.example/monitor'],
    ['http://[FD00::1]:3000', 'http://[fd00::1]:3000'],
  ];
  for (const [CONTROL_PLANE_URL, form] of forms)
    assert.equal(readConfig({ environment: { CONTROL_PLANE_URL } }).config.CONTROL_PLANE_URL, form);
  for (const CONTROL_PLANE_URL of ['https://cp.example?key=x', 'https://cp.example/#x'])
    assert.throws(
      () => readConfig({ environment: { CONTROL_PLANE_URL } }),
      /CONTROL_PLANE_URL must be an address alone, without "\?" and "#".*\(given: "https:\/\/cp\.example\/?[?#]…"\)/,
    );
});

test('a secret that cannot be used is named with its file', () => {
  const given = { environment: { API_KEY_FILE: '/run/key' }, readFile: () => '\n' };
  assert.throws(() => readConfig(given), /API_KEY must not be empty.*from the file \/run\/key/);
});
