/**
 * Names the causes of what fails in a minute. Each run is given to the table of causes; runs with one
 * class and place are one finding. Pure: the same facts give the same sentence.
 */
import { placeOf, type Minute, type RunFacts, type Symptom } from './facts.ts';
import {
  type Certainty,
  count,
  type CauseClass,
  listText,
  locationsOf,
  sentenceOf,
  type Match,
  targetsText,
} from './cause-class.ts';
import { networkCauses } from './network-causes.ts';
import { ownCauses } from './own-causes.ts';
import { Scene } from './scene.ts';
import { targetCauses } from './target-causes.ts';

/** Own causes come first: of two that are equally sure, the one that blames no target is named. */
export const causeClasses: readonly CauseClass[] = [
  ...ownCauses,
  ...networkCauses,
  ...targetCauses,
];

export interface Finding {
  /** Null where there is not enough to tell. */
  cause: CauseClass | null;
  place: string | null;
  certainty: Certainty | 'unclear';
  sentence: string;
  evidence: string[];
  rulesOut: string[];
  /** What would tell more; empty where it is certain. */
  tells: string[];
  runs: readonly RunFacts[];
  since: number;
}

const maxEvidence = 6;
const maxTells = 4;

interface Named {
  run: RunFacts;
  cause: CauseClass;
  match: Match;
}

function nameRun(run: RunFacts, scene: Scene): Named | null {
  const symptom = scene.symptom(run);
  const found = causeClasses.flatMap((cause) => {
    if (symptom === null || !cause.symptoms.includes(symptom)) return [];
    const match = cause.needs(run, scene);
    return match === null ? [] : [{ run, cause, match }];
  });
  return found.find(({ match }) => match.certainty === 'certain') ?? found[0] ?? null;
}

/**
 * A run that shows too little by itself has the cause of its check at another location when that is
 * sure, or else that of its location where nothing gets out.
 */
function borrowed(run: RunFacts, named: readonly Named[], scene: Scene): Named | null {
  const symptom = scene.symptom(run);
  const isSure = ({ match }: Named): boolean => match.certainty === 'certain';
  const same = named.find(
    (one) =>
      isSure(one) &&
      one.cause.symptoms.includes(symptom ?? 'hidden') &&
      placeOf(one.run) === placeOf(run) &&
      scene.symptom(one.run) === symptom &&
      ['target', 'check'].includes(one.cause.side),
  );
  const ofLocation = named.find(
    (one) =>
      isSure(one) &&
      one.cause.side === 'location' &&
      one.run.location === run.location &&
      one.cause.symptoms.includes(symptom ?? 'hidden') &&
      (scene.symptom(one.run) === symptom || one.cause.name === 'location-link'),
  );
  const source = same ?? ofLocation;
  return source === undefined ? null : { ...source, run };
}

const timeText = (instant: number): string => new Date(instant).toISOString().slice(11, 16);

/** `since 03:12`, in UTC, with the date where it began on another day. */
function sinceText(since: number, now: number): string {
  const day = new Date(since).toISOString().slice(0, 10);
  const isToday = day === new Date(now).toISOString().slice(0, 10);
  return `since ${isToday ? '' : `${day} `}${timeText(since)} UTC`;
}

function findingOf(named: readonly Named[], scene: Scene, now: number): Finding[] {
  const [first] = named;
  if (first === undefined) return [];
  const { cause, match } = first;
  const ofEach = cause.side === 'target' ? named : [first];
  const runs = named.map(({ run }) => run);
  const since = Math.min(...runs.map((run) => run.since));
  const shared = {
    runs: count(runs.length, 'run'),
    names: count(new Set(runs.map(({ host }) => host)).size, 'name'),
    place: match.place,
    detail: listText(ofEach.map((one) => one.match.detail ?? '')),
    targets: targetsText(runs),
    locations: locationsOf(runs),
  };
  const end = cause.afterTime?.(runs, scene) ?? '';
  const sentence = `${sentenceOf(cause, shared)}, ${sinceText(since, now)}${end}`;
  const isCertain = named.some((one) => one.match.certainty === 'certain');
  const each = (of: (match: Match) => readonly string[]): string[] =>
    [...new Set(named.flatMap((one) => of(one.match)))].slice(0, maxEvidence);
  return [
    {
      ...{ cause, place: match.place, sentence, runs, since },
      certainty: isCertain ? 'certain' : 'likely',
      evidence: each(({ evidence }) => evidence),
      rulesOut: each(({ rulesOut }) => rulesOut ?? []),
      tells: isCertain ? [] : [...cause.tells],
    },
  ];
}

