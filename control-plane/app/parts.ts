/** What a control plane is started with. */
import type { Logger } from 'pino';
import type { Clock } from '@monitor/shared/clock.ts';
import type { LogOutput } from '@monitor/shared/log-output.ts';
import type { Config } from '../core/config.ts';
import type { MachineClocks } from '../reception/index.ts';
import type { DomainResolver } from '../status-pages/index.ts';

export interface ControlPlaneParts {
  config: Config;
  logger: Logger;
  clock?: Clock;
  /** Whether the time is that of a PostgreSQL; by default when `clock` is the system clock. */
  followsDatabase?: boolean;
  /** Clocks beside `clock`; by default those of this machine when `clock` is the system clock. */
  machine?: MachineClocks;
  random?: () => number;
  /** Resolves the DNS records that prove domains; the system resolver by default. */
  resolver?: DomainResolver;
  /** Accepts a key that does not fit the encrypted values of the database. */
  acceptNewKey?: boolean;
  /** Where the log goes. */
  log?: LogOutput;
}
