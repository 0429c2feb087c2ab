/**
 * Finds the causes of what fails in an account. Decided when an alert is raised, when a group changes, or
 * when somebody asks; never for each result.
 */
import type { Kysely } from 'kysely';
import type { RootCause } from '@monitor/shared/contract/root-cause.ts';
import type { Services } from '../core/services.ts';
import type { Database } from '../db/tables.ts';
import { diagnose, type Finding, findingsOf } from './decide/diagnose.ts';
import { present } from './decide/present.ts';
import { readMinute, type Subject } from './read-minute.ts';

/** In a storm the alerts of a moment share what was read; see `forMoment`. */
const sharedForMs = 2_000;
/** Minutes that are read for the alerts of an account within that time. */
const readsAtOnce = 10;
const maxCauses = 5;

type Needs = Pick<Services, 'clock' | 'publicUrl' | 'logger'>;

interface Moment {
  readAt: number;
  reads: number;
  findings: Finding[];
}

const moments = new WeakMap<object, Map<string, Moment>>();

function presented(findings: readonly Finding[], publicUrl: string): RootCause[] {
  return findings
    .slice(0, maxCauses)
    .map((finding) =>
      present(
        finding,
        (checkId, resultId) => `${publicUrl}/console/#/checks/${checkId}/results/${resultId}`,
      ),
    );
}

async function findAt(
  { clock, logger }: Needs,
  db: Kysely<Database>,
  accountId: string,
  subject: Subject,
): Promise<Finding[]> {
  try {
    const minute = await readMinute(db, accountId, subject);
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
  db: Kysely<Database>,
  accountId: string,
  { checkIds, at }: { checkIds: readonly string[]; at: number },
): Promise<RootCause[]> {
  const [checkId] = checkIds;
  if (checkId === undefined) return [];
  const findings = await findAt(services, db, accountId, { checkId, at });
  return presented(findingsOf(findings, checkIds), services.publicUrl);
}

/**
 * The same for an alert, inside the commit of its result. Hundreds of checks that fail together are read
 * once: what was found a moment ago holds for each check that it names. Undefined beyond the limit of
 * reads, since alerts must not wait for it.
 */
export async function causeOfAlert(
  services: Needs,
  db: Kysely<Database>,
  accountId: string,
  subject: Subject,
): Promise<RootCause | undefined> {
  const now = services.clock.now();
  const known = moments.get(services) ?? new Map<string, Moment>();
  moments.set(services, known);
  for (const [account, { readAt }] of known) {
    if (now - readAt > sharedForMs || readAt > now) known.delete(account);
  }
  const moment = known.get(accountId) ?? { readAt: now, reads: 0, findings: [] };
  known.set(accountId, moment);
  const ofCheck = (): Finding[] => findingsOf(moment.findings, [subject.checkId]);
  if (ofCheck().length === 0 && moment.reads < readsAtOnce) {
    moment.reads += 1;
    moment.findings = await findAt(services, db, accountId, subject);
  }
  return presented(ofCheck(), services.publicUrl)[0];
}
