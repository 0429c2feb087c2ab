/** The table of causes, a minute a row: what ran, and the class and place that must be named. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { diagnose, causeClasses } from '../../../control-plane/root-causes/decide/diagnose.ts';
import type { LocationFacts, RunFacts } from '../../../control-plane/root-causes/decide/facts.ts';

const at = Date.parse('2026-11-29T03:12:00Z');

/** `berlin db:5432` is a pass; further fields make it another run. */
function run(where: string, further: Partial<RunFacts> = {}): RunFacts {
  const [location = '', target = ''] = where.split(' ');
  const [host = '', port] = target.split(':');
  return {
    ...{ checkId: target, checkName: target, checkType: 'TCP', resultId: where, location },
    ...{ startedAt: at, since: at, host, port: port === undefined ? null : Number(port) },
    ...{ address: `10.${host.length}.${host.charCodeAt(0)}.7`, text: null, phase: null },
    ...{ isProxied: false, status: null, path: null, times: {}, lastPass: null, issuer: null },
    ...{ validTo: null, broken: null, answer: null, script: null, isStrained: false },
    ...{ isReadable: true, code: null },
    ...further,
    outcome: further.outcome ?? (Object.keys(further).length > 0 ? 'failing' : 'passing'),
  };
}

const failed = (where: string, code: string, further: Partial<RunFacts> = {}): RunFacts =>
  run(where, { code, text: `it failed: ${where} (${code})`, ...further });
const silent = (where: string, further: Partial<RunFacts> = {}): RunFacts =>
  failed(where, 'SOCKET_TIMEOUT', { phase: 'connect', ...further });
const broken = (where: string, code: string, text = ''): RunFacts =>
  failed(where, code, { outcome: 'error', text });
const ending = (...addresses: (string | null)[]): Pick<RunFacts, 'path'> => ({
  path: {
    isReached: false,
    hops: addresses.map((address, index) => ({ hop: index + 1, address, note: null })),
  },
});
const status = (where: string, code: number): RunFacts => run(where, { status: code });
const slow = (where: string, ms: RunFacts['times'], before: RunFacts['times']): RunFacts =>
  run(where, {
    times: ms,
    lastPass: { at: at - 60_000, address: null, times: before },
    outcome: 'degraded',
  });
const passedBefore = { lastPass: { at: at - 600_000, address: null, times: {} } };
const passes = (...wheres: string[]): RunFacts[] => wheres.map((where) => run(where));

interface Row {
  name: string;
  runs: RunFacts[];
  /** `class @ place` of every finding; `?` for not enough to tell. */
  says: string[];
  locations?: LocationFacts[];
  changed?: string[];
}

