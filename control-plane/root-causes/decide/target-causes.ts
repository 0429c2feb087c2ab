/** Faults of targets, and of the checks that ask them. What shows them comes from the target itself. */
import { phases, placeOf, siteOf, type Phase, type RunFacts, type Symptom } from './facts.ts';
import { type CauseClass, listText, type Match, saidBy } from './cause-class.ts';
import type { Scene } from './scene.ts';

/**
 * What the target itself showed. It is blamed where others see the same, or the location reaches
 * everything else; where nothing else is known it is likely; where the location shows the same of
 * unrelated targets it is not.
 */
function shown(
  run: RunFacts,
  scene: Scene,
  place: string,
  further: Partial<Match> = {},
): Match | null {
  const blame = scene.blame(run);
  if (blame === 'location' || blame === 'unclear') return null;
  const isHere = blame === 'path';
  const far = scene.otherLocations(run);
  const alike = far.filter((other) => scene.symptom(other) === scene.symptom(run));
  const isShared = alike.length > 0;
  const others = listText(alike.map(({ location }) => location));
  return {
    place: isHere ? `${place} at ${run.address ?? 'the address'} of ${run.location}` : place,
    certainty: isShared ? 'certain' : 'likely',
    detail: further.detail ?? run.code ?? '',
    evidence: [
      ...saidBy(run),
      ...(further.evidence ?? []),
      ...(isShared ? [`${others} got the same in the same minute`] : []),
      ...(isHere ? [`${far[0]?.location ?? 'another location'} got a right answer`] : []),
    ],
    rulesOut: [
      ...(further.rulesOut ?? []),
      ...(isShared ? [`the network of ${run.location}: others see the same`] : []),
    ],
  };
}

/** An entry for what the code of a failure says. */
function ofCode(
  symptom: Symptom,
  name: string,
  isIt: RegExp | null,
  sentence: string,
  {
    rulesOut,
    tells,
    side = 'target',
  }: Pick<CauseClass, 'tells'> & Partial<CauseClass> & { rulesOut: string },
): CauseClass {
  return {
    ...{ name, side, symptoms: [symptom], sentence, tells },
    needs: (run, scene) =>
      isIt === null || isIt.test(`${run.code ?? ''} ${run.text ?? ''}`)
        ? shown(run, scene, placeOf(run), { rulesOut: [rulesOut] })
        : null,
  };
}

const ofServer = {
  rulesOut: 'the network and the port: the server answered',
  tells: ['an SSL check of the server', 'a run from another location'],
};
const certificate = (name: string, isIt: RegExp, sentence: string): CauseClass =>
  ofCode(
    'certificate',
    `certificate-${name}`,
    isIt,
    `the certificate of {place} ${sentence}`,
    ofServer,
  );
const tls = (name: string, isIt: RegExp | null, sentence: string): CauseClass =>
  ofCode('tls', `tls-${name}`, isIt, `{place} ${sentence}`, ofServer);

const handshakeCauses = [
  certificate('expiring', /^CERT_EXPIRES_SOON/, 'expires soon'),
  certificate('expired', /^CERT_HAS_EXPIRED/, 'has expired'),
  certificate('early', /^CERT_NOT_YET_VALID/, 'is not valid yet'),
  certificate('name', /^\w*(ALTNAME|HOSTNAME)/, 'is for another name'),
  certificate('chain', /^UNABLE_TO_(VERIFY_LEAF|GET_ISSUER_CERT )/, 'comes without its chain'),
  certificate('authority', /^/, 'is by an authority that nobody here knows'),
  tls(
    'client-certificate',
    /^\w*(CERTIFICATE_REQUIRED|BAD_CERTIFICATE)|number (42|116)\)/,
    'wants another client certificate',
  ),
  tls(
    'version',
    /^\w*(PROTOCOL_VERSION|UNSUPPORTED_PROTOCOL|VERSION_TOO_LOW)|number (40|70|71)\)/,
    'and the agent have no TLS version or cipher in common',
  ),
  tls('broken', null, 'answers without TLS that an agent understands ({detail})'),
];

/** The name leads nowhere: for every location, or in one that resolves others. */
function lost(run: RunFacts, scene: Scene, place: string, evidence: string[] = []): Match | null {
  const blame = scene.blame(run);
  const isResolving = scene.resolved(run).length > 0;
  if (blame === 'path' || (!isResolving && blame !== 'target')) return null;
  const rulesOut = isResolving ? [`the resolver of ${run.location}: it has other names`] : [];
  return shown(run, scene, place, { evidence, rulesOut });
}

