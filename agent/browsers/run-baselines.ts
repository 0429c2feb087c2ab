/**
 * What the screenshots of a run are compared with: images that were deployed, and those that people approved in
 * their place. Afterwards, which of them were missing or differed.
 */
import { hash } from 'node:crypto';
import { join, posix, relative } from 'node:path';
import type { AssignedBaseline } from '@monitor/shared/contract/agent-protocol.ts';
import {
  maxComparisons,
  snapshotPath,
  type ScreenshotComparison,
} from '@monitor/shared/contract/baseline.ts';
import { z } from 'zod';
import { AgentError } from '../errors.ts';
import type { Workspace } from '../script-host/script-host.ts';

/** Images of another processor differ in single pixels. */
export const ownPlatform = `${process.platform}-${process.arch}`;

/** Said by Playwright, which fails the test by it. Only of images: other snapshots nobody can approve. */
const missingImage = /^(?:Error: )?A snapshot doesn't exist at (.+\.png), writing actual\.\s*$/;
/** What a test attaches itself is copied to there, under its SHA-1. */
const ownAttachment = /\/attachments\/([^/]*-)?[0-9a-f]{40}\.png$/;
const imagePart = /^(.*)-(expected|actual|diff|previous)\.png$/;

const deployedSnapshots = z
  .object({
    snapshots: z.array(z.object({ path: z.string(), key: z.string() })).nullish(),
    screenshotMasks: z.array(z.string()).nullish(),
  })
  .transform(({ snapshots, screenshotMasks }) => ({
    snapshots: snapshots ?? [],
    masks: screenshotMasks ?? [],
  }));

/** Whether an attached file is one of a comparison: without these nobody can approve an image. */
export const isCompared = ({ name, contentType }: { name: string; contentType: string }) =>
  contentType === 'image/png' && imagePart.test(name);

/** What the definition of a check says of screenshots. */
export const screenshotSettings = (definition: unknown) => deployedSnapshots.parse(definition);

/** An attempt of a test. Paths are those of the workspace. */
export interface SeenAttempt {
  readonly project: string;
  /** No other attempt of its test came after it. */
  readonly isLast: boolean;
  readonly errors: readonly { readonly message: string }[];
  readonly attachments: readonly { name: string; path: string; contentType: string }[];
}

/** What a reporter keeps of a test. There may have been more. */
const maxErrors = 20;

/** True where a test failed by nothing but images that there is no baseline of yet. */
export function isUndecided(errors: SeenAttempt['errors']): boolean {
  const isWhole = errors.length > 0 && errors.length < maxErrors;
  return isWhole && errors.every(({ message }) => missingImage.test(message));
}

/** Why a run without baselines says nothing of its pictures; null where it has all. `forgiven`: names of tests. */
export function undecidedBy(
  comparisons: readonly ScreenshotComparison[],
  forgiven: readonly string[],
): string | null {
  const missing = comparisons.filter(({ outcome }) => outcome === 'MISSING');
  if (missing.length === 0) {
    const tests = forgiven.join(', ').slice(0, 800);
    return tests === '' ? null : `no baseline yet, and no image to approve: ${tests}`;
  }
  const names = missing.map(({ path, project }) => `${posix.basename(path)} (${project})`);
  const [images, them] = missing.length === 1 ? ['image', 'it'] : ['images', 'them'];
  return `no baseline yet of ${missing.length} ${images}: ${names.join(', ').slice(0, 800)}; approve ${them} with this result`;
}

/** The images of one comparison, by what each shows. */
interface Group {
  stem: string;
  parts: Partial<Record<string, string>>;
}

function groupsOf(attachments: SeenAttempt['attachments']): Group[] {
  const groups: Group[] = [];
  const compared = attachments.filter((one) => isCompared(one) && !ownAttachment.test(one.path));
  for (const { name, path } of compared) {
    const [, stem = '', part = ''] = imagePart.exec(name) ?? [];
    const last = groups.at(-1);
    if (last?.stem === stem && !(part in last.parts)) last.parts[part] = path;
    else groups.push({ stem, parts: { [part]: path } });
  }
  return groups;
}

export class RunBaselines {
  readonly #workspace: Workspace;
  /** Of the check in the workspace: paths of snapshots are relative to it. */
  readonly #folder: string;
  readonly #note: (message: string) => void;
  /** Of what was deployed, by path; null where an approved image has nothing in its place. */
  readonly #deployed = new Map<string, string | null>();

