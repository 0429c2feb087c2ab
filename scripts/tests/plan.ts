/** Which test files share a process. A process costs its start and all imports; most tests need no own one. */

import { dirname, join, normalize } from 'node:path';

/** The database under the control planes that tests start in their own process. */
export type TestEngine = 'sqlite' | 'postgres';

/**
 * What a process does to others: it keeps every processor busy, so that they would only make each other
 * slow; it waits for most of its time, and leaves the processors to others; or neither.
 */
export type Load = 'burns' | 'waits' | 'computes';

/** One process. */
export interface Group {
  readonly engine: TestEngine;
  /** In the order in which they run. */
  readonly files: readonly string[];
  readonly load: Load;
}

/** A line of a comment in a test file that must not share its process with others, with the reason. */
const ownProcess = /^(?:\/\/| \*) Own process: (\S.*)/m;
/** One in a file that is slow by what it starts beside its process, but changes nothing in that. */
const ofFew = /^(?:\/\/| \*) Few share a process: \S/m;

/** Each process costs two seconds of CPU before it is fast. With more files one lane would end long after the others. */
const maxFilesPerGroup = 60;
/** Their control planes are all open from the first test to the last, and a browser that lives long gets slow. */
const maxFewFiles = 6;

/** A hook that runs for all tests of a process, not for those of its file alone. */
const hookOfEach = /^(?:after|before)Each\(/m;

/** True for a file whose tests need a process of their own: each of `test/e2e/`, and those that say so. */
const isAlone = (file: string, source: string): boolean =>
  file.startsWith('test/e2e/') || ownProcess.test(source) || hookOfEach.test(source);

/** True for a file that is apart from the quick ones. */
export function needsOwnProcess(file: string, source: string): boolean {
  return isAlone(file, source) || ofFew.test(source);
}

/** As its reason says; files of `test/e2e/` wait for slots of checks. */
function loadOf(file: string, source: string): Load {
  const reason = ownProcess.exec(source)?.[1];
  const [, load] = /^it (burns|waits)\b/.exec(reason ?? '') ?? [];
  if (load !== undefined) return load as Load;
  return reason === undefined && file.startsWith('test/e2e/') ? 'waits' : 'computes';
}

/**
 * A line of a comment in a test file that says why it runs on one engine alone. Statements are what engines
 * differ in: in their forms, locks, order, numbers, JSON and times. A file repeats nothing on PostgreSQL
 * whose statements others run there, and which tests what is decided, checked, worded or sent around them;
 * one that starts a PostgreSQL by itself would do the same twice.
 */
const oneEngine = /^(?:\/\/| \*) (SQLite|PostgreSQL) only: \S/m;

/** The engine on which alone a file runs; undefined without a reason. */
function onlyEngineOf(source: string): TestEngine | undefined {
  const [, name] = oneEngine.exec(source) ?? [];
  if (name === undefined) return undefined;
  return name === 'SQLite' ? 'sqlite' : 'postgres';
}

/** A line of a comment in a test file that says which others run its statements on PostgreSQL. */
const inLongTierOnPostgres = /^(?:\/\/| \*) PostgreSQL in the long tier: \S/m;

const startsControlPlane = 'test/support/control-plane.ts';
/** A page asks the API, whose own tests run on both engines. */
const startsBrowser = 'test/support/found-browser.ts';
/** Where an import of a file begins or ends. */
const imported = /^(?:import .*|export .*|\}) from '(\.[^'$]+)';$/gm;

/** Whether a file imports the target, by itself or through `test/support`. */
function reaching(
  target: string,
  readSource: (file: string) => string,
): (file: string, source: string) => boolean {
  const known = new Map<string, boolean>([[target, true]]);
  const reaches = (file: string, source: string): boolean => {
    const before = known.get(file);
    if (before !== undefined) return before;
    known.set(file, false);
    const found = [...source.matchAll(imported)]
      .map((match) => normalize(join(dirname(file), match[1] ?? '')))
      .filter((path) => path.startsWith('test/support/'))
      .some((path) => reaches(path, readSource(path)));
    known.set(file, found);
    return found;
  };
  return reaches;
}

/** The files whose tests run on SQLite, or on no database: all but those that say why not. */
export function filesForSqlite(sources: ReadonlyMap<string, string>): string[] {
  return [...sources]
    .filter(([, source]) => onlyEngineOf(source) !== 'postgres')
    .map(([file]) => file);
}

/**
 * The files whose tests run on PostgreSQL: those that run there alone, and once more those that start a
 * control plane in their process and no browser, by themselves or through `test/support`, unless they say
 * why not, or why only in the long tier. `readSource` gives the text of any file.
 */
export function filesForPostgres(
  sources: ReadonlyMap<string, string>,
  readSource: (file: string) => string,
  isLong = false,
): string[] {
  const reachesControlPlane = reaching(startsControlPlane, readSource);
  const reachesBrowser = reaching(startsBrowser, readSource);
  return [...sources]
    .filter(([file, source]) => {
      const only = onlyEngineOf(source);
      if (only !== undefined) return only === 'postgres';
      return (
        (isLong || !inLongTierOnPostgres.test(source)) &&
        /^test\/(control-plane|security)\//.test(file) &&
        reachesControlPlane(file, source) &&
        !reachesBrowser(file, source)
      );
    })
    .map(([file]) => file);
}

/** Neighbours share a process, unless one needs its own. */
export function planGroups(
  sources: ReadonlyMap<string, string>,
  engine: TestEngine = 'sqlite',
): Group[] {
  const files = [...sources.keys()].sort();
  const sourceOf = (file: string): string => sources.get(file) ?? '';
  const {
    alone = [],
    few = [],
    shared = [],
  } = Object.groupBy(files, (file) =>
    isAlone(file, sourceOf(file)) ? 'alone' : ofFew.test(sourceOf(file)) ? 'few' : 'shared',
  );
  const areaOf = (file: string): string => file.split('/').slice(0, 2).join('/');
  const together = (some: readonly string[], most: number): Group[] => {
    const groups: (Group & { files: string[] })[] = [];
    for (const file of some) {
      const last = groups.at(-1);
      const isNext = last === undefined || last.files.length === most;
      if (isNext || areaOf(last.files[0] ?? '') !== areaOf(file)) {
        groups.push({ engine, files: [file], load: 'computes' });
      } else last.files.push(file);
    }
    return groups;
  };
  return [
    ...together(shared, maxFilesPerGroup),
    ...together(few, maxFewFiles),
    ...alone.map((file) => ({ engine, files: [file], load: loadOf(file, sourceOf(file)) })),
  ];
}
