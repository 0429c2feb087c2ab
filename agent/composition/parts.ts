/** What an agent is started with. */
import type { Logger } from 'pino';
import type { Clock } from '@monitor/shared/clock.ts';
import type { LogOutput } from '@monitor/shared/log-output.ts';
import type { AgentConfig, KeySource } from '../config.ts';
import type { NetworkAccess } from '../net/network-access.ts';
import type { LogRing } from '../observability/log-ring.ts';
import type { RunnerRegistry } from '../runners/index.ts';

export interface AgentParts {
  config: AgentConfig;
  /** Files that hold secrets; no run may see them. */
  secretFiles?: readonly string[];
  /** Where the key is read again when it is refused. */
  keySource?: KeySource;
  /** Runs no code where runs could see them all the same. */
  mustHideFiles?: boolean;
  logger: Logger;
  network: NetworkAccess;
  log?: LogOutput;
  /** The last lines of the log, for support bundles. */
  logRing?: LogRing;
  clock?: Clock;
  random?: () => number;
  runners?: RunnerRegistry;
  /** For npm, which fetches runtimes that are missing; without it none is fetched. */
  environment?: Readonly<Record<string, string | undefined>>;
}
