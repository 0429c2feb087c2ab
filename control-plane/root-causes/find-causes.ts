/**
 * Finds the causes of what fails in an account. Decided when an alert is raised, when a group changes, or
 * when somebody asks; never for each result.
 */
import type { RootCause } from '@monitor/shared/contract/root-cause.ts';
import type { Services } from '../core/services.ts';
import type { Db } from '../db/tables.ts';
import { linkToResult } from '../notifications/index.ts';
import { diagnose, type Finding, findingsOf } from './decide/diagnose.ts';
import { placeOf } from './decide/facts.ts';
import { present } from './decide/present.ts';
import { type Breadth, readMinute, type Subject } from './read-minute.ts';

/** In a storm the alerts of a moment share what was read. */
const momentMs = 2_000;
/** What alerts may take of a moment: 3 % of it, since results wait meanwhile. */
const spentAtMostMs = 0.03 * momentMs;
const readsAtMost = 4;
const maxCauses = 5;

type Needs = Pick<Services, 'clock' | 'publicUrl' | 'logger'>;

interface Moment {
  began: number;
  spentMs: number;
  reads: number;
  byAccount: Map<string, Finding[]>;
}

const moments = new WeakMap<object, Moment>();

function presented(findings: readonly Finding[], publicUrl: string): RootCause[] {
  return findings
    .slice(0, maxCauses)
    .map((finding) =>
      present(finding, (checkId, resultId) => linkToResult(publicUrl, checkId, resultId)),
    );
}

async function findAt(
  { clock, logger }: Needs,
  db: Db,
  accountId: string,
  subject: Subject,
  breadth: Breadth,
): Promise<Finding[]> {
  try {
    const minute = await readMinute(db, accountId, subject, breadth);
    return minute === null ? [] : diagnose(minute, clock.now());
  } catch (error) {
    // Agents write what is read here. Results are stored and people notified whatever it is.
    logger.error({ err: error, checkId: subject.checkId }, 'no cause was found for an alert');
    return [];
  }
}

/** Why checks failed about an instant, the surest first. The first of them is read around. */
export async function findCauses(
  services: Needs,
  db: Db,
  accountId: string,
  { checkIds, at }: { checkIds: readonly string[]; at: number },
): Promise<RootCause[]> {
  const [checkId] = checkIds;
  if (checkId === undefined) return [];
  const findings = await findAt(services, db, accountId, { checkId, at }, 'asked');
  return presented(findingsOf(findings, checkIds), services.publicUrl);
}

const readsOfMany = 5;

interface CauseOfCheck {
  /** One for checks with one cause; by what is asked where there is not enough to tell. */
  key: string;
  /** Null where there is not enough to tell. */
  sentence: string | null;
  /** Whether it certainly lies with a location, an agent or this control plane. */
  isOwn: boolean;
}

const ownSides = ['location', 'agent', 'control-plane'];

/** What is wrong with each of many checks. */
export async function causesByCheck(
  services: Needs,
  db: Db,
  accountId: string,
  subjects: readonly Subject[],
): Promise<ReadonlyMap<string, CauseOfCheck>> {
  const causes = new Map<string, CauseOfCheck>();
  const unread = new Map(subjects.map((subject) => [subject.checkId, subject]));
  for (let reads = 0; reads < readsOfMany; reads += 1) {
    const [next] = unread.values();
    if (next === undefined) break;
    const findings = await findAt(services, db, accountId, next, 'asked');
    unread.delete(next.checkId);
    for (const { checkId } of subjects) {
      const [finding] = findingsOf(findings, [checkId]);
      if (finding === undefined || causes.has(checkId)) continue;
      const { cause, place, sentence, runs, certainty } = finding;
      const [first] = runs;
      if (cause !== null) {
        const isOwn = certainty === 'certain' && ownSides.includes(cause.side);
        causes.set(checkId, { key: `${cause.name}/${place}`, sentence, isOwn });
      } else if (first !== undefined && (first.host ?? first.address) !== null) {
        causes.set(checkId, { key: placeOf(first), sentence: null, isOwn: false });
      }
      unread.delete(checkId);
    }
  }
  return causes;
}

/**
 * The same for an alert, inside the commit of its result. What was found a moment ago holds for every check that
 * it names, so hundreds that fail together are read once. Undefined where the time for it is spent: results
 * do not wait for it.
 */
export async function causeOfAlert(
  services: Needs,
  db: Db,
  accountId: string,
  subject: Subject,
): Promise<RootCause | undefined> {
  const began = services.clock.monotonic();
  const known = moments.get(services);
  const isOver = known === undefined || began - known.began > momentMs;
  const moment = isOver
    ? { began, spentMs: 0, reads: 0, byAccount: new Map<string, Finding[]>() }
    : known;
  moments.set(services, moment);
  const ofCheck = (): Finding[] =>
    findingsOf(moment.byAccount.get(accountId) ?? [], [subject.checkId]);
  const hasTime = moment.spentMs < spentAtMostMs && moment.reads < readsAtMost;
  if (ofCheck().length === 0 && hasTime) {
    moment.reads += 1;
    moment.byAccount.set(accountId, await findAt(services, db, accountId, subject, 'alert'));
    moment.spentMs += services.clock.monotonic() - began;
  }
  return presented(ofCheck(), services.publicUrl)[0];
}