  constructor(workspace: Workspace, folder: string, note: (message: string) => void) {
    this.#workspace = workspace;
    this.#folder = folder;
    this.#note = note;
  }

  async #digestOf(path: string): Promise<string | null> {
    const handle = await this.#workspace.read(posix.join(this.#folder, path));
    if (handle === null) return null;
    await using file = handle;
    return hash('sha256', await file.readFile(), 'hex');
  }

  /** Writes what is compared with. Throws CODE_BUNDLE_UNAVAILABLE where an image cannot be fetched. */
  async lay(
    approved: readonly AssignedBaseline[],
    snapshots: readonly { path: string; key: string }[],
    image: (digest: string) => Promise<Buffer | null>,
  ): Promise<void> {
    const write = async (path: string, digest: string, isApproved: boolean): Promise<void> => {
      const bytes = await image(digest);
      const gone = `the image for ${path} is not kept any more`;
      if (bytes !== null) await this.#workspace.write(posix.join(this.#folder, path), bytes);
      else if (!isApproved) this.#note(gone);
      // What it took the place of would differ, which says nothing about the target.
      else throw new AgentError('CODE_BUNDLE_UNAVAILABLE', `${gone}: withdraw its approval`);
    };
    for (const { path, key } of snapshots) await write(path, key.replace(/^files\//, ''), false);
    for (const { path, platform, digest, deployedDigest } of approved) {
      if (platform !== ownPlatform || !snapshotPath.safeParse(path).success) continue;
      const deployed = await this.#digestOf(path);
      this.#deployed.set(path, deployed);
      if (deployed !== null && deployed !== deployedDigest) {
        this.#note(`${path}: another image was deployed since one was approved; it counts`);
      } else await write(path, digest, true);
    }
  }

  /** Of a path as Playwright writes it: in the folder of the check, or null. */
  #inside(path: string): string | null {
    const root = join(this.#workspace.folder, this.#folder);
    const from = path.startsWith('/') ? relative(root, path) : path;
    return snapshotPath.safeParse(from).success ? from : null;
  }

  async #compared(
    { project, isLast, errors, attachments }: SeenAttempt,
    references: ReadonlyMap<string, string>,
  ): Promise<ScreenshotComparison[]> {
    const missing = errors.flatMap(({ message }) => {
      const path = this.#inside(missingImage.exec(message)?.[1] ?? '');
      return path === null ? [] : [path];
    });
    const found: ScreenshotComparison[] = [];
    for (const { parts } of groupsOf(attachments)) {
      // Older versions attach no expected image where there is none.
      const expected =
        parts['expected'] === undefined
          ? missing.find((path) => !found.some((one) => one.path === path))
          : relative(this.#folder, parts['expected']);
      const path = expected === undefined ? null : this.#inside(expected);
      const referenceOf = (part: string) => references.get(parts[part] ?? '') ?? null;
      const actual = referenceOf('actual');
      if (path === null || actual === null) continue;
      // A test that passed has written what was missing, or found no difference in the end.
      if (errors.length === 0 && parts['diff'] !== undefined) continue;
      const isMissing = errors.length === 0 || missing.includes(path);
      // What differed once and was retried is judged by its last attempt.
      if (!isMissing && !isLast) continue;
      const deployed = this.#deployed.get(path);
      found.push({
        ...{ path, project: project.slice(0, 200), platform: ownPlatform, actual },
        outcome: isMissing ? 'MISSING' : 'DIFFERENT',
        deployedDigest:
          isMissing || deployed !== undefined ? (deployed ?? null) : await this.#digestOf(path),
        expected: isMissing ? null : referenceOf('expected'),
        diff: referenceOf('diff'),
      });
    }
    return found;
  }

  /** `references`: of the files that are kept, by their paths in the workspace. */
  async comparisons(
    attempts: readonly SeenAttempt[],
    references: ReadonlyMap<string, string>,
  ): Promise<ScreenshotComparison[]> {
    const all = new Map<string, ScreenshotComparison>();
    for (const attempt of attempts) {
      for (const one of await this.#compared(attempt, references)) {
        const key = `${one.project}\n${one.path}`;
        // What a first attempt had nothing to compare with, a second one compares with what the first made.
        if (all.get(key)?.outcome !== 'MISSING') all.set(key, one);
      }
    }
    return [...all.values()].slice(0, maxComparisons);
  }
}
