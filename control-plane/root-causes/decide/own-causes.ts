/** Faults of our side and of the way out of a location: none of them is the target's. */
import {
  type CauseClass,
  count,
  listText,
  type Match,
  saidBy,
  targetsText,
} from './cause-class.ts';
import type { RunFacts, Symptom } from './facts.ts';
import { lastHopOf, type Scene } from './scene.ts';

/** Agents name gateway, interface, resolver and proxy in their sentences alone. */
const parts = {
  proxy: /the proxy of the location, (\S+?),/,
  resolver: /to the resolver ([\da-f.:]+)/i,
  gateway: /its (gateway \S+) on/,
  device: /the (interface \S+) of this machine/,
};
const partOf = (run: RunFacts, part: keyof typeof parts): string =>
  parts[part].exec(run.text ?? '')?.[1] ?? '';

/** Each location has its own cause, however alike they fail. */
const inLocation = ({ location }: RunFacts, part: string): string =>
  part === '' ? location : `${part} in ${location}`;

const agentError = (run: RunFacts, place: string): Match => ({
  ...{ place, certainty: 'certain', detail: run.code ?? 'an unknown error' },
  evidence: saidBy(run),
  rulesOut: ['the targets: no packet of these runs had reached them'],
});

/** An entry for the codes of an agent error; none stands for every other one. */
const ofAgent = (
  name: string,
  side: CauseClass['side'],
  codes: readonly string[],
  sentence: string,
  placeOf: (run: RunFacts) => string,
): CauseClass => ({
  ...{ name, side, symptoms: ['agent'], sentence },
  needs: (run) =>
    codes.length === 0 || codes.includes(run.code ?? '') ? agentError(run, placeOf(run)) : null,
  tells: ['"monitor-agent doctor" in the location'],
});

/** What the location alone shows of several unrelated targets. */
function ofLocation(
  run: RunFacts,
  scene: Scene,
  { place = run.location, ...match }: Partial<Match> & Pick<Match, 'evidence'>,
): Match | null {
  if (scene.blame(run) !== 'location') return null;
  return {
    ...{ place, certainty: 'certain', detail: '' },
    rulesOut: ['the targets: other locations get what they expect in the same minute'],
    ...match,
    evidence: [...saidBy(run), ...match.evidence],
  };
}

const alikeText = (run: RunFacts, scene: Scene): string =>
  `${targetsText([run, ...scene.alike(run)])} show the same in ${run.location}, and pass from other locations`;

/** Names that lead nowhere here and somewhere in other locations. */
function unknownOnlyHere(run: RunFacts, scene: Scene): Match | null {
  const names = [run, ...scene.alike(run)].filter((one) =>
    scene.otherLocations(one).some((far) => far.address !== null || scene.symptom(far) === null),
  );
  if (names.length < 2 || !names.includes(run) || scene.resolved(run).length > 0) return null;
  const shown = listText(names.map(({ host }) => host ?? ''));
  return {
    ...{ place: `resolver of ${run.location}`, certainty: 'certain' },
    detail: `answers ${run.code ?? ''} for`,
    evidence: [...saidBy(run), `${shown} resolve in other locations in the same minute`],
    rulesOut: ['the records of these names: other resolvers have them'],
  };
}

/** One address for several sites, which have others in other locations. */
function wrongAddress(run: RunFacts, scene: Scene): Match | null {
  const { address, host, location } = run;
  const isWrong = (one: RunFacts): boolean => {
    const far = scene.otherLocations(one).filter((each) => each.address !== null);
    return far.length > 0 && far.every((each) => each.address !== one.address);
  };
  if (address === null || host === null || address === host) return null;
  const same = scene.strangers(run).filter((one) => one.address === address && isWrong(one));
  const isUnseen = scene.otherLocations(run).every((one) => one.address === null);
  if (same.length === 0 || !(isWrong(run) || (isUnseen && same.length > 1))) return null;
  const names = listText([run, ...same].map((one) => one.host ?? ''));
  return {
    ...{ place: `resolver of ${location}`, certainty: 'certain' },
    detail: `gives the wrong address ${address} for`,
    evidence: [...saidBy(run), `${names} lead to ${address} in ${location} alone`],
    rulesOut: ['the targets: they were not asked from there'],
  };
}

function isSlowLookUp({ times, lastPass }: RunFacts): boolean {
  const dns = times.dns ?? 0;
  const all = Object.values(times).reduce((sum, ms) => sum + ms, 0);
  return dns > 200 && dns > all / 2 && dns > 3 * (lastPass?.times.dns ?? 0);
}

const afterLookUp: readonly Symptom[] = [
  ...(['name', 'refused', 'silent', 'certificate', 'status', 'content'] as const),
  ...(['cut', 'tls', 'waiting'] as const),
];
const askResolver = ['a DNS check that asks the resolver of the location by its address'];

