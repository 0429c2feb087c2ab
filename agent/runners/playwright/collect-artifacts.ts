/** The files of a suite that go with its result: those of failed tests first, for there is a limit. */
import { join, relative, isAbsolute } from 'node:path';
import type { ArtifactType } from '@monitor/shared/contract/check-result.ts';
import { isCompared, isUndecided } from '../../browsers/run-baselines.ts';
import type { Workspace } from '../../script-host/script-host.ts';
import type { ArtifactSink } from '../runner.ts';
import type { SuiteAttempt, SuiteEvents, SuiteTest } from './suite-events.ts';
import type { SuiteLog } from './suite-log.ts';
import { nameOf } from './suite-outcome.ts';

/** A result carries 200 files; the log and the report are among them. */
const maxFiles = 190;

interface Collected {
  traces: { url: string; name: string; filename: string }[];
  videos: string[];
  all: string[];
  /** By path in the workspace. */
  references: Map<string, string>;
}

type Attachment = SuiteAttempt['attachments'][number];

function kindOf({ name, contentType }: Attachment): { type: ArtifactType; folder: string } {
  if (name === 'trace') return { type: 'trace', folder: 'traces' };
  if (contentType.startsWith('video/')) return { type: 'video', folder: 'videos' };
  if (contentType.startsWith('image/')) return { type: 'screenshot', folder: 'screenshots' };
  return { type: 'file', folder: 'attachments' };
}

const slug = (text: string, length: number): string =>
  text
    .normalize('NFKD')
    .replace(/[^A-Za-z0-9]+/g, '-')
    .slice(0, length)
    .replace(/^-+|-+$/g, '') || 'test';

function fileNameOf(test: SuiteTest, retry: number, { name, path }: Attachment): string {
  const extension = /\.[A-Za-z0-9]{1,8}$/.exec(path)?.[0].toLowerCase() ?? '';
  const parts = [slug(test.title, 80), ...(test.project === '' ? [] : [slug(test.project, 30)])];
  if (retry > 0) parts.push(`retry${retry}`);
  if (!['trace', 'video', 'screenshot'].includes(name)) parts.push(slug(name, 30));
  return parts.join('-') + extension;
}

const needsAttention = ({ outcome, runningSince }: SuiteTest): boolean =>
  outcome === 'unexpected' || outcome === 'flaky' || outcome === null || runningSince !== null;

/** Files of failed tests come first; of these, images that people are to compare. */
const rankOf = ({ test, attachment }: { test: SuiteTest; attachment: Attachment }): number =>
  (needsAttention(test) ? 0 : 2) + (isCompared(attachment) ? 0 : 1);

/** Hands the attachments of the tests over. What lies outside the run's folder is left where it is. */
export async function collectArtifacts(
  events: SuiteEvents,
  workspace: Workspace,
  sink: ArtifactSink,
  { log, withheldPictures }: { log: SuiteLog; withheldPictures: string | null },
): Promise<Collected> {
  const collected: Collected = { traces: [], videos: [], all: [], references: new Map() };
  const files = [...events.tests.values()]
    .flatMap((test) =>
      test.attempts
        .filter(({ status }) => status !== 'skipped')
        .flatMap(({ retry, errors, attachments }) =>
          attachments
            // Where there is no baseline, what was expected is a copy of what was seen.
            .filter(({ name }) => !(isUndecided(errors) && name.endsWith('-expected.png')))
            .map((attachment) => ({ test, retry, attachment })),
        ),
    )
    .sort((left, right) => rankOf(left) - rankOf(right));
  const taken = new Set<string>();
  let absent = 0;
  for (const { test, retry, attachment } of files.slice(0, maxFiles)) {
    const inside = relative(workspace.folder, attachment.path);
    if (taken.has(inside)) continue;
    taken.add(inside);
    const isInside = inside !== '' && !inside.startsWith('..') && !isAbsolute(inside);
    const handle = isInside ? await workspace.read(inside) : null;
    if (handle === null) {
      absent += 1;
      continue;
    }
    await handle.close();
    const { type, folder } = kindOf(attachment);
    const filename = fileNameOf(test, retry, attachment);
    const reference = await sink.add({
      path: join(workspace.folder, inside),
      name: `${folder}/${filename}`,
      type,
      contentType: attachment.contentType,
      withheldPictures,
    });
    collected.all.push(reference);
    collected.references.set(inside, reference);
    if (type === 'trace') collected.traces.push({ url: reference, name: nameOf(test), filename });
    if (type === 'video') collected.videos.push(reference);
  }
  if (absent > 0) {
    log.add(`${absent} attached files are not kept: they are not plain files of the run`, 'WARN');
  }
  if (files.length > maxFiles) {
    log.add(
      `${files.length - maxFiles} files are not kept: a result carries ${maxFiles}, those of failed tests first`,
      'WARN',
    );
  }
  return collected;
}
