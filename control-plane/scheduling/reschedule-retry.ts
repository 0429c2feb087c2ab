import type { ResultSubmission } from '@monitor/shared/contract/agent-protocol.ts';
import { eachOf } from '../db/expressions.ts';
import type { Db } from '../db/tables.ts';
import type { Services } from '../core/services.ts';
import type { NewJob } from './jobs.ts';

/** A retry of an attempt that ended longer ago would say nothing about that moment. */
const staleAfterMs = 10 * 60_000;

type Attempt = Pick<
  ResultSubmission,
  | 'checkId'
  | 'runId'
  | 'jobId'
  | 'attempt'
  | 'slotLocation'
  | 'runLocation'
  | 'scheduledFor'
  | 'stoppedAt'
  | 'retryElsewhere'
>;

/** Where failed attempts may be repeated, read at once for the attempts of a commit. */
export class RetryLocations {
  readonly #services: Pick<Services, 'clock' | 'random'>;
  /** Served locations, by check. */
  readonly #served = new Map<string, string[]>();
  /** `ENVIRONMENT_URL` of jobs, by account and job. */
  readonly #environments = new Map<string, string | null>();

  private constructor(services: Pick<Services, 'clock' | 'random'>) {
    this.#services = services;
  }

  static async read(
    services: Services,
    db: Db,
    attempts: readonly Attempt[],
  ): Promise<RetryLocations> {
    const retries = new RetryLocations(services);
    const repeated = attempts.filter(({ retryElsewhere }) => retryElsewhere !== null);
    if (repeated.length === 0) return retries;
    const places = await db
      .selectFrom('check_locations')
      .select(['account_id', 'check_id', 'location'])
      .where('check_id', 'in', eachOf([...new Set(repeated.map(({ checkId }) => checkId))]))
      .orderBy('position')
      .execute();
    for (const { account_id: accountId, check_id: checkId, location } of places) {
      if (!services.hub.isServed(accountId, location)) continue;
      const key = `${accountId}/${checkId}`;
      const known = retries.#served.get(key);
      if (known === undefined) retries.#served.set(key, [location]);
      else known.push(location);
    }
    const jobIds = repeated.flatMap(({ jobId }) => jobId ?? []);
    if (jobIds.length === 0) return retries;
    const jobs = await db
      .selectFrom('jobs')
      .select(['account_id', 'id', 'environment_url'])
      .where('id', 'in', eachOf(jobIds))
      .execute();
    for (const job of jobs) {
      retries.#environments.set(`${job.account_id}/${job.id}`, job.environment_url);
    }
    return retries;
  }

  /**
   * The job of the next attempt: in another location of the check, chosen at random among the served
   * ones, or in the same when there is no other. `too-late` when the attempt must be the last one; null
   * when it asks for no other.
   */
  jobFor(accountId: string, item: Attempt): NewJob | 'too-late' | null {
    if (item.retryElsewhere === null) return null;
    const { clock, random } = this.#services;
    if (clock.now() - item.stoppedAt > staleAfterMs) return 'too-late';
    const served = (this.#served.get(`${accountId}/${item.checkId}`) ?? []).filter(
      (location) => location !== item.runLocation,
    );
    return {
      environmentUrl: this.#environments.get(`${accountId}/${item.jobId ?? ''}`) ?? null,
      accountId,
      checkId: item.checkId,
      location: served[Math.floor(random() * served.length)] ?? item.runLocation,
      source: 'RETRY_ELSEWHERE',
      continues: {
        runId: item.runId,
        slotLocation: item.slotLocation,
        scheduledFor: item.scheduledFor,
        attempt: item.attempt + 1,
        sequenceStartedAt: item.retryElsewhere.sequenceStartedAt,
        notBefore: item.retryElsewhere.notBefore,
      },
    };
  }
}
