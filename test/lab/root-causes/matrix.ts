/**
 * The lab of faults: 20 checks of 5 sites from 3 locations, and a minute for each fault, made of what runs of an
 * agent really recorded. Seeded noise: runs that are missing, passes from before the fault, runs that begin later.
 */
import { diagnose, type Finding } from '../../../control-plane/root-causes/decide/diagnose.ts';
import type { LocationFacts, RunFacts } from '../../../control-plane/root-causes/decide/facts.ts';
import { readFacts } from '../../../control-plane/root-causes/decide/read-facts.ts';
import type { Recorded } from '../../support/fact-recorder.ts';
import { seededRandom } from '../../support/random.ts';
import { recordedAddress, recordedHost, type Recordings } from './record-faults.ts';

const at = Date.parse('2026-11-29T03:12:00Z');
export const locations = ['berlin', 'rome', 'paris'] as const;
type Location = (typeof locations)[number];

interface LabCheck {
  id: string;
  site: number;
  kind: 'web' | 'tcp' | 'echo' | 'other';
  host: string;
  port: number | null;
  address: string;
}

/** Of each site one host that is asked in three ways, and one that is asked in one. */
export const checks: readonly LabCheck[] = [0, 1, 2, 3, 4].flatMap((site) => {
  const of = (kind: LabCheck['kind'], name: string, port: number | null): LabCheck => ({
    ...{ id: `site${site}-${kind}`, site, kind, port, host: `${name}.site${site}.test` },
    address: `10.${20 + site}.${name === 'a' ? 1 : 2}.5`,
  });
  return [of('web', 'a', 8080), of('tcp', 'a', 2222), of('echo', 'a', null), of('other', 'b', 443)];
});

const passOf = { web: 'pass-url', tcp: 'pass-tcp', echo: 'pass-icmp', other: 'pass-url' } as const;

/** What becomes of a run of the fault, besides its recording. */
interface Change {
  template: string;
  /** The router at which ways end; by default one of the site. */
  hop?: string;
  facts?: Partial<RunFacts>;
  code?: string;
}

interface Expected {
  name: string;
  place: string;
  side: 'target' | 'network' | 'check' | 'ours';
  runs: string[];
}

interface Fault {
  changes: Map<string, Change>;
  expected: Expected[];
  overloads: LocationFacts[];
  changed: string[];
}

const keyOf = (check: LabCheck, location: Location): string => `${check.id}/${location}`;

/** Makes a fault step by step. */
class Making implements Fault {
  readonly changes = new Map<string, Change>();
  readonly expected: Expected[] = [];
  readonly overloads: LocationFacts[] = [];
  readonly changed: string[] = [];
  readonly site: number;
  readonly here: Location;

  constructor(random: () => number) {
    this.site = Math.floor(random() * 5);
    this.here = locations[Math.floor(random() * 3)] ?? 'berlin';
  }

  of(kind: LabCheck['kind'], site = this.site): LabCheck {
    const found = checks.find((check) => check.kind === kind && check.site === site % 5);
    if (found === undefined) throw new Error(`no ${kind} of site ${site}`);
    return found;
  }

  /** What this location cannot see of a target, since something of its own is in the way. */
  hides(check: LabCheck, change: Change): void {
    const key = keyOf(check, this.here);
    for (const one of this.expected) one.runs = one.runs.filter((run) => run !== key);
    this.changes.set(key, change);
  }

  hit(
    which: readonly LabCheck[],
    change: Change | ((check: LabCheck, location: Location) => Change),
    from: readonly Location[],
    [name, place, side]: [string, string, Expected['side']],
  ): this {
    const runs = which.flatMap((check) => from.map((location) => [check, location] as const));
    for (const [check, location] of runs) {
      const made = typeof change === 'function' ? change(check, location) : change;
      this.changes.set(keyOf(check, location), made);
    }
    const keys = runs.map(([check, location]) => keyOf(check, location));
    const known = this.expected.find((one) => one.name === name && one.place === place);
    if (known === undefined) this.expected.push({ name, place, side, runs: keys });
    else known.runs.push(...keys);
    return this;
  }
}

type Make = (fault: Making) => unknown;
const every = locations;
const lastPass = (address: string | null = null): Partial<RunFacts> => ({
  lastPass: { at: at - 300_000, address, times: {} },
});
const named = (check: LabCheck): string => `${check.host}:${check.port}`;