export const ownCauses: readonly CauseClass[] = [
  {
    ...{ name: 'resolver-wrong', side: 'location', symptoms: afterLookUp },
    sentence: 'the {place} {detail} {names}',
    needs: (run, scene) =>
      scene.symptom(run) === 'name' ? unknownOnlyHere(run, scene) : wrongAddress(run, scene),
    tells: askResolver,
  },
  {
    ...{ name: 'agent-clock', side: 'agent', symptoms: ['certificate'] },
    sentence: 'the clock of {place} is wrong: certificates of {targets} have other dates there',
    needs: (run, scene) =>
      /EXPIRED|NOT_YET_VALID/.test(run.code ?? '')
        ? ofLocation(run, scene, {
            evidence: [alikeText(run, scene)],
            rulesOut: [`the certificate of ${run.host ?? 'the target'}: others accept its dates`],
          })
        : null,
    tells: ['the clock of the agent, which "monitor-agent doctor" compares'],
  },
  {
    ...{ name: 'proxy', side: 'location' },
    symptoms: ['proxy', 'certificate', 'status', 'content'],
    sentence: '{place} answers in the place of {targets}',
    needs(run, scene) {
      const issuers = new Set(scene.alike(run).map(({ issuer }) => issuer ?? run.issuer));
      // Certificates of several issuers are no single proxy's.
      if (scene.symptom(run) === 'certificate' && !issuers.has(run.issuer)) return null;
      return ofLocation(run, scene, {
        place: `a proxy in ${run.location}`,
        evidence: [alikeText(run, scene)],
      });
    },
    tells: ['a run of the same check from a location without this proxy'],
  },
  {
    ...{ name: 'proxy', side: 'location', symptoms: ['agent'] },
    sentence: '{place} does not serve the agent: {targets} could not be asked',
    needs(run) {
      const proxy = partOf(run, 'proxy');
      return proxy === '' ? null : agentError(run, inLocation(run, `the proxy ${proxy}`));
    },
    tells: ['"monitor-agent doctor" in the location'],
  },
  ofAgent(
    ...(['resolver-silent', 'location', ['RESOLVER_UNAVAILABLE']] as const),
    'no answer comes from {place}: {names} could not be looked up',
    (run) => inLocation(run, `the resolver ${partOf(run, 'resolver')}`.trim()),
  ),
  ofAgent(
    ...(['agent-overloaded', 'location'] as const),
    ['AGENT_OVERLOADED', 'AGENT_SUSPENDED', 'MACHINE_MEMORY', 'DISK_UNUSABLE'],
    '{place} has no room for {runs} ({detail})',
    ({ location }) => location,
  ),
  {
    ...{ name: 'agent-overloaded', side: 'location', tells: ['a run from another location'] },
    symptoms: ['slow', 'waiting', 'silent', 'script'],
    sentence: "{place} is overloaded: times of {runs} include the agent's own waiting",
    needs(run, scene) {
      const { location, isStrained } = run;
      const overload = scene.location(run)?.overload;
      const symptom = scene.symptom(run);
      const isShared = scene.otherLocations(run).some((far) => scene.symptom(far) === symptom);
      if (isShared || (overload == null && !isStrained)) return null;
      return overload == null
        ? { place: location, certainty: 'likely', evidence: ['the agent waited for a CPU'] }
        : {
            ...{ place: location, certainty: 'certain' },
            evidence: [`${location} is overloaded: ${overload.reason ?? 'its agent says so'}`],
          };
    },
  },
  ofAgent(
    ...(['control-plane', 'control-plane'] as const),
    ['CODE_BUNDLE_UNAVAILABLE', 'CONTROL_PLANE_UNREACHABLE'],
    '{place} did not give {locations} what {runs} needed ({detail})',
    () => 'the control plane',
  ),
  ofAgent(
    ...(['location-link', 'location', ['NETWORK_UNAVAILABLE']] as const),
    'no packet gets out of {place}: {targets} could not be asked',
    (run) => inLocation(run, partOf(run, 'gateway') || partOf(run, 'device')),
  ),
  {
    ...{ name: 'location-link', side: 'location', symptoms: ['silent', 'waiting', 'cut'] },
    sentence: 'nothing reaches the network from {place}: {targets} answer other locations alone',
    needs(run, scene) {
      const last = lastHopOf(run.path);
      if ((last !== null && last.hop > 1) || scene.reached(run).length > 0) return null;
      return ofLocation(run, scene, {
        certainty: scene.alike(run).length > 1 || last !== null ? 'certain' : 'likely',
        evidence: [
          alikeText(run, scene),
          ...(last === null ? [] : [`the way ends at ${last.address}, hop ${last.hop}`]),
        ],
      });
    },
    tells: ['a run of the same check from another location'],
  },
  ofAgent(
    ...(['agent-error', 'agent', []] as const),
    'the agent of {locations} could not carry out {runs} ({detail})',
    (run) => inLocation(run, `${run.code ?? 'an unknown error'} of the agent`),
  ),
  {
    ...{ name: 'resolver-slow', side: 'location', symptoms: ['slow', 'waiting'] },
    sentence: 'the {place} takes {detail} for a look-up',
    needs(run, scene) {
      const others = scene.strangers(run).filter(isSlowLookUp);
      if (!isSlowLookUp(run) || others.length === 0) return null;
      const far = scene.otherLocations(run).filter((other) => scene.symptom(other) !== null);
      if (far.some(isSlowLookUp)) return null;
      return {
        ...{ place: `resolver of ${run.location}`, certainty: 'certain' },
        detail: `${Math.round(run.times.dns ?? 0)} ms`,
        evidence: [`look-ups of ${count(others.length + 1, 'site')} are slow in ${run.location}`],
        rulesOut: ['the targets: the time went by before they were asked'],
      };
    },
    tells: askResolver,
  },
  {
    ...{ name: 'slow-link', side: 'location', symptoms: ['slow', 'waiting'] },
    sentence: 'everything is slow from {place}: {targets}',
    needs: (run, scene) =>
      ofLocation(run, scene, { certainty: 'likely', evidence: [alikeText(run, scene)] }),
    tells: ['a traceroute check from the location'],
  },
];
