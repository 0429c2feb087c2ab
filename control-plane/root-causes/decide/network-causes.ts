/** Silence: what lies between a location and a target, and hosts that answer nothing. */
import { placeOf, type RunFacts } from './facts.ts';
import { count, type CauseClass, listText, saidBy, targetsText } from './cause-class.ts';
import { type LastHop, lastHopOf, type Scene } from './scene.ts';

const forbids = /prohibited|filter|!X|!A|!C|forbid/i;
const isUnreachable = /host.*unreachable|!H/i;
const networkOf = (address: string | null): string =>
  address?.split(address.includes(':') ? ':' : '.', 3).join('.') ?? '';

/** The router that says that it lets nothing pass. */
function forbiddingHop(run: RunFacts): string | null {
  const said = run.path?.hops.find(({ note }) => note !== null && forbids.test(note));
  return said?.address ?? null;
}

/** Runs at the location whose way ends at the same router. */
function endingAt(run: RunFacts, scene: Scene, address: string): RunFacts[] {
  return scene.runs.filter(
    (other) =>
      other.location === run.location &&
      scene.symptom(other) === 'silent' &&
      lastHopOf(other.path)?.address === address,
  );
}

/** What else is asked of the host from there. */
const besideHere = (run: RunFacts, scene: Scene): RunFacts[] =>
  scene.besideOnHost(run).filter((other) => other.location === run.location);

/** The way of a run, or that of another run to its host from there. */
const wayOf = (run: RunFacts, scene: Scene): LastHop | null =>
  lastHopOf(run.path) ??
  besideHere(run, scene)
    .map(({ path }) => lastHopOf(path))
    .find((last) => last !== null) ??
  null;

/** Several hosts behind one router that answer nothing, while nothing behind it answers. */
function isOfHop(run: RunFacts, scene: Scene): boolean {
  const last = wayOf(run, scene);
  if (last === null) return false;
  const ending = endingAt(run, scene, last.address);
  const networks = new Set(ending.map(({ address }) => networkOf(address)));
  const hosts = new Set(ending.map(({ host, address }) => host ?? address));
  const isBehind = (other: RunFacts): boolean => networks.has(networkOf(other.address));
  return hosts.size > 1 && !scene.passing(run).some(isBehind);
}

const passing = (runs: readonly RunFacts[], scene: Scene): RunFacts[] =>
  runs.filter((run) => scene.symptom(run) === null);