/** One target, seen by all locations. */
const ofTarget =
  (kind: LabCheck['kind'], template: string, name: string, isHostPlace = false): Make =>
  (fault) => {
    const check = fault.of(kind);
    fault.hit([check], { template }, every, [
      name,
      isHostPlace ? check.host : named(check),
      'target',
    ]);
  };

/** Everything of one location, or its web checks alone. */
const ofLocation =
  (
    template: string,
    name: string,
    place: (here: string) => string,
    kinds = ['web', 'tcp', 'echo', 'other'],
    facts: Partial<RunFacts> = {},
  ): Make =>
  (fault) => {
    const which = checks.filter(({ kind }) => kinds.includes(kind));
    fault.hit(which, { template, facts }, [fault.here], [name, place(fault.here), 'ours']);
  };
const webs = ['web', 'other'];
const silenceOf = ({ kind }: LabCheck): string => (kind === 'echo' ? 'silent-echo' : 'silent-way');

function hostDown(fault: Making, site = fault.site): void {
  const which = (['web', 'tcp', 'echo'] as const).map((kind) => fault.of(kind, site));
  const host = which[0]?.host ?? '';
  fault.hit(which, (check) => ({ template: silenceOf(check) }), every, [
    'host-down',
    host,
    'target',
  ]);
}

function hop(fault: Making, from: readonly Location[], router: string): void {
  const which = [0, 1, 2].flatMap((step) => [
    fault.of('tcp', fault.site + step),
    fault.of('other', fault.site + step),
  ]);
  fault.hit(which, { template: 'silent-way', hop: router }, from, [
    'network-hop',
    router,
    'network',
  ]);
  const echoes = [0, 1, 2].map((step) => fault.of('echo', fault.site + step));
  const web = [0, 1, 2].map((step) => fault.of('web', fault.site + step));
  fault.hit(web, { template: 'silent-way', hop: router }, from, ['network-hop', router, 'network']);
  for (const echo of echoes)
    for (const location of from)
      fault.changes.set(keyOf(echo, location), { template: 'silent-echo' });
}

const script = (foreign: boolean): Partial<RunFacts> => ({
  ...{ text: 'locator.click: Timeout 5000ms exceeded', code: null, status: null, broken: null },
  script: foreign
    ? { step: null, foreign: [{ host: 'pay.other.test', what: 'status 503' }] }
    : { step: 'Click "Buy"', foreign: [] },
});

const tls: [template: string, name: string][] = [
  ...['expired', 'name', 'authority', 'chain'].map((each): [string, string] => [
    `certificate-${each}`,
    `certificate-${each}`,
  ]),
  ['certificate-client', 'tls-client-certificate'],
  ['tls-version', 'tls-version'],
  ['tls-none', 'tls-broken'],
];
const statuses = {
  500: 'server',
  503: 'dependency',
  404: 'missing',
  403: 'refused',
  429: 'rate-limit',
};

