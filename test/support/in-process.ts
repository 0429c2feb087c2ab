/** Control plane and agents inside the test, for tests that need to hold their clock. */
import { join } from 'node:path';
import { pino } from 'pino';
import type { Clock } from '@monitor/shared/clock.ts';
import { startAgent, type RunningAgent } from '../../agent/compose.ts';
import { readConfig as readAgentConfig } from '../../agent/config.ts';
import { startControlPlane, type ControlPlane } from '../../control-plane/app/compose.ts';
import { readConfig } from '../../control-plane/core/config.ts';
import { findOrCreateAccount } from '../../control-plane/accounts/store.ts';
import { plainNetwork } from './plain-network.ts';
import { createApiKey, createLocationKey } from '../../control-plane/accounts/keys/store.ts';

export const silent = pino({ level: 'silent' });

/** A control plane on a database file, listening on a port (0 for any). */
export function openControlPlane(folder: string, clock: Clock, port = 0): Promise<ControlPlane> {
  const config = readConfig({
    PORT: String(port),
    DATABASE_FILE: join(folder, 'control-plane.db'),
    // What waits for something asks for it often.
    REQUESTS_PER_MINUTE: '0',
    CHECK_RESPONSES: 'true',
  });
  return startControlPlane({ config, logger: silent, clock });
}

/** An API key, and keys for agents of data-center locations. */
export async function makeKeys(
  { services }: ControlPlane,
  locations: readonly string[],
): Promise<{ accountId: string; apiKey: string; locationKeys: string[] }> {
  const accountId = await findOrCreateAccount(services);
  const { rawKey } = await createApiKey(services, accountId, { name: 'test' });
  const locationKeys: string[] = [];
  for (const location of locations) {
    locationKeys.push((await createLocationKey(services, accountId, location, null)).rawKey);
  }
  return { accountId, apiKey: rawKey, locationKeys };
}

/** An agent in this process. */
export function openAgent(
  folder: string,
  controlPlaneUrl: string,
  apiKey: string,
  clock: Clock,
): Promise<RunningAgent> {
  const { config } = readAgentConfig({
    environment: {
      ...{ API_KEY: apiKey, CONTROL_PLANE_URL: controlPlaneUrl, AGENT_HEALTH_PORT: '0' },
      ...{ AGENT_HEALTH_HOST: '127.0.0.1', AGENT_DATA_DIR: folder },
    },
  });
  return startAgent({ config, logger: silent, network: plainNetwork, clock });
}
