/** Starts this program anew in its own process, with settings for little memory that cannot be set later. */
type Environment = Readonly<Record<string, string | undefined>>;

interface Settings {
  /** The variable that says that it was done. */
  mark: string;
  /** Of V8. */
  flags: readonly string[];
  /** Variables of the allocator. */
  allocator: Readonly<Record<string, string>>;
}

/** Those that the operator has not given. */
function missing(flags: readonly string[], environment: Environment): string[] {
  // Node takes underscores, too.
  const given = [environment['NODE_OPTIONS'] ?? '', ...process.execArgv]
    .join(' ')
    .replaceAll('_', '-');
  return flags.filter((flag) => !given.includes(flag.split('=')[0] ?? flag));
}

/**
 * Re-executes this program with settings that the operator may override: same process id, same standard streams,
 * the environment as given otherwise. Does nothing when this was done before or is not possible.
 */
export function relaunch(environment: Environment, { mark, flags, allocator }: Settings): void {
  // Children inherit the variable, but not the process id.
  const isRelaunched = environment[mark] === String(process.pid);
  if (isRelaunched || process.platform !== 'linux' || process.execve === undefined) return;
  // A parent with a channel, as a watcher of sources is, would lose it.
  if (process.channel !== undefined) return;
  const given = Object.entries(environment).filter(
    (pair): pair is [string, string] => pair[1] !== undefined,
  );
  process.execve(
    process.execPath,
    [
      process.execPath,
      ...missing(flags, environment),
      ...process.execArgv,
      '--',
      ...process.argv.slice(1),
    ],
    { ...allocator, ...Object.fromEntries(given), [mark]: String(process.pid) },
  );
}
