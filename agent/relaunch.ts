/** Starts this program anew in its own process, with flags of V8 that cannot be set later. */
type Environment = Readonly<Record<string, string | undefined>>;

/**
 * V8 flags, which the operator may override: a young generation that is small, and collected by the
 * main thread alone, since waking helpers costs more than they save; and an old generation that is
 * collected instead of grown. They halve the memory of an agent with a thousand checks.
 */
function memoryFlags(heavyRuns: number): string[] {
  // Reports of scripts are read and scrubbed as a whole.
  const oldSpaceMb = 192 * (1 + heavyRuns);
  return [
    '--max-semi-space-size=4',
    '--no-parallel-scavenge',
    `--max-old-space-size=${oldSpaceMb}`,
  ];
}

/** Each thread of the pool would have a heap of its own for what it allocates: a fifth of the memory. */
const allocator = { MALLOC_ARENA_MAX: '2' };

function v8Flags(environment: Environment, heavyRuns: number): string[] {
  const given = [environment['NODE_OPTIONS'] ?? '', ...process.execArgv].join(' ');
  return memoryFlags(heavyRuns).filter((flag) => !given.includes(flag.split('=')[0] ?? flag));
}

/**
 * Re-executes this program with settings for little memory: same process id, same standard streams, the
 * environment as given otherwise. Does nothing when this was done before or is not possible. `heavyRuns` is the
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
    { ...allocator, ...Object.fromEntries(given), AGENT_RELAUNCHED: String(process.pid) },
  );
}
