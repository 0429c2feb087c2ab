/** Runs npm for the installation of a runtime, and says in our words why it failed. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { AgentError } from '../errors.ts';
import { findOfSystem } from '../system/find-program.ts';
import { sheddingRightsOfInstallations } from '../system/shed-rights.ts';

export interface NpmRun {
  args: readonly string[];
  folder: string;
  environment: Readonly<Record<string, string | undefined>>;
  /** Called for each package that was fetched. */
  onFetched: () => void;
  signal?: AbortSignal;
}

/** What npm may know of our environment: how to reach a registry, never the key of the agent. */
const passedOn =
  /^(PATH|HOME|TMPDIR|LANG|https?_proxy|no_proxy|npm_config_.*|NODE_EXTRA_CA_CERTS|SSL_CERT_(FILE|DIR))$/i;

const linesKept = 60;

interface Cause {
  pattern: RegExp;
  /** What went wrong and what to do, given the matched text. */
  explain: (match: RegExpExecArray) => string;
}

const notThere =
  'npm is not on the PATH; install it beside Node, or use an image that carries the runtime';

const causes: readonly Cause[] = [
  // What takes its rights away says it in its stead.
  { pattern: /failed to execute npm: No such file|npm: not found/, explain: () => notThere },
  {
    pattern: /ENOSPC|no space left/i,
    explain: () => 'the disk is full; make room or name another folder with AGENT_RUNTIMES_DIR',
  },
  {
    pattern: /(?:notarget|E?404|ETARGET)\b[^\n]*?((?:@[\w.-]+\/)?[\w.-]+@(?:\*|[\w.-]*\w))/,
    explain: ([, name]) =>
      `the registry does not have ${name}; use one that has it (npm config registry, or npm_config_registry)`,
  },
  {
    // A warning of the same name does not end an installation.
    pattern:
      /error (?:code )?ERESOLVE[\s\S]*?Could not resolve dependency:\s+(?:npm error )?\s*([^\n]+)/,
    explain: ([, dependency]) =>
      `the packages do not fit together (${dependency}); one that is taken at its newest version has moved on`,
  },
  {
    pattern:
      /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTCACHED/,
    explain: ([code]) =>
      `the package registry cannot be reached (${code}); check the network, HTTPS_PROXY and npm_config_registry, then repeat: what was fetched is kept`,
  },
  {
    pattern: /CERT_|SELF_SIGNED|UNABLE_TO_(GET|VERIFY)/,
    explain: ([code]) =>
      `the certificate of the package registry is not trusted (${code}); set NODE_EXTRA_CA_CERTS to a file with its CA`,
  },
  {
    pattern: /EINTEGRITY/,
    explain: () =>
      'a package is not the one that was locked (EINTEGRITY); run "npm cache verify" and repeat, and distrust the registry if it stays',
  },
  {
    pattern: /E40[13]\b/,
    explain: ([code]) => `the package registry refused access (${code}); log in with npm first`,
  },
  {
    pattern: /EACCES|EPERM|EROFS/,
    explain: ([code]) =>
      `npm may not write (${code}); make AGENT_RUNTIMES_DIR and the cache of npm (npm_config_cache) writable`,
  },
];

/** Why npm failed, from what it wrote. */
export function explainNpm(output: string): string {
  for (const { pattern, explain } of causes) {
    const match = pattern.exec(output);
    if (match !== null) return explain(match);
  }
  const errors = output
    .split('\n')
    .flatMap((line) => /^npm error\s+(\S.*)/.exec(line)?.[1] ?? [])
    // The rest explains the command.
    .filter((line) => !/^(A complete log|--|Usage:|Options:)/.test(line));
  return errors.slice(0, 8).join('; ') || 'npm gave no reason';
}

/** Runs npm to its end. Throws RUNTIME_BROKEN when it fails. */
export async function runNpm({
  args,
  folder,
  environment,
  onFetched,
  signal,
}: NpmRun): Promise<void> {
  const prefix = sheddingRightsOfInstallations(findOfSystem('setpriv'));
  // Runs have users of their own, and the agent makes private files.
  const readable = ['/bin/sh', '-c', 'umask 022; exec "$@"', 'sh'];
  const [command = 'npm', ...words] = [...prefix, ...readable, 'npm', ...args];
  const child = spawn(
    command,
    [
      ...words,
      '--ignore-scripts',
      '--no-audit',
      '--no-fund',
      '--no-update-notifier',
      '--loglevel=http',
    ],
    {
      cwd: folder,
      env: {
        ...Object.fromEntries(Object.entries(environment).filter(([name]) => passedOn.test(name))),
        PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD: '1',
      },
      stdio: ['ignore', 'ignore', 'pipe'],
      ...(signal === undefined ? {} : { signal }),
    },
  );
  const kept: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => {
    if (/http (fetch|cache) .*\.tgz/.test(line)) onFetched();
    if (/http (fetch|cache)/.test(line)) return;
    kept.push(line);
    if (kept.length > linesKept) kept.shift();
  });
  const code = await ended(child);
  if (code === 0) return;
  throw new AgentError('RUNTIME_BROKEN', explainNpm(kept.join('\n')));
}

async function ended(child: ReturnType<typeof spawn>): Promise<number | null> {
  try {
    const [code] = (await once(child, 'close')) as [number | null];
    return code;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw new AgentError('RUNTIME_BROKEN', notThere, { cause: error });
  }
}