const rows: Row[] = [
  {
    name: 'a refused connection, seen by all',
    runs: [
      failed('berlin db.a.test:5432', 'ECONNREFUSED'),
      failed('rome db.a.test:5432', 'ECONNREFUSED'),
    ],
    says: ['process-down @ db.a.test:5432'],
  },
  {
    name: 'a refused connection beside a passing neighbour',
    runs: [failed('berlin db.a.test:5432', 'ECONNREFUSED'), ...passes('berlin web.b.test:443')],
    says: ['process-down @ db.a.test:5432'],
  },
  {
    name: 'a refusal that one location alone gets is not the process',
    runs: [
      failed('berlin db.a.test:5432', 'ECONNREFUSED'),
      ...passes('rome db.a.test:5432', 'berlin w.b.test:1'),
    ],
    says: ['port-filtered @ db.a.test:5432 for berlin'],
  },
  {
    name: 'a silent port of a host that answers',
    runs: [
      silent('berlin db.a.test:5432'),
      silent('rome db.a.test:5432'),
      ...passes('berlin db.a.test:22', 'rome db.a.test:22'),
    ],
    says: ['port-filtered @ db.a.test:5432'],
  },
  {
    name: 'a host whose ports are all silent, beside others that answer',
    runs: [
      silent('berlin db.a.test:5432'),
      silent('berlin db.a.test:22'),
      silent('rome db.a.test:22'),
      silent('rome db.a.test:5432'),
      ...passes('berlin w.b.test:1', 'rome w.b.test:1'),
    ],
    says: ['host-down @ db.a.test'],
  },
  {
    name: 'one silent port and nothing else of the host',
    runs: [
      silent('berlin db.a.test:5432'),
      silent('rome db.a.test:5432'),
      ...passes('berlin w.b.test:1', 'rome w.b.test:1'),
    ],
    says: ['?', '?'],
  },
  {
    name: 'one silent port and nothing else at all',
    runs: [silent('berlin db.a.test:5432')],
    says: ['?'],
  },
  {
    name: 'ways of several targets that end at one hop',
    runs: [
      silent('berlin x.a.test:1', ending('10.0.0.1', '10.2.0.1', null)),
      silent('berlin y.b.test:1', {
        address: '10.77.1.1',
        ...ending('10.0.0.1', '10.2.0.1', null),
      }),
      ...passes('berlin z.c.test:1'),
    ],
    says: ['network-hop @ 10.2.0.1'],
  },
  {
    name: 'two hosts that are down behind a router behind which others answer',
    runs: [
      silent('berlin 10.9.1.4:1', { address: '10.9.1.4', ...ending('10.0.0.1', '10.2.0.1', null) }),
      silent('berlin 10.9.1.5:1', { address: '10.9.1.5', ...ending('10.0.0.1', '10.2.0.1', null) }),
      run('berlin 10.9.1.6:1', { address: '10.9.1.6', outcome: 'passing' }),
    ],
    says: ['?', '?'],
  },
  {
    name: 'nothing answers one location, all of it answers others',
    runs: [
      ...['x.a.test:1', 'y.b.test:1', 'z.c.test:1'].map((each) => silent(`berlin ${each}`)),
      ...passes('rome x.a.test:1', 'rome y.b.test:1', 'rome z.c.test:1'),
    ],
    says: ['location-link @ berlin'],
  },
  {
    name: 'everything is silent at the only location',
    runs: ['x.a.test:1', 'y.b.test:1', 'z.c.test:1'].map((each) => silent(`berlin ${each}`)),
    says: ['?', '?', '?'],
  },
  {
    name: 'a dead gateway hides no target that is down for others too',
    runs: [
      broken(
        'berlin db.a.test:1',
        'NETWORK_UNAVAILABLE',
        'this machine could not reach out: its gateway 10.0.0.1 on eth0 answers no ARP request',
      ),
      failed('rome db.a.test:1', 'ECONNREFUSED'),
      failed('paris db.a.test:1', 'ECONNREFUSED'),
    ],
    says: ['process-down @ db.a.test:1', 'location-link @ gateway 10.0.0.1 in berlin'],
  },
  {
    name: 'a resolver that answers nothing',
    runs: [
      broken(
        'berlin x.a.test:1',
        'RESOLVER_UNAVAILABLE',
        'no resolver answered; nothing gets to the resolver 10.0.0.53, since',
      ),
      ...passes('rome x.a.test:1'),
    ],
    says: ['resolver-silent @ the resolver 10.0.0.53 in berlin'],
  },
  {
    name: 'a resolver that knows no name',
    runs: [
      ...['x.a.test:1', 'y.b.test:1'].map((each) =>
        failed(`berlin ${each}`, 'ENOTFOUND', { address: null }),
      ),
      ...passes('rome x.a.test:1', 'rome y.b.test:1'),
    ],
    says: ['resolver-wrong @ resolver of berlin'],
  },
  {
    name: 'a resolver that gives one address for all',
    runs: [
      ...['x.a.test:1', 'y.b.test:1'].map((each) =>
        failed(`berlin ${each}`, 'ECONNREFUSED', { address: '10.66.6.6' }),
      ),
      ...passes('rome x.a.test:1', 'rome y.b.test:1'),
    ],
    says: ['resolver-wrong @ resolver of berlin'],
  },
  {
    name: 'a slow resolver',
    runs: [
      ...['x.a.test:1', 'y.b.test:1'].map((each) =>
        slow(`berlin ${each}`, { dns: 2_900, answer: 20 }, { dns: 4, answer: 20 }),
      ),
      ...passes('rome x.a.test:1', 'rome y.b.test:1'),
    ],
    says: ['resolver-slow @ resolver of berlin'],
  },
  {
    name: 'a name that no location finds',
    runs: [
      ...['berlin', 'rome'].map((each) =>
        failed(`${each} x.a.test:1`, 'ENOTFOUND', { address: null }),
      ),
      ...passes('berlin y.b.test:1', 'rome y.b.test:1'),
    ],
    says: ['domain @ a.test'],
  },
  {
    name: 'a record that is missing in a domain that is there',
    runs: [
      ...['berlin', 'rome'].map((each) =>
        failed(`${each} x.a.test:1`, 'ENOTFOUND', { address: null }),
      ),
      ...passes('berlin y.a.test:1', 'rome y.a.test:1', 'berlin z.b.test:1'),
    ],
    says: ['record @ x.a.test'],
  },
  {
    name: 'name servers that fail',
    runs: [
      ...['berlin', 'rome'].map((each) =>
        failed(`${each} x.a.test:1`, 'ESERVFAIL', { address: null }),
      ),
      ...passes('berlin y.b.test:1', 'rome y.b.test:1'),
    ],
    says: ['name-servers @ a.test'],
  },
  {
    name: 'another address than at the last pass, where nobody answers',
    runs: ['berlin', 'rome'].map((each) =>
      silent(`${each} x.a.test:1`, {
        address: '10.8.8.8',
        lastPass: { at: at - 60_000, address: '10.1.1.1', times: {} },
      }),
    ),
    says: ['record @ x.a.test'],
  },
  ...(
    [
      ['CERT_HAS_EXPIRED', 'certificate-expired'],
      ['ERR_TLS_CERT_ALTNAME_INVALID', 'certificate-name'],
      ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'certificate-chain'],
      ['DEPTH_ZERO_SELF_SIGNED_CERT', 'certificate-authority'],
      ['CERT_NOT_YET_VALID', 'certificate-early'],
    ] as const
  ).map(([code, name]) => ({
    name: `a certificate: ${code}`,
    runs: ['berlin', 'rome'].map((each) => failed(`${each} x.a.test:443`, code)),
    says: [`${name} @ x.a.test:443`],
  })),
  {
    name: 'certificates that only one location finds expired',
    runs: [
      ...['x.a.test:443', 'y.b.test:443'].map((each) =>
        failed(`berlin ${each}`, 'CERT_HAS_EXPIRED'),
      ),
      ...passes('rome x.a.test:443', 'rome y.b.test:443'),
    ],
    says: ['agent-clock @ berlin'],
  },
  {
    name: 'a proxy that puts its own certificate in front of all',
    runs: [
      ...['x.a.test:443', 'y.b.test:443'].map((each) =>
        failed(`berlin ${each}`, 'SELF_SIGNED_CERT_IN_CHAIN'),
      ),
      ...passes('rome x.a.test:443', 'rome y.b.test:443'),
    ],
    says: ['proxy @ a proxy in berlin'],
  },
  {
    name: 'a portal that answers for all',
    runs: [
      status('berlin x.a.test:80', 511),
      status('berlin y.b.test:80', 511),
      ...passes('rome x.a.test:80', 'rome y.b.test:80'),
    ],
    says: ['proxy @ a proxy in berlin'],
  },
  {
    name: 'a proxy that does not answer',
    runs: [
      broken(
        'berlin x.a.test:80',
        'NETWORK_UNAVAILABLE',
        'the proxy of the location, proxy.test:3128, is gone; check the proxy',
      ),
    ],
    says: ['proxy @ the proxy proxy.test:3128 in berlin'],
  },
  {
    name: 'no TLS version in common',
    runs: ['berlin', 'rome'].map((each) =>
      failed(`${each} x.a.test:443`, 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION'),
    ),
    says: ['tls-version @ x.a.test:443'],
  },
  ...(
    [
      [503, 'http-dependency'],
      [500, 'http-server'],
      [429, 'http-rate-limit'],
      [403, 'http-refused'],
      [404, 'http-missing'],
    ] as const
  ).map(([code, name]) => ({
    name: `status ${code}`,
    runs: ['berlin', 'rome'].map((each) => status(`${each} x.a.test:80`, code)),
    says: [`${name} @ x.a.test`],
  })),
  {
    name: 'a slow answer',
    runs: ['berlin', 'rome'].map((each) =>
      slow(
        `${each} x.a.test:80`,
        { dns: 3, connect: 4, answer: 4_000 },
        { dns: 3, connect: 4, answer: 80 },
      ),
    ),
    says: ['slow @ x.a.test'],
  },
  {
    name: 'a slow run of a location that has no time',
    runs: [
      slow('berlin x.a.test:80', { answer: 4_000 }, { answer: 80 }),
      ...passes('rome x.a.test:80'),
    ],
    locations: [{ location: 'berlin', overload: { since: at, reason: 'no CPU' } }],
    says: ['agent-overloaded @ berlin'],
  },
  {
    name: 'an overloaded location does not hide a server that fails',
    runs: ['berlin', 'rome'].map((each) => status(`${each} x.a.test:80`, 500)),
    locations: [{ location: 'berlin', overload: { since: at, reason: 'no CPU' } }],
    says: ['http-server @ x.a.test'],
  },
  {
    name: 'other content',
    runs: ['berlin', 'rome'].map((each) =>
      run(`${each} x.a.test:80`, {
        status: 200,
        broken: { source: 'TEXT_BODY', text: 'expected "Shop"' },
      }),
    ),
    says: ['content @ x.a.test'],
  },
  {
    name: 'other content after a change of the check',
    runs: [
      run('berlin x.a.test:80', {
        ...passedBefore,
        status: 200,
        broken: { source: 'TEXT_BODY', text: 'expected "Shop"' },
      }),
    ],
    changed: ['x.a.test:80'],
    says: ['check-changed @ x.a.test:80'],
  },
  {
    name: 'a host that fails for other checks too is not a change of the check',
    runs: [
      ...['berlin', 'rome'].flatMap((each) => [
        failed(`${each} x.a.test:80`, 'ECONNREFUSED', passedBefore),
        failed(`${each} x.a.test:81`, 'ECONNREFUSED'),
      ]),
    ],
    changed: ['x.a.test:80'],
    says: ['process-down @ x.a.test:80', 'process-down @ x.a.test:81'],
  },
  {
    name: 'a page that a script does not know any more',
    runs: ['berlin', 'rome'].map((each) =>
      run(`${each} x.a.test`, {
        checkType: 'BROWSER',
        text: 'locator.click: Timeout',
        script: { step: 'Click "Buy"', foreign: [] },
      }),
    ),
    says: ['script-broken @ x.a.test'],
  },
  {
    name: 'a page whose dependency fails',
    runs: ['berlin', 'rome'].map((each) =>
      run(`${each} x.a.test`, {
        text: 'it failed',
        script: { step: null, foreign: [{ host: 'pay.b.test', what: 'status 503' }] },
      }),
    ),
    says: ['page-dependency @ pay.b.test'],
  },
  {
    name: 'connections that end early',
    runs: ['berlin', 'rome'].map((each) =>
      failed(`${each} x.a.test:80`, 'ECONNRESET', { phase: 'headers' }),
    ),
    says: ['connection-cut @ x.a.test:80'],
  },
  {
    name: 'a browser that an agent lacks',
    runs: [broken('berlin x.a.test', 'BROWSER_MISSING')],
    says: ['agent-error @ BROWSER_MISSING of the agent in berlin'],
  },
  {
    name: 'code that the control plane did not give',
    runs: [broken('berlin x.a.test', 'CODE_BUNDLE_UNAVAILABLE')],
    says: ['control-plane @ the control plane'],
  },
  {
    name: 'details that nobody here may read',
    runs: [run('berlin x.a.test:1', { isReadable: false }), ...passes('berlin y.b.test:1')],
    says: ['?'],
  },
  {
    name: 'a location from which all is slow',
    runs: [
      ...['x.a.test:80', 'y.b.test:80'].map((each) =>
        slow(`berlin ${each}`, { connect: 900 }, { connect: 9 }),
      ),
      ...passes('rome x.a.test:80', 'rome y.b.test:80'),
    ],
    says: ['slow-link @ berlin'],
  },
  {
    name: 'a server that wants a client certificate',
    runs: ['berlin', 'rome'].map((each) =>
      failed(`${each} x.a.test:443`, 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED'),
    ),
    says: ['tls-client-certificate @ x.a.test:443'],
  },
  {
    name: 'a server that speaks no TLS',
    runs: ['berlin', 'rome'].map((each) =>
      failed(`${each} x.a.test:443`, 'ERR_SSL_WRONG_VERSION_NUMBER'),
    ),
    says: ['tls-broken @ x.a.test:443'],
  },
  {
    name: 'packets that are lost in part',
    runs: ['berlin', 'rome'].map((each) => failed(`${each} x.a.test`, 'SOME_PACKETS_LOST')),
    says: ['packet-loss @ x.a.test'],
  },
  {
    name: 'a certificate that expires soon',
    runs: ['berlin', 'rome'].map((each) => failed(`${each} x.a.test:443`, 'CERT_EXPIRES_SOON')),
    says: ['certificate-expiring @ x.a.test:443'],
  },
  {
    name: 'a pass of another location from before the problem proves nothing',
    runs: [
      failed('berlin db.a.test:5432', 'ECONNREFUSED'),
      run('rome db.a.test:5432', { startedAt: at - 50_000, outcome: 'passing' }),
    ],
    says: ['process-down @ db.a.test:5432'],
  },
  {
    name: 'a pass after it began counts, however old the problem is',
    runs: [
      failed('berlin db.a.test:5432', 'ECONNREFUSED', { startedAt: at + 90_000 }),
      run('rome db.a.test:5432', { startedAt: at + 50_000, outcome: 'passing' }),
    ],
    says: ['port-filtered @ db.a.test:5432 for berlin'],
  },
  {
    name: 'a check that cannot be asked',
    runs: [failed('berlin x.a.test:443', 'VARIABLE_MISSING')],
    says: ['check-invalid @ x.a.test:443'],
  },
  {
    name: 'two causes in one minute',
    runs: [
      ...['berlin', 'rome'].flatMap((each) => [
        failed(`${each} db.a.test:5432`, 'ECONNREFUSED'),
        failed(`${each} x.b.test:443`, 'CERT_HAS_EXPIRED'),
      ]),
      ...passes('berlin z.c.test:1'),
    ],
    says: ['process-down @ db.a.test:5432', 'certificate-expired @ x.b.test:443'],
  },
];

for (const { name, runs, says, locations = [], changed = [] } of rows) {
  test(name, () => {
    const changes = changed.map((checkId) => ({ checkId, at: at - 120_000 }));
    const found = diagnose({ runs, locations, changes }, at + 30_000);
    assert.deepEqual(
      found.map(({ cause, place }) => (cause === null ? '?' : `${cause.name} @ ${place}`)).sort(),
      says.toSorted(),
    );
    for (const { cause, sentence, certainty, tells, evidence } of found) {
      assert.match(sentence, /since 03:12 UTC/, sentence);
      assert.doesNotMatch(sentence, /undefined|\{|\bnull\b/, sentence);
      assert.ok(evidence.length > 0, `${sentence} has evidence`);
      if (certainty !== 'certain' && cause?.name !== 'check-invalid') assert.ok(tells.length > 0);
    }
  });
}

test('the sentence of a hop has its place, its number, its time and what answers', () => {
  const runs = [
    ...['a', 'b', 'c'].map((name) =>
      silent(`berlin x.${name}.test:1`, {
        address: `10.5.${name.charCodeAt(0)}.1`,
        ...ending('10.0.0.1', '10.9.0.1', '10.9.1.1', '10.2.0.1', null),
      }),
    ),
    ...passes('berlin x.d.test:1', 'berlin x.e.test:1'),
  ];
  const [finding] = diagnose({ runs, locations: [], changes: [] }, at);
  assert.equal(
    finding?.sentence,
    'packets from berlin to 3 targets end at 10.2.0.1, hop 4, since 03:12 UTC; 2 targets by other hops answer',
  );
  assert.equal(finding?.certainty, 'certain');
  assert.deepEqual(finding.rulesOut, ['the link of berlin: 2 targets by other hops answer']);
});

test('what one target says of itself is not said of another one', () => {
  const content = (port: number, text: string): RunFacts =>
    run(`berlin a.test:${port}`, { broken: { source: 'BODY', text } });
  const runs = [content(1, 'no shop'), content(2, 'no login'), ...passes('berlin b.test:1')];
  const [finding] = diagnose({ runs, locations: [], changes: [] }, at);
  assert.match(finding?.sentence ?? '', /\(no shop and no login\), since/);
});

test('every class has a row above, and the order of runs changes nothing', () => {
  const seen = new Set(rows.flatMap(({ says }) => says.map((each) => each.split(' @ ')[0])));
  assert.deepEqual(
    [...new Set(causeClasses.map(({ name }) => name))].filter((name) => !seen.has(name)),
    [],
  );
  for (const { runs, locations = [] } of rows) {
    const place = (minute: RunFacts[]) =>
      diagnose({ runs: minute, locations, changes: [] }, at)
        .map(({ cause, place: where }) => `${cause?.name} ${where}`)
        .sort();
    assert.deepEqual(place(runs.toReversed()), place(runs));
  }
});
