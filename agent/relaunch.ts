/** Starts this program anew in its own process, with flags of V8 that cannot be set later. */
type Environment = Readonly<Record<string, string | undefined>>;

/**
 * V8 flags, which the operator may override: a small young generation, and an old generation that
 * is collected instead of grown. They halve the memory of an agent with a thousand checks.
 */
function memoryFlags(heavyRuns: number): string[] {
  // Reports of scripts are read and scrubbed as a whole.
  const oldSpaceMb = 192 * (1 + heavyRuns);
  return ['--max-semi-space-size=1', `--max-old-space-size=${oldSpaceMb}`];
}

function v8Flags(environment: Environment, heavyRuns: number): string[] {
  const given = [environment['NODE_OPTIONS'] ?? '', ...process.execArgv].join(' ');
  return memoryFlags(heavyRuns).filter((flag) => !given.includes(flag.split('=')[0] ?? flag));
}

/**
 * Re-executes this program with flags for little memory: same process id, same standard streams, the
 * environment as given. Does nothing when this was done before or is not possible. `heavyRuns` is the
 * limit of concurrent runs with code.
 */
export function relaunch(environment: Environment, heavyRuns = 0): void {
  // Children inherit the variable, but not the process id.
  const isRelaunched = environment['AGENT_RELAUNCHED'] === String(process.pid);
  if (isRelaunched || process.platform !== 'linux' || process.execve === undefined) return;
  const given = Object.entries(environment).filter(
    (pair): pair is [string, string] => pair[1] !== undefined,
  );
  process.execve(
    process.execPath,
    [
      process.execPath,
      ...v8Flags(environment, heavyRuns),
      ...process.execArgv,
      ...process.argv.slice(1),
    ],
    Object.fromEntries([...given, ['AGENT_RELAUNCHED', String(process.pid)]]),
  );
}
