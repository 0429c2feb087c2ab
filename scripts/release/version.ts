/** One number for agent, control plane and charts, and what the changelog says of it. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { StepFailure, type Finding, type ReleaseContext } from './step.ts';

const manifests = [
  'package.json',
  'shared/package.json',
  'agent/package.json',
  'control-plane/package.json',
];
const charts = [
  'deploy/charts/monitor-agent/Chart.yaml',
  'deploy/charts/monitor-control-plane/Chart.yaml',
];
const changelog = 'CHANGELOG.md';

/** The list of changes of a release; undefined where the changelog has no section for it. */
export function changesOf(text: string, release: string): string | undefined {
  const [, ...sections] = text.split(/^## /m);
  const section = sections.find((each) => each.startsWith(`${release}\n`));
  return section === undefined ? undefined : `${section.slice(release.length).trim()}\n`;
}

export function readChanges(checkout: string, release: string): string | undefined {
  return changesOf(readFileSync(join(checkout, changelog), 'utf8'), release);
}

/** Files that name another version, as `file: version`. */
function differing(checkout: string, version: string): string[] {
  const read = (file: string): string => readFileSync(join(checkout, file), 'utf8');
  return [...manifests, ...charts].flatMap((file) => {
    const { version: own, appVersion = own } = parse(read(file)) as Record<string, string>;
    const isRight = (own ?? version) === version && (appVersion ?? version) === version;
    return isRight ? [] : [`${file}: ${own}`];
  });
}

/** Writes what the version changes beside the artefacts. */
export function checkVersion({ checkout, out, version }: ReleaseContext): Promise<Finding> {
  const next = 'follow "A release" in CONTRIBUTING.md, and commit it';
  const others = differing(checkout, version);
  if (others.length > 0) {
    throw new StepFailure(`not all files say ${version}: ${others.join(', ')}`, next);
  }
  if (readChanges(checkout, 'Pending') !== undefined) {
    throw new StepFailure(`${changelog} still has Pending`, next);
  }
  const changes = readChanges(checkout, version);
  if (changes === undefined) {
    throw new StepFailure(`${changelog} has no section for ${version}`, next);
  }
  writeFileSync(join(out, 'CHANGELOG.md'), `# ${version}\n\n${changes}`);
  const count = changes.split(/^- /m).length - 1;
  return Promise.resolve({
    summary: `manifests, charts and changelog say ${version}, which has ${count} changes`,
  });
}