/** The name leads to another address than at the last pass, for every location. */
function moved(run: RunFacts, scene: Scene): Match | null {
  const { host, address, lastPass } = run;
  const before = lastPass?.address ?? null;
  const far = scene.otherLocations(run);
  if (before === null || address === null || before === address || host === address) return null;
  // Names with many addresses change them all the time: the others must have failed there too.
  const same = far.filter((other) => other.address === address);
  if (same.length === 0 || far.some((other) => scene.symptom(other) === null)) return null;
  const isSure = same.every((other) => other.lastPass?.address === before);
  const change = `${host ?? ''} led to ${before} at the last pass, and leads to ${address} now`;
  return {
    ...{
      place: host ?? '',
      certainty: isSure ? 'certain' : 'likely',
      detail: `leads to ${address} now, where nothing passes`,
    },
    evidence: [...saidBy(run), change],
    rulesOut: [`the old address ${before}: it was not asked`],
  };
}

const isMissing = ({ code }: RunFacts): boolean => code === 'ENOTFOUND' || code === 'NXDOMAIN';

const nameCauses: CauseClass[] = [
  {
    ...{ name: 'record', side: 'target', sentence: '{place} {detail}' },
    symptoms: ['name', 'answer', 'refused', 'silent', 'cut', 'certificate', 'status', 'waiting'],
    needs(run, scene) {
      const place = run.host ?? '';
      if (scene.symptom(run) === 'answer') {
        const evidence = [`the records are ${listText(run.answer?.records ?? []) || 'none'}`];
        const rulesOut = ['the name servers: they answer'];
        return shown(run, scene, place, { evidence, rulesOut, detail: 'has other records' });
      }
      if (scene.symptom(run) !== 'name') return moved(run, scene);
      const [other] = scene.siblings(run);
      if (run.code !== 'ENODATA' && (!isMissing(run) || other === undefined)) return null;
      const evidence = other === undefined ? [] : [`${other.host ?? ''} of its domain resolves`];
      const found = lost(run, scene, place, evidence);
      return found === null ? null : { ...found, detail: 'has no record' };
    },
    tells: ['a DNS check of the name'],
  },
  {
    ...{ name: 'domain', side: 'target', symptoms: ['name'] },
    sentence: 'the domain {place} does not exist: {targets} cannot be found',
    needs: (run, scene) => (isMissing(run) ? lost(run, scene, siteOf(run)) : null),
    tells: ['the registration of the domain', 'a check of another name of the domain'],
  },
  {
    ...{ name: 'name-servers', side: 'target', symptoms: ['name'] },
    sentence: 'the name servers of {place} fail ({detail})',
    needs: (run, scene) =>
      isMissing(run) || run.code === 'ENODATA' ? null : lost(run, scene, siteOf(run)),
    tells: ['a DNS check that asks a name server of the domain'],
  },
];

/** An entry by status; none stands for every other one. */
const http = (
  name: string,
  codes: readonly number[],
  sentence: string,
  tell: string,
): CauseClass => ({
  ...{ name: `http-${name}`, side: 'target', symptoms: ['status'] },
  sentence: `{place} ${sentence}`,
  needs: (run, scene) =>
    run.status !== null && (codes.length === 0 || codes.includes(run.status))
      ? shown(run, scene, run.host ?? '', {
          evidence: [`the status is ${run.status}`],
          rulesOut: ['network, TLS and name: the server answered'],
          detail: String(run.status),
        })
      : null,
  tells: [tell],
});

const serverErrors = Array.from({ length: 100 }, (_each, index) => 500 + index);
const httpCauses: CauseClass[] = [
  http(
    'dependency',
    [502, 503, 504],
    'answers {detail}: what it depends on does not serve it',
    'a check of the servers behind it',
  ),
  http(
    'server',
    serverErrors,
    'fails with status {detail} in its application',
    'the log of the application',
  ),
  http(
    'rate-limit',
    [429],
    'limits the rate of requests ({detail})',
    'the number of checks of this host',
  ),
  http(
    'refused',
    [401, 403, 407, 451],
    'refuses access ({detail})',
    'the credentials of the check, and rules about addresses of agents',
  ),
  http('missing', [], 'does not have what is asked for ({detail})', 'the address of the check'),
];

const phaseWords: Record<Phase, string> = {
  ...{ dns: 'the look-up of the name', connect: 'the connection', tls: 'the TLS handshake' },
  ...{ answer: 'the answer', download: 'the download' },
};
const phaseOfAgent: Readonly<Record<string, Phase>> = {
  ...{ tls: 'tls', handshake: 'tls', headers: 'answer', answer: 'answer', body: 'download' },
};

/** The phase that grew most since the last pass, or in which the time ended. */
function slowPhase({ times, lastPass, phase, code }: RunFacts): Phase {
  const ended = code === null ? undefined : phaseOfAgent[phase ?? ''];
  if (ended !== undefined) return ended;
  const grown = (each: Phase): number => (times[each] ?? 0) - (lastPass?.times[each] ?? 0);
  return phases.reduce((most, each) => (grown(each) > grown(most) ? each : most), 'answer');
}

