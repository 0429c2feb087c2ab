/** The command line that teams bring, as npm has it. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify, stripVTControlCharacters } from 'node:util';
import type { System } from './system.ts';

/** On Node 20 and on Node 22 and later. */
export const clientVersions = ['8.23.2', '9.5.0'];

interface Client {
  /** What a command prints, as its users read it. Rejects when it fails. */
  run(command: string): Promise<string>;
  /** The same with its warnings, however it ends. */
  end(command: string): Promise<{ code: number; text: string }>;
  /** A command as the words that start it. */
  words(command: string): string[];
  /** All of this version, as they are typed. */
  commands: string[];
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
  const manifest = join(folder, 'node_modules', 'checkly', 'oclif.manifest.json');
  const { commands } = JSON.parse(readFileSync(manifest, 'utf8')) as { commands: object };
  const words = (command: string) => [process.execPath, program, ...command.split(' ')];
  const start = (command: string) => {
    const [file = '', ...args] = words(command);
    const running = run(file, args, options);
    // Nobody answers what it asks.
    running.child.stdin?.end();
    return running;
  };
  const read = ({ stdout, stderr }: { stdout: string; stderr: string }): string =>
    stripVTControlCharacters(stdout + stderr);
  return {
    words,
    run: async (command) => stripVTControlCharacters((await start(command)).stdout),
    end: (command) =>
      start(command).then(
        (ended) => ({ code: 0, text: read(ended) }),
        (error: unknown) => ({
          code: Number((error as { code?: unknown }).code),
          text: read(error as { stdout: string; stderr: string }),
        }),
      ),
    commands: Object.keys(commands).map((id) => id.replaceAll(':', ' ')),
  };
}
