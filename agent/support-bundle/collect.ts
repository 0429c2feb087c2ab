/**
 * Everything a support bundle holds, freed of secrets. Nothing of checks: no definitions, no targets,
 * no results.
 */
import type { Clock } from '@monitor/shared/clock.ts';
import { readConfig, type AgentConfig } from '../config.ts';
import { secretVariables } from '../guard-process.ts';
import { secretsOf } from '../config-secrets.ts';
import { collectFindings } from '../doctor/collect-findings.ts';
import { openMachine, type Machine } from '../doctor/machine.ts';
import { askAgent, askStatus } from '../doctor/running-agent.ts';
import { AgentError } from '../errors.ts';
import { listRuntimes } from '../runtimes/installed-runtimes.ts';
import { createScrubber } from '../scrub/create-scrubber.ts';
import type { Scrubber } from '../scrub/scrubber.ts';
import { version } from '../version.ts';
import { machineFacts, processTree } from './machine-facts.ts';
import { shownSettings } from './shown-settings.ts';

/** The log without addresses of other hosts: every URL that is not of one of these origins becomes `[url]`. */
function withoutUrls(text: string, origins: readonly string[]): string {
  return text.replace(/\b[a-z][a-z0-9+.-]*:\/\/[^\s"'<>\\)]+/gi, (url) => {
    const isOwn = origins.some((origin) => url === origin || url.startsWith(`${origin}/`));
    return isOwn ? url : '[url]';
  });
}

export interface BundleOptions {
  environment: Readonly<Record<string, string | undefined>>;
  clock: Clock;
  /** Called with the name of each step. */
  onStep?: (what: string) => void;
  machine?: Machine;
}

interface Manifest {
  madeAt: string;
  version: string;
  /** The id of a line that was written into the log for this bundle. */
  mark?: string;
  files: { name: string; what: string; bytes: number }[];
  /** Expected parts that are missing, with the reason. */
  leftOut: { what: string; why: string }[];
}

const leftOutAlways = [
  { what: 'checks, their targets, results and files', why: 'never part of a bundle' },
  { what: 'secrets, keys and environments of processes', why: 'never part of a bundle' },
  { what: 'arguments of processes', why: "they can hold other programs' secrets" },
];

/** Names of variables whose values are mostly secret, of whatever program. */
const secretName = /key|token|secret|passw|credential|auth|private/i;
const minSecretLength = 6;

/** Values to hide: secrets among the settings, and values of other variables with secret names. */
function secretsIn(
  environment: BundleOptions['environment'],
  config: AgentConfig | null,
): string[] {
  const named = Object.entries(environment).flatMap(([name, value = '']) => {
    const isPath = name.endsWith('_FILE') || value.startsWith('/');
    const isSecretSetting = secretVariables.includes(name) && !/_PROXY$/i.test(name);
    const isNamedSo = secretName.test(name) && !isPath && value.length >= minSecretLength;
    return isSecretSetting || isNamedSo ? [value, value.trim()] : [];
  });
  return [...(config === null ? [] : secretsOf(config)), ...named];
}

function loadConfig(environment: BundleOptions['environment']): AgentConfig | null {
  try {
    return readConfig({ environment }).config;
  } catch (error) {
    if (error instanceof AgentError) return null;
    throw error;
  }
}

/** Texts by name, with a manifest of them. */
class Folder {
  readonly files = new Map<string, string>();
  readonly #scrubber: Scrubber;
  readonly #manifest: Manifest;

  constructor(scrubber: Scrubber, madeAt: string) {
    this.#scrubber = scrubber;
    this.#manifest = { madeAt, version, files: [], leftOut: [...leftOutAlways] };
  }

  text(name: string, what: string, text: string): void {
    const scrubbed = this.#scrubber.text(text);
    this.files.set(name, scrubbed);
    this.#manifest.files.push({ name, what, bytes: Buffer.byteLength(scrubbed) });
  }

  json(name: string, what: string, value: unknown): void {
    this.text(name, what, `${JSON.stringify(this.#scrubber.value(value), null, 2)}\n`);
  }

  mark(mark: string): void {
    this.#manifest.mark = mark;
  }

  leaveOut(what: string, why: string): void {
    this.#manifest.leftOut.push({ what, why });
  }

  close(): ReadonlyMap<string, string> {
    const manifest = `${JSON.stringify(this.#manifest, null, 2)}\n`;
    return new Map([['manifest.json', this.#scrubber.text(manifest)], ...this.files]);
  }
}

function originsOf(config: AgentConfig): string[] {
  const url = new URL(config.CONTROL_PLANE_URL);
  const proxies = [config.HTTPS_PROXY, config.HTTP_PROXY, config.ALL_PROXY].flatMap((secret) =>
    secret === undefined ? [] : [new URL(secret.reveal())],
  );
  return [url.origin, ...proxies.map((proxy) => `${proxy.protocol}//${proxy.host}`)];
}

async function addRunningAgent(
  folder: Folder,
  config: AgentConfig,
  { machine, onStep }: { machine: Machine; onStep: BundleOptions['onStep'] },
): Promise<void> {
  const directory = config.AGENT_DATA_DIR;
  const asked = await askStatus(directory);
  if (asked.answer === null) {
    const why = `no agent answers in ${directory} (${asked.code})`;
    for (const what of ['status', 'metrics', 'log']) folder.leaveOut(`${what} of the agent`, why);
    return;
  }
  folder.json('status.json', 'status of the running agent', asked.answer.status);
  folder.text('metrics.txt', 'its metrics', await askAgent(directory, '/metrics'));
  // Older agents do not know it.
  const mark = await askAgent(directory, '/mark').catch(() => null);
  if (mark !== null) {
    folder.mark(mark);
    onStep?.(`the log of the agent has the mark ${mark} now`);
  }
  const log = await askAgent(directory, '/log');
  folder.text(
    'log.txt',
    'the last lines of its log, without URLs of others',
    withoutUrls(log, originsOf(config)),
  );
  const { pid } = asked.answer.status;
  if (asked.answer.isHere) {
    folder.text('machine/processes.txt', 'the processes of the agent', processTree(machine, pid));
  } else folder.leaveOut('processes of the agent', 'it runs on another machine or container');
}

/** Collects everything; it takes little longer than `doctor`. */
export async function collectBundle(options: BundleOptions): Promise<ReadonlyMap<string, string>> {
  const { environment, clock, onStep, machine = openMachine() } = options;
  const config = loadConfig(environment);
  const scrubber = createScrubber({ secrets: secretsIn(environment, config), detect: true });
  const folder = new Folder(scrubber, new Date(clock.now()).toISOString());
  onStep?.('examining this machine (up to 30 s)');
  const { report } = await collectFindings({ environment, clock, machine });
  folder.json('doctor.json', 'what monitor-agent doctor finds', report);
  folder.json('settings.json', 'the settings, without secrets', shownSettings(config, environment));
  if (config === null) {
    folder.leaveOut('the running agent, runtimes', 'the settings cannot be used; see doctor.json');
  } else {
    onStep?.('asking the running agent');
    await addRunningAgent(folder, config, { machine, onStep });
    const runtimes = listRuntimes(config.AGENT_RUNTIMES_DIR);
    folder.json('runtimes.json', 'installed runtimes', runtimes);
  }
  onStep?.('reading limits, mounts and routes');
  for (const { file, what, text } of machineFacts(machine)) folder.text(file, what, text);
  return folder.close();
}
