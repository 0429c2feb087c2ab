/** The command line that teams bring, as npm has it. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify, stripVTControlCharacters } from 'node:util';
import type { System } from './system.ts';

/** On Node 20 and on Node 22 and later. */
export const clientVersions = ['8.23.2', '9.5.0'];

interface Client {
  /** What a command prints, as its users read it. Rejects when it fails. */
  run(command: string): Promise<string>;
}

/** Installs a version into a folder, set up for a system. */
export async function installClient(
  folder: string,
  version: string,
  { baseUrl, apiKey, accountId }: Pick<System, 'baseUrl' | 'apiKey' | 'accountId'>,
  secrets: Record<string, string> = {},
): Promise<Client> {
  const settings = {
    CHECKLY_ENV: 'local',
    CHECKLY_API_URL: baseUrl,
    CHECKLY_MQTT_URL: baseUrl.replace('http', 'ws'),
    CHECKLY_API_KEY: apiKey,
    CHECKLY_ACCOUNT_ID: accountId,
  };
  const options = {
    cwd: folder,
    // npm may need what this machine says about proxies and registries.
    env: { ...process.env, ...settings, ...secrets, CI: 'true' },
    maxBuffer: 16_777_216,
  };
  const run = promisify(execFile);
  const packages = `checkly@${version}`;
  await run('npm', ['install', '--no-audit', '--no-fund', '--prefix', folder, packages], options);
  const program = join(folder, 'node_modules', '.bin', 'checkly');
  return {
    run: async (command) => {
      const running = run(process.execPath, [program, ...command.split(' ')], options);
      // Nobody answers what it asks.
      running.child.stdin?.end();
      const { stdout } = await running;
      return stripVTControlCharacters(stdout);
    },
  };
}