export const networkCauses: readonly CauseClass[] = [
  {
    name: 'port-filtered',
    side: 'target',
    symptoms: ['silent', 'refused'],
    needs(run, scene) {
      const place = placeOf(run);
      if (scene.symptom(run) === 'refused') {
        if (scene.blame(run) !== 'path') return null;
        return {
          place: `${place} for ${run.location}`,
          certainty: 'likely',
          evidence: [
            ...saidBy(run),
            `${scene.otherLocations(run)[0]?.location ?? 'another location'} connects in the same minute`,
          ],
          rulesOut: [`the process of ${place}: other locations reach it`],
          detail: 'something refuses connections',
        };
      }
      const hop = forbiddingHop(run);
      const isForbidden = hop !== null || run.code === 'EACCES';
      const answering = besideHere(run, scene).filter(
        (other) => !['silent', 'name', 'agent'].includes(scene.symptom(other) ?? ''),
      );
      if (run.port === null || (!isForbidden && answering.length === 0)) return null;
      return {
        place,
        certainty: 'certain',
        evidence: [
          ...saidBy(run),
          ...(hop === null ? [] : [`the router ${hop} says that it forbids it`]),
          ...answering
            .slice(0, 2)
            .map((other) => `${placeOf(other)} of the same host answers ${other.location}`),
        ],
        rulesOut: answering.length === 0 ? [] : [`the host ${run.host ?? ''}: it answers`],
        detail: `${hop === null ? 'a filter' : `the router ${hop}`} lets nothing pass`,
      };
    },
    sentence: '{detail} to {place}, whose host is up',
    tells: ['an ICMP check, or a check of another port, of the same host'],
  },
  {
    name: 'host-down',
    side: 'target',
    symptoms: ['silent'],
    needs(run, scene) {
      const beside = besideHere(run, scene);
      const last = lastHopOf(run.path);
      const isSaid = isUnreachable.test(last?.note ?? '') || run.code === 'EHOSTUNREACH';
      const others = scene.otherLocations(run);
      const alsoSilent = others.filter((other) => scene.symptom(other) === 'silent');
      if (passing(others, scene).length > 0) return null;
      if (beside.some((other) => scene.symptom(other) !== 'silent')) return null;
      if (isOfHop(run, scene)) return null;
      if (scene.reached(run).length === 0) return null;
      // A port that answers nothing may be filtered; two ways of asking rule that out.
      if (beside.length === 0 && !isSaid) return null;
      const host = run.host ?? run.address ?? '';
      return {
        place: host,
        certainty: isSaid || alsoSilent.length > 0 ? 'certain' : 'likely',
        evidence: [
          ...saidBy(run),
          ...(beside.length === 0
            ? []
            : [`${listText(beside.map(placeOf))} of the same host answer nothing either`]),
          ...(isSaid && last !== null
            ? [`the router ${last.address} before it finds no host there`]
            : []),
        ],
        rulesOut: [
          `the link of ${run.location}: ${count(scene.reached(run).length, 'other run')} there got an answer`,
          ...(beside.length === 0 ? [] : ['a filter of one port: every port is silent']),
        ],
        detail: '',
      };
    },
    sentence: 'the host {place} answers nothing to {locations}',
    tells: ['an ICMP check, or a check of another port, of the same host'],
  },
  {
    name: 'network-hop',
    side: 'network',
    symptoms: ['silent'],
    needs(run, scene) {
      const last = lastHopOf(run.path);
      const others = scene.otherLocations(run);
      const othersPassing = passing(others, scene);
      if (last === null || run.path?.isReached === true) {
        if (othersPassing.length === 0 || scene.blame(run) !== 'path') return null;
        return {
          place: `between ${run.location} and ${run.host ?? ''}`,
          certainty: 'likely',
          evidence: [
            ...saidBy(run),
            `${othersPassing[0]?.location ?? ''} reaches it in the same minute`,
          ],
          rulesOut: [`the host ${run.host ?? ''}: other locations reach it`],
          detail: 'get lost on the way',
        };
      }
      const ending = endingAt(run, scene, last.address);
      const networks = new Set(ending.map(({ address }) => networkOf(address)));
      // What lies behind the same router and answers speaks against the router.
      const behind = scene.passing(run).filter((other) => networks.has(networkOf(other.address)));
      const targets = new Set(ending.map(({ host, address }) => host ?? address));
      const isPathOnly = othersPassing.length > 0 && behind.length === 0;
      if (behind.length > 0 || (targets.size < 2 && !isPathOnly)) return null;
      const reached = scene.passing(run);
      if (last.hop <= 1 && reached.length === 0) return null;
      return {
        place: last.address,
        certainty: targets.size > 1 && (reached.length > 0 || isPathOnly) ? 'certain' : 'likely',
        evidence: [
          ...saidBy(run),
          `the way of ${targetsText(ending)} from ${run.location} ends at ${last.address}, hop ${last.hop}`,
        ],
        rulesOut: [
          ...(reached.length === 0
            ? []
            : [
                `the link of ${run.location}: ${count(reached.length, 'target')} by other hops answer`,
              ]),
          ...(othersPassing.length === 0 ? [] : ['the targets: other locations reach them']),
        ],
        detail: `end at ${last.address}, hop ${last.hop}`,
      };
    },
    sentence: 'packets from {locations} to {targets} {detail}',
    afterTime(runs, scene) {
      const others = new Set(runs.flatMap((run) => scene.passing(run)).map(placeOf)).size;
      return others === 0 ? '' : `; ${count(others, 'target')} by other hops answer`;
    },
    tells: ['a traceroute check of the target', 'checks of further targets of the same network'],
  },
];
