/** Credentials are known by the marks of their schemas, whatever they are called. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { z } from 'zod';
import { allRoutes } from '@monitor/shared/contract/index.ts';
import { sensitive } from '@monitor/shared/contract/sensitive.ts';
import { type KnownFields, knownFields } from '@monitor/shared/known-fields.ts';
import { mapCredentials } from '../../control-plane/core/decide/credentials.ts';
import { presentFields } from '../../control-plane/core/decide/hidden-values.ts';

/** Names of credentials, as people choose them. */
const suspicious = /passw|passphrase|secret|token|(api|service|raw|private)key/i;
/** Passwords of people are only compared, and stored as hashes; of a test session it is a flag. */
const others = [
  ...['beginMyPasskey.password', 'beginMySecondFactor.password'],
  ...['changeMyPassword.currentPassword', 'changeMyPassword.newPassword'],
  'createTestSession.environmentVariables.secret',
  ...['removeMyPasskey.password', 'removeMySecondFactor.password'],
  'triggerTestSession.environmentVariables.secret',
];

function pathsOf(known: KnownFields, path: string): { path: string; isMarked: boolean }[] {
  const isMarked = known.sensitivity !== null;
  const inner = [
    ...[...known.fields].flatMap(([name, field]) => pathsOf(field, `${path}.${name}`)),
    ...(known.items === null ? [] : pathsOf(known.items, path)),
  ];
  // What stands in a marked whole is hidden with it.
  return [{ path, isMarked }, ...(isMarked ? [] : inner)];
}

test('a field of a body with the name of a credential is marked as one', () => {
  const unmarked = allRoutes.flatMap(({ operationId, body, authentication }) =>
    body === undefined || authentication !== 'apiKey'
      ? []
      : pathsOf(knownFields(body), operationId)
          .filter(
            ({ path, isMarked }) => !isMarked && suspicious.test(path.split('.').at(-1) ?? ''),
          )
          .filter(({ path }) => path.includes('.'))
          .map(({ path }) => path),
  );
  assert.deepEqual([...new Set(unmarked)].sort(), others);
});

test('a marked field is hidden from a role that only reads, under any name and in every depth', () => {
  const pair = z.object({ key: z.string(), value: z.string(), locked: z.boolean() });
  const known = knownFields(
    z.object({
      plain: z.string(),
      anything: sensitive('secret', z.string()).nullable().default(null),
      within: z.array(z.object({ deep: z.union([sensitive('address', z.string()), z.int()]) })),
      place: sensitive('capability', z.string()),
      pairs: z.array(sensitive('pair', pair)),
      hidden: z.array(sensitive('hiddenPair', pair)),
    }),
  );
  const entry = (key: string, locked: boolean) => ({ key, value: 'v', locked });
  const fields = {
    plain: 'a',
    anything: 'b',
    within: [{ deep: 'https://u:p@a.example/?token=c&q=d' }, { deep: 7 }],
    place: 'https://hooks.example/e',
    pairs: [entry('Accept', false), entry('Accept', true), entry('Authorization', false)],
    hidden: [entry('Accept', false)],
    unknown: 'f',
  };
  assert.deepEqual(presentFields(known, fields, 'READ_ONLY'), {
    plain: 'a',
    anything: '',
    within: [{ deep: 'https://a.example/?token=&q=d' }, { deep: 7 }],
    place: 'https://hooks.example/',
    pairs: [
      entry('Accept', false),
      { ...entry('Accept', true), value: '' },
      { ...entry('Authorization', false), value: '' },
    ],
    hidden: [{ ...entry('Accept', false), value: '' }],
    unknown: 'f',
  });
  assert.deepEqual(presentFields(known, fields, 'READ_WRITE'), fields);
  assert.deepEqual(presentFields(known, { anything: null }, 'READ_ONLY'), { anything: null });
});

test('credentials of checks and groups are encrypted, of every type, and nothing else is', () => {
  const pairs = [{ key: 'a', value: 'secret', locked: false }];
  const variable = (locked: boolean, secret: boolean) => ({
    key: 'a',
    value: 'secret',
    locked,
    secret,
  });
  const fields = {
    name: 'name',
    request: {
      ...{ url: 'https://u:p@a.example/', headers: pairs, queryParameters: pairs },
      basicAuth: { username: 'u', password: 'secret' },
      grpcConfig: { metadata: pairs, message: 'text' },
      assertions: [{ source: 'HEADERS', target: 'text' }],
    },
    apiCheckDefaults: { headers: pairs, basicAuth: { username: 'u', password: '' } },
    heartbeat: { period: 1, pingToken: 'secret' },
    environmentVariables: [variable(true, false), variable(false, true), variable(false, false)],
  };
  const count = (text: string) => text.split('"<secret>"').length - 1;
  const map = (value: string) => `<${value}>`;
  const locked = JSON.stringify(mapCredentials(fields, map));
  assert.equal(count(locked), 7);
  assert.equal(count(JSON.stringify(mapCredentials(fields, map, 'encrypted'))), 8);
  // Empty values and all others stay.
  assert.equal(locked.replaceAll('"<secret>"', '"secret"'), JSON.stringify(fields));
});