export const faults: Record<string, Make> = {
  'web process down': ofTarget('web', 'refused-url', 'process-down'),
  'database down': ofTarget('tcp', 'refused', 'process-down'),
  'silent port of a host that is up': ofTarget('tcp', 'silent-port', 'port-filtered'),
  'port forbidden by a router': ofTarget('other', 'forbidden', 'port-filtered'),
  'host answers nothing': (fault) => hostDown(fault),
  'router finds no host': ofTarget('other', 'unreachable', 'host-down', true),
  'two hosts down': (fault) => [hostDown(fault), hostDown(fault, fault.site + 1)],
  'one silent port, nothing else asked': ofTarget('other', 'silent-way', 'unknown'),
  'domain gone': (fault) =>
    fault.hit(
      checks.filter(({ site }) => site === fault.site),
      { template: 'no-name' },
      every,
      ['domain', `site${fault.site}.test`, 'target'],
    ),
  'name gone': ofTarget('other', 'no-name', 'record', true),
  'no record': ofTarget('other', 'no-record', 'record', true),
  'name servers fail': (fault) =>
    fault.hit(
      checks.filter(({ site }) => site === fault.site),
      { template: 'name-fails' },
      every,
      ['name-servers', `site${fault.site}.test`, 'target'],
    ),
  'record moved': (fault) => {
    const check = fault.of('other');
    const facts = { address: '10.77.7.7', ...lastPass(check.address) };
    fault.hit([check], { template: 'refused-url', facts: facts }, every, [
      'record',
      check.host,
      'target',
    ]);
  },
  'records differ': ofTarget('other', 'other-record', 'record', true),
  ...Object.fromEntries(
    tls.map(([template, name]) => [template, ofTarget('other', template, name)]),
  ),
  ...Object.fromEntries(
    Object.entries(statuses).map(([code, name]) => [
      `status ${code}`,
      ofTarget('web', `status-${code}`, `http-${name}`, true),
    ]),
  ),
  'connections cut': ofTarget('web', 'cut-before', 'connection-cut'),
  'answers cut': ofTarget('web', 'cut-within', 'connection-cut'),
  'no answer': ofTarget('web', 'no-answer', 'slow', true),
  'slow answer': ofTarget('web', 'slow', 'slow', true),
  'content changed': ofTarget('other', 'content', 'content', true),
  'check changed, other content': (fault) => {
    const check = fault.of('other');
    fault.changed.push(check.id);
    fault.hit([check], { template: 'content', facts: lastPass() }, every, [
      'check-changed',
      check.id,
      'check',
    ]);
  },
  'check changed, page missing': (fault) => {
    const check = fault.of('web');
    fault.changed.push(check.id);
    fault.hit([check], { template: 'status-404', facts: lastPass() }, every, [
      'check-changed',
      check.id,
      'check',
    ]);
  },
  'script broken': (fault) => {
    const check = fault.of('other');
    fault.hit([check], { template: 'content', facts: script(false) }, every, [
      'script-broken',
      check.host,
      'target',
    ]);
  },
  'dependency of a page': (fault) =>
    fault.hit([fault.of('other')], { template: 'content', facts: script(true) }, every, [
      'page-dependency',
      'pay.other.test',
      'target',
    ]),
  'hop of one location': (fault) => hop(fault, [fault.here], '10.99.1.1'),
  'hop of all locations': (fault) => hop(fault, every, '10.99.2.1'),
  'way of one target': (fault) => {
    const check = fault.of('other');
    fault.hit(
      [check],
      { template: 'silent-way', hop: '10.99.3.1' },
      [fault.here],
      ['network-hop', '10.99.3.1', 'network'],
    );
  },
  'refused for one location': (fault) => {
    const check = fault.of('other');
    fault.hit(
      [check],
      { template: 'refused-url' },
      [fault.here],
      ['port-filtered', `${named(check)} for ${fault.here}`, 'target'],
    );
  },
  'gateway dead': ofLocation(
    'dead-gateway',
    'location-link',
    (here) => `gateway 10.80.0.99 in ${here}`,
  ),
  'nothing gets out': (fault) =>
    fault.hit(
      checks,
      (check) => ({ template: silenceOf(check), facts: { path: null } }),
      [fault.here],
      ['location-link', fault.here, 'ours'],
    ),
  'resolver silent': ofLocation(
    'dead-resolver',
    'resolver-silent',
    (here) => `the resolver in ${here}`,
  ),
  'resolver knows no name': ofLocation(
    'no-name',
    'resolver-wrong',
    (here) => `resolver of ${here}`,
  ),
  'resolver lies': ofLocation(
    'refused-url',
    'resolver-wrong',
    (here) => `resolver of ${here}`,
    webs,
    { address: '10.66.6.6' },
  ),
  'resolver slow': ofLocation('slow', 'resolver-slow', (here) => `resolver of ${here}`, webs, {
    ...{
      times: { dns: 2_900, connect: 2, answer: 30 },
      lastPass: { at: at - 300_000, address: null, times: { dns: 3 } },
    },
  }),
  'clock wrong': ofLocation('certificate-expired', 'agent-clock', (here) => here, webs),
  'intercepting proxy': ofLocation(
    'certificate-authority',
    'proxy',
    (here) => `a proxy in ${here}`,
    webs,
  ),
  'captive portal': ofLocation('status-403', 'proxy', (here) => `a proxy in ${here}`, webs),
  'proxy dead': ofLocation(
    'dead-proxy',
    'proxy',
    (here) => `the proxy 10.80.3.2:3999 in ${here}`,
    webs,
  ),
  'location overloaded': (fault) => {
    fault.overloads.push({
      location: fault.here,
      overload: { since: at, reason: 'no CPU is left' },
    });
    ofLocation('slow', 'agent-overloaded', (here) => here, webs)(fault);
  },
  'agent without scripts': ofLocation(
    'no-scripts',
    'agent-error',
    (here) => `SCRIPTING_UNAVAILABLE of the agent in ${here}`,
    ['other'],
  ),
  'all slow from one location': ofLocation('no-answer', 'slow-link', (here) => here, webs),
  'control plane gives no code': (fault) =>
    fault.hit(
      [fault.of('other')],
      { template: 'no-scripts', code: 'CODE_BUNDLE_UNAVAILABLE' },
      every,
      ['control-plane', 'the control plane', 'ours'],
    ),
  'two targets at once': (fault) => {
    ofTarget('tcp', 'refused', 'process-down')(fault);
    const check = fault.of('other', fault.site + 1);
    fault.hit([check], { template: 'certificate-expired' }, every, [
      'certificate-expired',
      named(check),
      'target',
    ]);
  },
  'gateway dead and a process down': (fault) => {
    ofTarget('web', 'refused-url', 'process-down')(fault);
    const down = fault.of('web');
    const rest = checks.filter((check) => check !== down);
    fault.hit(
      rest,
      { template: 'dead-gateway' },
      [fault.here],
      ['location-link', `gateway 10.80.0.99 in ${fault.here}`, 'ours'],
    );
    fault.hides(down, { template: 'dead-gateway' });
  },
  'location overloaded and a server fails': (fault) => {
    fault.overloads.push({
      location: fault.here,
      overload: { since: at, reason: 'no CPU is left' },
    });
    ofTarget('web', 'status-500', 'http-server', true)(fault);
  },
  'resolver knows no name and a host is down': (fault) => {
    hostDown(fault);
    const rest = checks.filter(({ site }) => site !== fault.site);
    fault.hit(
      rest,
      { template: 'no-name' },
      [fault.here],
      ['resolver-wrong', `resolver of ${fault.here}`, 'ours'],
    );
    for (const check of checks.filter(({ site }) => site === fault.site)) {
      fault.hides(check, { template: 'no-name' });
    }
  },
};

