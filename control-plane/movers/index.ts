/** What other modules may use. */
import type { ProjectResource } from '@monitor/shared/contract/compatibility/projects.ts';
import { blackbox, prometheus } from './blackbox/index.ts';
import { csv } from './csv.ts';
import { formatNames, type Format } from './decide/formats.ts';
import { gatus } from './gatus/index.ts';
import { kuma } from './kuma/index.ts';
import { SourceError, type Mover, type SourceFile } from './mover.ts';
import { openstatus } from './openstatus.ts';
import { Plan, projectId, type PlanOptions } from './plan.ts';

export type { Format } from './decide/formats.ts';
export { SourceError, type SourceFile } from './mover.ts';
export {
  type Beside,
  incidentKey,
  laterUpdates,
  planAccount,
  type SourceAccount,
  sourceLists,
  type SourceListName,
} from './account/index.ts';
export { kumaAggregates, kumaTables } from './kuma/index.ts';
export { projectId, splitLocations, type Plan } from './plan.ts';
export { planText, planToWire, sections, summary, type Said } from './show-plan.ts';

export interface ImportRequest extends PlanOptions {
  /** Null to recognise it. */
  from: Format | null;
  /** Logical id of the project; null for one of the format's name. */
  project: string | null;
}

const formats: Readonly<Record<Format, Mover>> = {
  ...{ kuma, gatus, prometheus, blackbox, openstatus, csv },
};

function recognise(files: readonly SourceFile[]): Format {
  const found = formatNames.find((name) => formats[name].recognises(files));
  if (found !== undefined) return found;
  const titles = formatNames.map((name) => formats[name].title).join(', ');
  throw new SourceError(
    `the format is not known: these are not files of ${titles}. Name the format if they are`,
  );
}

/** What the files become. Reads and changes nothing else. */
export function planImport(given: readonly SourceFile[], request: ImportRequest): Plan {
  // A mark of the byte order is no part of a text.
  const files = given.map((file) => ({ ...file, text: file.text.replace(/^\uFEFF/, '') }));
  if (files.length === 0) throw new SourceError('there are no files');
  const page = files.find(({ text }) => /^\s*<(!doctype\s+html|html)\b/i.test(text));
  if (page !== undefined) {
    throw new SourceError(
      `${page.path} is an HTML page, and no configuration: download the file itself, such as its raw text`,
    );
  }
  const from = request.from ?? recognise(files);
  const mover = formats[from];
  const plan = new Plan(mover.title, projectId(request.project ?? `import-${from}`), request);
  const others = formatNames.filter((name) => formats[name].convert !== mover.convert);
  /** The other product whose file it is. */
  const ownerOf = (file: SourceFile) =>
    mover.recognises([file])
      ? undefined
      : others.find((name) => formats[name].reads(file) && formats[name].recognises([file]));
  const isRead = (file: SourceFile) => mover.reads(file) && ownerOf(file) === undefined;
  mover.convert(files.filter(isRead), plan);
  for (const file of files.filter((one) => !isRead(one))) {
    const owner = ownerOf(file);
    const why =
      owner === undefined ? '' : `: it is of ${formats[owner].title}, import it by itself`;
    plan.say('NOT_CARRIED', `${file.path} is not read${why}.`);
  }
  plan.settle();
  if (plan.resources.length === 0 && plan.lines.length === 0) {
    throw new SourceError(`there is nothing of ${mover.title} in the files`);
  }
  return plan;
}

const variableResource = ({ key, value }: Plan['variables'][number]): ProjectResource => ({
  ...{ logicalId: key, type: 'variable', member: true },
  payload: { key, value, secret: true },
});

/** The body that makes the plan a project. */
export function projectBodyOf(plan: Plan) {
  return {
    project: { logicalId: plan.project, name: `Import from ${plan.title}` },
    sharedFiles: [],
    resources: [...plan.variables.map(variableResource), ...plan.resources],
  };
}
