/** Loading one package of a runtime with the runtime's own Node, in a process of its own. */
import { execFile } from 'node:child_process';

/** For a package that never ends: on a starved machine one takes minutes that needs a second of CPU. */
const loadWithinMs = 600_000;

/**
 * Runs on every Node from 16 on. A package may be made for `require`, for `import`, or be a set of
 * entries without a main one.
 */
const program = `
const name = process.argv[1];
const needImport = ['ERR_REQUIRE_ESM', 'ERR_REQUIRE_ASYNC_MODULE', 'ERR_PACKAGE_PATH_NOT_EXPORTED'];
(async () => {
  try {
    require(name);
  } catch (error) {
    if (!needImport.includes(error.code)) throw error;
    await import(name);
  }
})().then(
  () => process.exit(0),
  (error) => {
    const text = error instanceof Error ? String(error.stack) : String(error);
    process.stderr.write(text, () => process.exit(1));
  },
);
`;

/** What scripts import of packages that have no main entry, or whose main entry is a program. */
const entryOf: Readonly<Record<string, string>> = {
  '@clerk/testing': '@clerk/testing/playwright',
  prisma: 'prisma/package.json',
};

function firstLines(text: string): string {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('at '))
    .slice(0, 3)
    .join(' ')
    .slice(0, 500);
}

/** Gives null when the package loads, otherwise why it does not. `node` is how Node is started. */
export function loadPackage(
  node: readonly string[],
  folder: string,
  name: string,
  signal?: AbortSignal,
): Promise<string | null> {
  const [command = '', ...before] = node;
  return new Promise((resolve) => {
    execFile(
      command,
      [...before, '-e', program, entryOf[name] ?? name],
      {
        cwd: folder,
        env: { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: folder, TZ: 'UTC' },
        timeout: loadWithinMs,
        killSignal: 'SIGKILL',
        maxBuffer: 4_194_304,
        ...(signal === undefined ? {} : { signal }),
      },
      (error, _stdout, stderr) => {
        if (error === null) resolve(null);
        else if (error.killed === true) resolve(`did not load within ${loadWithinMs / 1000} s`);
        else resolve(firstLines(stderr) || error.message);
      },
    );
  });
}
