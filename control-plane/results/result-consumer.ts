/**
 * How other modules process results in the transaction that stores them. `compose.ts` registers the
 * consumers, which are called in that order; this module does not know them.
 */
import type {
  CertificateSubmission,
  ItemOutcome,
} from '@monitor/shared/contract/agent-protocol.ts';
import type { AfterCommit } from '../db/after-commit.ts';
import type { Services } from '../core/services.ts';
import type { Db } from '../db/tables.ts';
import type { RunVerdict } from './run-verdict.ts';

/** Why a run ended without a verdict on its target. */
export interface InternalError {
  code: string;
  message: string | null;
}

/** The end of a run, from the FINAL result of an agent. */
export interface RunEnding {
  accountId: string;
  checkId: string;
  location: string;
  startedAt: number;
  /** Null for a conclusive result. */
  error: InternalError | null;
}

/** The FINAL results of one commit. */
export interface StoredResults {
  verdicts: readonly RunVerdict[];
  /** FINAL results of agents. */
  endings: readonly RunEnding[];
}

export type ResultConsumer = (
  services: Services,
  db: Db,
  results: StoredResults,
) => Promise<AfterCommit>;

/** Processes a certificate that an agent saw. */
export type CertificateConsumer = (
  services: Services,
  db: Db,
  source: { accountId: string; location: string },
  item: CertificateSubmission,
) => Promise<{ outcome: ItemOutcome; afterCommit: AfterCommit }>;

/** Calls every consumer. The returned functions must run after the commit. */
export async function publishResults(
  services: Services,
  db: Db,
  results: StoredResults,
): Promise<AfterCommit[]> {
  const steps: AfterCommit[] = [];
  for (const consume of services.resultConsumers) steps.push(await consume(services, db, results));
  return steps;
}