const otherCauses: CauseClass[] = [
  ofCode('loss', 'packet-loss', null, 'some packets from {locations} to {place} get lost', {
    ...{ side: 'network', rulesOut: 'the host: it answers a part of them' },
    tells: ['a traceroute check of the host'],
  }),
  ofCode('refused', 'process-down', null, 'nothing listens at {place}', {
    rulesOut: 'the host and the network: a refusal came back',
    tells: ['a run from another location', 'an ICMP check of the host'],
  }),
  ofCode(
    'cut',
    'connection-cut',
    null,
    '{place} ends connections before its answer is complete ({detail})',
    {
      rulesOut: 'the port: it takes connections',
      tells: ['the log of the server', 'the captured packets, which show who ended the connection'],
    },
  ),
  {
    ...{ name: 'page-dependency', side: 'target', symptoms: ['script'] },
    sentence: '{place}, which {targets} depends on, fails: {detail}',
    needs(run, scene) {
      const [first] = run.script?.foreign ?? [];
      if (first === undefined) return null;
      const { host: place, what: detail } = first;
      const rulesOut = [`the page of ${run.host ?? 'the site'} itself: it was delivered`];
      return shown(run, scene, place, { evidence: [`${place}: ${detail}`], rulesOut, detail });
    },
    tells: ['a check of the host that the page depends on'],
  },
  {
    ...{ name: 'script-broken', side: 'target', symptoms: ['script'] },
    sentence: 'the page of {place} is not what the script expects{detail}',
    needs(run, scene) {
      if (run.script?.foreign.length !== 0) return null;
      const { step } = run.script;
      return shown(run, scene, run.host ?? run.checkName, {
        rulesOut: ['requests of the page: none failed'],
        detail: step === null ? ' ' : ` at the step ${step}`,
      });
    },
    tells: ['the trace and the screenshots of the run'],
  },
  {
    ...{ name: 'slow', side: 'target', symptoms: ['slow', 'waiting'] },
    sentence: '{place} takes too long for {detail}',
    needs(run, scene) {
      const phase = slowPhase(run);
      const [now, before] = [run.times[phase], run.lastPass?.times[phase]].map((ms) =>
        ms === undefined ? '?' : Math.round(ms),
      );
      return shown(run, scene, run.host ?? '', {
        evidence: [`${phaseWords[phase]} took ${now} ms, at the last pass ${before} ms`],
        rulesOut: phase === 'answer' ? ['name, network and port: it took the connection'] : [],
        detail: phaseWords[phase],
      });
    },
    tells: ['a run from another location', 'more runs before the problem'],
  },
  {
    ...{ name: 'content', side: 'target', symptoms: ['content'] },
    sentence: 'the answer of {place} is not what the check expects ({detail})',
    needs: (run, scene) =>
      run.broken === null && run.code === null
        ? null
        : shown(run, scene, run.host ?? '', {
            rulesOut: ['network, TLS and status: the answer came'],
            detail: run.broken?.text ?? run.text ?? '',
          }),
    tells: ['the body of the result', 'whether the site was deployed'],
  },
];

/** What a wrong check shows of a host that is well. */
const bySymptom: ReadonlySet<string> = new Set(['content', 'script', 'name', 'answer', 'check']);
const asked: ReadonlySet<number> = new Set([400, 401, 403, 404, 405]);

const checkCauses: CauseClass[] = [
  {
    ...{ name: 'check-changed', side: 'check' },
    symptoms: ['content', 'script', 'name', 'answer', 'refused', 'status', 'check', 'slow', 'tls'],
    sentence: 'the check "{place}" was changed just before it began to fail',
    needs(run, scene) {
      const { host, checkId, checkName, since, lastPass } = run;
      const change = scene.changeBefore(run);
      const others = scene.runs.filter(
        (other) => host !== null && other.host === host && other.checkId !== checkId,
      );
      const everywhere = scene.otherLocations(run).filter((other) => other.checkId === checkId);
      const isOwn = bySymptom.has(scene.symptom(run) ?? '') || asked.has(run.status ?? 0);
      if (change === undefined || lastPass === null) return null;
      if (others.some((other) => scene.symptom(other) !== null)) return null;
      if (everywhere.some((other) => scene.symptom(other) === null)) return null;
      if (others.length === 0 && !isOwn) return null;
      const minutes = Math.max(1, Math.round((since - change.at) / 60_000));
      return {
        ...{ place: checkName, certainty: 'certain' },
        evidence: [...saidBy(run), `the check was changed ${minutes} min before, and had passed`],
        rulesOut: others.length === 0 ? [] : [`the host ${host ?? ''}: other checks of it pass`],
      };
    },
    tells: ['the change of the check in the audit log'],
  },
  {
    ...{ name: 'check-invalid', side: 'check', symptoms: ['check'] },
    sentence: 'the check "{place}" asks for something that cannot be asked ({detail})',
    needs: (run) => ({
      ...{ place: run.checkName, certainty: 'certain', detail: run.code ?? '' },
      evidence: saidBy(run),
      rulesOut: ['the target: it was not asked'],
    }),
    tells: [],
  },
];

/** Changes of a check come before what its target seems to show. */
export const targetCauses: readonly CauseClass[] = [
  ...checkCauses,
  ...handshakeCauses,
  ...nameCauses,
  ...httpCauses,
  ...otherCauses,
];