/** A recording in the place of another check, at another location. */
function placed(
  recorded: Recorded,
  check: LabCheck,
  location: Location,
  startedAt: number,
  change: Change,
): RunFacts {
  const number = locations.indexOf(location) + 1;
  const hops: [string, string][] = [
    ['10.80.0.2', `10.${number}.0.1`],
    ['10.80.1.2', change.hop ?? `10.${number}.${100 + check.site}.1`],
    ['10.80.2.2', `10.${number}.${200 + check.site}.1`],
  ];
  const targets = ['gone.lab.test', 'fails.lab.test', 'empty.lab.test', recordedHost].map(
    (name): [string, string] => [name, check.host],
  );
  const addresses = ['10.90.1.5', '10.90.2.5', '10.90.3.5', '10.91.0.5'].map(
    (name): [string, string] => [name, check.address],
  );
  const isOfProxy = change.template === 'dead-proxy';
  const text = [
    ...hops,
    ...targets,
    ...addresses,
    ...(isOfProxy ? [] : [[recordedAddress, check.address] as [string, string]]),
  ].reduce((all, [from, to]) => all.replaceAll(from, to), JSON.stringify(recorded.payload));
  const isDns = change.template.endsWith('-record') && change.template.startsWith('other');
  const facts = readFacts({
    ...{ checkId: check.id, checkName: check.id, checkType: isDns ? 'DNS' : 'URL' },
    ...{
      resultId: keyOf(check, location),
      location,
      startedAt,
      since: startedAt,
      host: check.host,
    },
    hasFailures: recorded.hasFailures,
    hasErrors: recorded.hasErrors,
    isDegraded: recorded.isDegraded,
    isStrained: false,
    errorCode: change.code ?? recorded.faultCode,
    payload: JSON.parse(text) as Record<string, unknown>,
  });
  const isNameless = facts.address === null || facts.outcome === 'error';
  return {
    ...facts,
    ...{ host: check.host, port: facts.outcome === 'error' ? null : check.port },
    address: isNameless ? null : facts.address,
    ...change.facts,
  };
}