const symptomWords: Partial<Record<Symptom, string>> = {
  hidden: 'details are encrypted or were not kept',
  silent: 'nothing answers',
  name: 'the name leads nowhere',
  cut: 'the connection ends early',
};

/** What is known is said, and what would tell more. */
function unclear(run: RunFacts, scene: Scene, now: number): Finding {
  const symptom = scene.symptom(run) ?? 'hidden';
  const possible = causeClasses.filter(
    ({ symptoms, side }) => symptoms.includes(symptom) && (side !== 'agent' || symptom === 'agent'),
  );
  const others = scene.strangers(run).length;
  const isAlone = others === 0 && scene.otherLocations(run).length === 0;
  const tells = [
    ...(symptom === 'hidden' ? ['the result, opened by somebody who has its key'] : []),
    ...(isAlone ? ['a run of the same check from another location'] : []),
    ...possible.filter(({ side }) => side !== 'check').flatMap((cause) => cause.tells),
  ];
  const what = symptomWords[symptom] ?? run.text ?? 'it fails';
  const titles = listText(possible.map(({ name }) => name.replaceAll('-', ' ')));
  return {
    cause: null,
    place: null,
    certainty: 'unclear',
    sentence: `not enough to tell why ${placeOf(run)} fails from ${run.location}, ${sinceText(run.since, now)}: ${what}`,
    evidence: [
      ...(run.text === null ? [] : [`${run.location}: ${run.text}`]),
      ...(titles === '' ? [] : [`possible: ${titles}`]),
      ...(isAlone
        ? ['nothing else ran in that minute']
        : [`${count(others, 'other run')} there in that minute`]),
    ],
    rulesOut: [],
    tells: [...new Set(tells)].slice(0, maxTells),
    runs: [run],
    since: run.since,
  };
}

/** The causes of a minute, from the one that explains most runs. `now` is only shown. */
export function diagnose(minute: Minute, now: number): Finding[] {
  const scene = new Scene(minute);
  const bad = minute.runs.filter((run) => scene.symptom(run) !== null);
  const own = bad.flatMap((run) => nameRun(run, scene) ?? []);
  const ownRuns = new Set(own.map(({ run }) => run));
  const rest = bad.filter((run) => !ownRuns.has(run));
  const lent = rest.flatMap((run) => borrowed(run, own, scene) ?? []);
  const lentRuns = new Set(lent.map(({ run }) => run));
  const groups = Map.groupBy(
    [...own, ...lent],
    ({ cause, match }) => `${cause.name}/${match.place}`,
  );
  const found = [...groups.values()].flatMap((named) => findingOf(named, scene, now));
  const open = rest.filter((run) => !lentRuns.has(run));
  return [
    ...found.sort((a, b) => b.runs.length - a.runs.length),
    ...open.map((run) => unclear(run, scene, now)),
  ];
}

/** The findings that a check is part of, the surest first. */
export function findingsOf(findings: readonly Finding[], checkIds: readonly string[]): Finding[] {
  const rank = { certain: 0, likely: 1, unclear: 2 };
  return findings
    .filter(({ runs }) => runs.some(({ checkId }) => checkIds.includes(checkId)))
    .sort((a, b) => rank[a.certainty] - rank[b.certainty] || b.runs.length - a.runs.length);
}
