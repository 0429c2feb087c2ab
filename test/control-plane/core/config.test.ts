import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { describeSettings, readConfig } from '../../../control-plane/core/config.ts';

suite('a setting that nothing could work with is refused at the start', () => {
  for (const [name, value] of [
    ['SMTP_URL', 'smtp://'],
    ['SMTP_URL', 'mail.example:587'],
    ['MAIL_FROM', 'Monitor'],
    ['PUBLIC_URL', 'ftp://monitor.example'],
    ['PUBLIC_URL', 'monitor.example'],
    ['PHONE_API_URL', 'ftp://phone.example'],
    ['PAGERDUTY_EVENTS_URL', 'javascript:alert(1)'],
    ['OPSGENIE_API_URL', 'file:///etc/passwd'],
  ] as const) {
    test(`${name}=${value}`, () => {
      assert.throws(
        () => readConfig({ [name]: value }),
        new RegExp(`${name}: must be .* such as `),
      );
    });
  }

  test('half of what text messages need, by the names of what is missing', () => {
    assert.throws(
      () => readConfig({ PHONE_ACCOUNT_SID: 'AC1', PHONE_AUTH_TOKEN: 'very secret' }),
      ({ message }: Error) =>
        /\n {2}PHONE_FROM_NUMBER: is needed .*together$/.test(message) && !message.includes('very'),
    );
  });
});

test('settings that work are taken', () => {
  const settings = {
    SMTP_URL: 'smtp://monitor:p%2Fw@[::1]:587/?requireTLS=true',
    MAIL_FROM: 'monitor@example.com',
    PUBLIC_URL: 'http://monitor:3000/base',
    PAGERDUTY_EVENTS_URL: 'http://127.0.0.1:1/',
    PHONE_API_URL: 'http://localhost:4010',
    PHONE_ACCOUNT_SID: 'AC1',
    PHONE_AUTH_TOKEN: 'x',
    PHONE_FROM_NUMBER: '+15005550006',
  };
  const config: Record<string, unknown> = readConfig(settings);
  for (const [name, value] of Object.entries(settings)) assert.equal(config[name], value);
  for (const { name, default: value } of describeSettings()) {
    if (value !== '') readConfig({ [name]: value });
  }
});

test('single results are not kept longer than the sums they are part of', () => {
  assert.throws(
    () => readConfig({ RESULT_RETENTION_DAYS: '500' }),
    /RESULT_RETENTION_DAYS: must not be above ANALYTICS_RETENTION_DAYS, which is 400 \(given: 500\)/,
  );
  assert.equal(
    readConfig({ RESULT_RETENTION_DAYS: '500', ANALYTICS_RETENTION_DAYS: '500' })
      .RESULT_RETENTION_DAYS,
    500,
  );
});

test('trusted proxies are addresses and networks', () => {
  assert.deepEqual(readConfig({ TRUSTED_PROXIES: '10.0.0.0/8, ::1' }).TRUSTED_PROXIES, [
    '10.0.0.0/8',
    '::1',
  ]);
  assert.throws(() => readConfig({ TRUSTED_PROXIES: 'proxy' }), /TRUSTED_PROXIES: "proxy" must be/);
});

test('a number that is none, and one beyond its bounds, is named in plain words', () => {
  assert.throws(() => readConfig({ PORT: 'abc' }), /\n {2}PORT: must be a number \(given: abc\)$/);
  assert.throws(
    () => readConfig({ PORT: '99999' }),
    /\n {2}PORT: must be at most 65535 \(given: 99999\)$/,
  );
});