/** The minute of a fault, with the noise of a seed. */
export function minuteOf(fault: Fault, recordings: Recordings, random: () => number) {
  const runs = checks.flatMap((check) =>
    locations.flatMap((location): RunFacts[] => {
      const change = fault.changes.get(keyOf(check, location));
      const template = change?.template ?? passOf[check.kind];
      const startedAt = at + Math.floor(random() * 30_000);
      const chance = random();
      const recorded = recordings[template];
      if (recorded === undefined) throw new Error(`${template} was not recorded`);
      if (change === undefined && chance < 0.25) return [];
      // It had not run again when the cause was asked for.
      const isStale = chance > (change === undefined ? 0.8 : 0.92);
      if (!isStale) return [placed(recorded, check, location, startedAt, change ?? { template })];
      const before = recordings[passOf[check.kind]] ?? recorded;
      return [placed(before, check, location, at - 40_000, { template: passOf[check.kind] })];
    }),
  );
  const changes = fault.changed.map((checkId) => ({ checkId, at: at - 120_000 }));
  return { runs, locations: fault.overloads, changes };
}

const unknown = 'unknown';

export interface Outcome {
  fault: string;
  seed: number;
  expected: string;
  found: string;
  isRightPlace: boolean;
  /** Targets that were blamed for what is not theirs. */
  accused: string[];
  sentence: string;
}

const mostCommon = (all: readonly string[]): string =>
  [...Map.groupBy(all, (one) => one)].sort((a, b) => b[1].length - a[1].length)[0]?.[0] ?? unknown;

function judge(
  name: string,
  seed: number,
  { expected }: Fault,
  findings: readonly Finding[],
): Outcome[] {
  return expected.map((wanted) => {
    const own = findings.flatMap((finding) => {
      const runs = finding.runs.filter(({ resultId }) => wanted.runs.includes(resultId));
      return runs.map(() => finding);
    });
    const found = mostCommon(own.map(({ cause }) => cause?.name ?? unknown));
    const ofClass = own.filter(({ cause }) => (cause?.name ?? unknown) === found);
    const isTheirs = wanted.side === 'target';
    return {
      ...{ fault: name, seed, expected: wanted.name, found },
      isRightPlace: mostCommon(ofClass.map(({ place }) => place ?? '')) === wanted.place,
      accused: own.flatMap(({ cause, place }) =>
        cause?.side === 'target' && !isTheirs ? [place ?? ''] : [],
      ),
      sentence: ofClass[0]?.sentence ?? '',
    };
  });
}

export function runLab(recordings: Recordings, seeds: readonly number[]): Outcome[] {
  return seeds.flatMap((seed) =>
    Object.entries(faults).flatMap(([name, make], index) => {
      const random = seededRandom(seed * 1_000 + index);
      const fault = new Making(random);
      make(fault);
      return judge(name, seed, fault, diagnose(minuteOf(fault, recordings, random), at + 60_000));
    }),
  );
}

export function sumOf(outcomes: readonly Outcome[]) {
  const decided = outcomes.filter(({ found }) => found !== unknown);
  const meant = decided.filter(({ expected }) => expected !== unknown);
  const right = meant.filter(({ expected, found }) => expected === found);
  return {
    all: outcomes.length,
    unknown: outcomes.length - decided.length,
    rightClass: right.length / decided.length,
    rightPlace: right.filter(({ isRightPlace }) => isRightPlace).length / decided.length,
    accused: outcomes.flatMap(({ fault, seed, accused }) =>
      accused.map((place) => `${fault} (${seed}): ${place}`),
    ),
  };
}

/** The confusion matrix: a line for each class that was made, with what was named. */
export function matrixText(outcomes: readonly Outcome[]): string {
  const rows = [...Map.groupBy(outcomes, ({ expected }) => expected)].map(([expected, all]) => {
    const named = [...Map.groupBy(all, ({ found }) => found)]
      .sort((a, b) => b[1].length - a[1].length)
      .map(([found, ofClass]) => `${found} ${ofClass.length}`);
    const places = all.filter(({ isRightPlace }) => isRightPlace).length;
    return `${expected.padEnd(24)} ${String(all.length).padStart(4)} made, ${String(places).padStart(4)} at the place: ${named.join(', ')}`;
  });
  return rows.join('\n');
}
