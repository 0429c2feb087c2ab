/** What every world begins with: a database with an account and its keys, made once and copied for each. */
import { cpSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createApiKey } from '../control-plane/accounts/keys/store.ts';
import { changeAccount, findOrCreateAccount } from '../control-plane/accounts/store.ts';
import { ControlPlaneProgram } from './hosts.ts';
import { Network } from './network.ts';
import { World } from './world.ts';

export interface Installation {
  folder: string;
  apiKey: string;
}

export async function makeInstallation(folder: string): Promise<Installation> {
  const world = new World(0);
  world.network = new Network(world);
  const program = new ControlPlaneProgram(world, 'control-plane', folder, () => undefined);
  program.start();
  await world.run(100);
  const { host, running } = program;
  if (host === null || running === null) throw new Error(program.problems.join('; '));
  const { rawKey } = await host.act(async () => {
    const accountId = await findOrCreateAccount(running.services);
    await changeAccount(running.services.db, accountId, { badges: true });
    return createApiKey(running.services, accountId, { name: 'people' });
  });
  const kept = join(folder, 'installation');
  let hasEnded = false;
  void program.stop().then(() => (hasEnded = true));
  await world.until(() => hasEnded, 20_000);
  if (!hasEnded) throw new Error('the control plane does not end');
  cpSync(program.folder, kept, { recursive: true });
  return { folder: kept, apiKey: rawKey };
}

export function copyInstallation(installation: Installation, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  cpSync(installation.folder, to, { recursive: true });
}
