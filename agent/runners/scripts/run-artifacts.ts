/** Hands the files of a run to the agent and says what refers to them. */
import { glob } from 'node:fs/promises';
import { join, normalize, posix } from 'node:path';
import { snapshotPath } from '@monitor/shared/contract/baseline.ts';
import { artifactReference, type ArtifactType } from '@monitor/shared/contract/check-result.ts';
import { isCompared } from '../../browsers/run-baselines.ts';
import type { ArtifactSink } from '../runner.ts';
import type { Workspace } from '../../script-host/script-host.ts';
import { eventsOf, type RunEvent } from './run-events.ts';

export interface CollectedArtifacts {
  readonly all: string[];
  readonly traces: string[];
  readonly videos: string[];
  readonly report: string | null;
  /** References of screenshots by the visit they show; those of failures under `failed`. */
  readonly screenshots: Map<string, string[]>;
  /** By path in the workspace. */
  readonly references: Map<string, string>;
}

interface RunFile {
  readonly path: string;
  readonly name: string;
  readonly type: ArtifactType;
  readonly contentType: string;
  readonly visit?: string;
}

const maxFiles = 100;

function typeOf(name: string, contentType: string): ArtifactType {
  if (name === 'trace') return 'trace';
  if (contentType.startsWith('video/')) return 'video';
  return contentType.startsWith('image/') ? 'screenshot' : 'file';
}

function filesOf(events: readonly RunEvent[]): RunFile[] {
  const attached = eventsOf(events, 'attachment').map(({ name, path, contentType }) => ({
    isCompared: isCompared({ name, contentType }),
    path,
    name: posix.basename(path),
    type: typeOf(name, contentType),
    contentType,
    ...(contentType.startsWith('image/') ? { visit: 'failed' } : {}),
  }));
  const taken = eventsOf(events, 'screenshot').map(({ visit, path, name, contentType }) => ({
    path,
    // As the script called it: on disk it has a number, since scripts use a name again.
    name: `${name}${posix.extname(path)}`,
    type: 'screenshot' as const,
    contentType,
    visit,
  }));
  const report: RunFile = {
    path: 'report.json',
    name: 'report.json',
    type: 'report',
    contentType: 'application/json',
  };
  const { compared = [], others = [] } = Object.groupBy(attached, (one) =>
    one.isCompared ? 'compared' : 'others',
  );
  const files: RunFile[] = [...compared, ...taken, ...others];
  return [...files.slice(0, maxFiles), report];
}

/** Names of snapshots, below the folder where the test runner keeps those of a file. */
export async function updatedSnapshots(
  workspace: Workspace,
  file: string,
  sink: ArtifactSink,
  withheldPictures: string | null,
  note: (message: string) => void,
): Promise<{ path: string; name: string }[]> {
  const folder = `${file}-snapshots`;
  const cwd = join(workspace.folder, 'check', folder);
  const files: string[] = [];
  for await (const name of glob('**/*.png', { cwd })) files.push(posix.join(folder, name));
  const images = files.filter((path) => snapshotPath.safeParse(path).success).sort();
  const left = images.length - maxFiles;
  if (left > 0) note(`${left} of ${images.length} snapshots are not kept: a run gives ${maxFiles}`);
  const made: { path: string; name: string }[] = [];
  for (const path of images.slice(0, maxFiles)) {
    const handle = await workspace.read(posix.join('check', path));
    if (handle === null) continue;
    await handle.close();
    const name = posix.relative(folder, path).replace(/[^\w.-]/g, '_');
    const reference = await sink.add({
      path: join(workspace.folder, 'check', path),
      name: `snapshots/${name.slice(-100)}`,
      ...({ type: 'screenshot', contentType: 'image/png' } as const),
      withheldPictures,
    });
    made.push({ path, name: reference.slice(artifactReference('').length) });
  }
  return made;
}

/**
 * Call it when every process of the run is gone: a file is looked at without following links, and
 * must not become something else before it is moved.
 */
export async function collectArtifacts(
  workspace: Workspace,
  events: readonly RunEvent[],
  sink: ArtifactSink,
  withheldPictures: string | null,
): Promise<CollectedArtifacts> {
  const collected: CollectedArtifacts & { report: string | null } = {
    all: [],
    traces: [],
    videos: [],
    report: null,
    screenshots: new Map(),
    references: new Map(),
  };
  for (const { path, name, type, contentType, visit } of filesOf(events)) {
    const inside = normalize(join('monitor', path));
    // Attachments can be any file that the script may read; files outside of its folder must not be
    // sent.
    if (inside.startsWith('..')) continue;
    const handle = await workspace.read(inside);
    if (handle === null) continue;
    await handle.close();
    const reference = await sink.add({
      path: join(workspace.folder, inside),
      name: name.replace(/[^\w.-]/g, '_').slice(-100),
      type,
      contentType,
      withheldPictures,
    });
    collected.all.push(reference);
    collected.references.set(inside, reference);
    if (type === 'trace') collected.traces.push(reference);
    if (type === 'video') collected.videos.push(reference);
    if (type === 'report') collected.report = reference;
    if (visit !== undefined) {
      const known = collected.screenshots.get(visit) ?? [];
      collected.screenshots.set(visit, [...known, reference]);
    }
  }
  return collected;
}
