import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import {
  describeSettings,
  misspeltSettings,
  readConfig,
} from '../../../control-plane/core/config.ts';
import type { OperatorError } from '../../../control-plane/errors/operator-error.ts';

suite('a setting that nothing could work with is refused at the start', () => {
  for (const [name, value] of [
    ['SMTP_URL', 'smtp://'],
    ['SMTP_URL', 'mail.example:587'],
    ['MAIL_FROM', 'Monitor'],
    ['PUBLIC_URL', 'ftp://monitor.example'],
    ['PUBLIC_URL', 'monitor.example'],
    ['PUBLIC_URL', 'https://monitor.example/?from=mail'],
    ['PUBLIC_URL', 'https://monitor.example/console/#/checks'],
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

test('a variable that resembles a setting which is not set is a warning, and no other is', () => {
  for (const [environment, meant] of [
    [{ REQUEST_PER_MINUTE: '5' }, 'REQUESTS_PER_MINUTE'],
    [{ database_url: 'postgres://' }, 'DATABASE_URL'],
    [{ 'PUBLIC-URL': 'https://a' }, 'PUBLIC_URL'],
    [{ PUBLIC_URI: 'https://a', PUBLIC_URL: 'https://a' }, null],
    [{ PUBLIC_URL: 'https://a', PATH: '/bin', PORTS: '1', HTTP_PROXY: 'http://a' }, null],
    [{ CONTROL_PLANE_API_KEY: 'cu_0', AGENT_DATA_DIR: '/a', LOG_FORMAT: 'json' }, null],
    [{ constructor: '1' }, null],
  ] as const) {
    const said = misspeltSettings(environment);
    if (meant === null) assert.deepEqual(said, []);
    else assert.match(said.join('\n'), new RegExp(`has no effect; did you mean ${meant}\\?$`));
  }
});

test('a provider that answers without TLS must be on this machine', () => {
  const read = (OIDC_ISSUER: string) => readConfig({ OIDC_ISSUER, OIDC_CLIENT_ID: 'monitor' });
  for (const host of ['login.example.com', '10.0.0.1', '127.0.0.1.example.com', '[::2]']) {
    assert.throws(() => read(`http://${host}`), /OIDC_ISSUER: must begin with https:/, host);
    if (host !== '[::2]') read(`https://${host}`);
  }
  for (const host of ['localhost:1', '127.0.0.1', '[::1]']) read(`http://${host}`);
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

suite('with DATABASE_URL', () => {
  const url = 'postgres://monitor:hunter2@db.example:5432/monitor';
  const complete = {
    DATABASE_URL: url,
    ENCRYPTION_KEY: 'k'.repeat(32),
    PUBLIC_URL: 'https://monitor.example',
    ARTIFACTS_S3_BUCKET: 'files',
  };
  const refusal = (environment: Record<string, string | undefined>): string => {
    try {
      readConfig(environment);
    } catch (error) {
      const { message, exitCode } = error as OperatorError;
      assert.equal(exitCode, 2);
      assert.doesNotMatch(message, /hunter2/);
      return message;
    }
    throw new Error('the settings were accepted');
  };

  test('what several replicas need is complete', () => {
    const config = readConfig(complete);
    assert.equal(config.DATABASE_URL, url);
    assert.equal(config.DATABASE_POOL, 10);
    assert.equal(config.DATABASE_NOTIFY, true);
    assert.equal(config.DATABASE_PREPARED, true);
    assert.equal(config.DATABASE_FAILOVER_SECONDS, 60);
    assert.equal(readConfig({ ...complete, DATABASE_NOTIFY: 'off' }).DATABASE_NOTIFY, false);
    const socket = 'postgresql:///monitor?host=/run/postgresql';
    assert.equal(readConfig({ ...complete, DATABASE_URL: socket }).DATABASE_URL, socket);
  });

  for (const [name, wayOut] of [
    ['ENCRYPTION_KEY', /ENCRYPTION_KEY: is needed with DATABASE_URL, .*: set the same/],
    ['PUBLIC_URL', /PUBLIC_URL: is needed with DATABASE_URL: set it to/],
    ['ARTIFACTS_S3_BUCKET', /ARTIFACTS_S3_BUCKET: is needed .*: set it, or set ARTIFACTS_DIR/],
  ] as const) {
    test(`${name} is asked for`, () => {
      assert.match(refusal({ ...complete, [name]: undefined }), wayOut);
    });
  }

  test('a folder serves only when it is said to be shared', () => {
    const folder = { ...complete, ARTIFACTS_S3_BUCKET: undefined, ARTIFACTS_DIR: '/mnt/files' };
    assert.match(refusal(folder), /ARTIFACTS_SHARED to true/);
    assert.equal(readConfig({ ...folder, ARTIFACTS_SHARED: 'true' }).ARTIFACTS_SHARED, true);
  });

  test('two databases at once are refused, also when the file is the default', () => {
    assert.match(
      refusal({ ...complete, DATABASE_FILE: '.data/control-plane.db' }),
      /DATABASE_FILE: cannot be used together with DATABASE_URL: unset one of them, or .*move/,
    );
  });

  test('a URL of no PostgreSQL, and one without a host, is not printed', () => {
    assert.match(
      refusal({ ...complete, DATABASE_URL: 'mysql://u:hunter2@h/d' }),
      /DATABASE_URL: must be a URL such as postgres:[^\n]*$/,
    );
    assert.match(
      refusal({ ...complete, DATABASE_URL: `${url}?sslmode=prefer` }),
      /DATABASE_URL: must say sslmode as disable, require, verify-ca, verify-full, or nothing/,
    );
    assert.match(
      refusal({ ...complete, DATABASE_URL: `${url}?sslmode=verify-ca` }),
      /DATABASE_URL: must name the file of the authority for sslmode=verify-ca: add sslroot/,
    );
    assert.match(
      refusal({ ...complete, DATABASE_READ_URL: 'postgres:///hunter2' }),
      /DATABASE_READ_URL: must name a host/,
    );
  });

  test('settings of replicas mean nothing without it', () => {
    assert.match(
      refusal({ DATABASE_LISTEN_URL: url }),
      /DATABASE_LISTEN_URL: needs DATABASE_URL: set that too/,
    );
  });
});
