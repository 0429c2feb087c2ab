/** Which test files share a process. A process costs its start and all imports; most tests need no own one. */

/** One process. */
export interface Group {
  /** In the order in which they run. */
  readonly files: readonly string[];
  /** It waits for most of its time, and leaves the processors to others. */
  readonly isWaiting: boolean;
}

/** A line of a comment in a test file that must not share its process with others, with the reason. */
const ownProcess = /^(?:\/\/| \*) Own process: (\S.*)/m;

/** More would save little, and leave a processor without work at the end. */
const maxFilesPerGroup = 20;

/** True for a file whose tests need a process of their own: each of `test/e2e/`, and those that say so. */
export function needsOwnProcess(file: string, source: string): boolean {
  return file.startsWith('test/e2e/') || ownProcess.test(source);
}

/** True for a file that waits for time to pass: for slots of checks in `test/e2e/`, or as its reason says. */
function waits(file: string, source: string): boolean {
  const reason = ownProcess.exec(source)?.[1];
  return reason === undefined ? file.startsWith('test/e2e/') : reason.startsWith('it waits');
}

/** Neighbours share a process, unless one needs its own. Those come first, since they last longest. */
export function planGroups(sources: ReadonlyMap<string, string>): Group[] {
  const files = [...sources.keys()].sort();
  const { alone = [], shared = [] } = Object.groupBy(files, (file) =>
    needsOwnProcess(file, sources.get(file) ?? '') ? 'alone' : 'shared',
  );
  const areaOf = (file: string): string => file.split('/').slice(0, 2).join('/');
  const groups: Group[] = alone.map((file) => ({
    files: [file],
    isWaiting: waits(file, sources.get(file) ?? ''),
  }));
  let group: string[] = [];
  for (const file of shared) {
    const [first] = group;
    const isFull = group.length === maxFilesPerGroup;
    if (first === undefined || isFull || areaOf(first) !== areaOf(file)) {
      group = [];
      groups.push({ files: group, isWaiting: false });
    }
    group.push(file);
  }
  return groups;
}
