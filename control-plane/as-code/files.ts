/**
 * The resources of an account as a folder of YAML: a file for each, in a folder for each type, named by its
 * logical id. Subscriptions stand in the checks and groups that they belong to. Pure.
 */
import {
  logicalId as acceptedId,
  type ProjectBody,
  type ProjectResource,
  type ResourceType,
} from '@monitor/shared/contract/compatibility/projects.ts';
import type { Fields } from '@monitor/shared/fields.ts';
import {
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  stringify,
  visit,
  type Range,
} from 'yaml';
import { shorten } from '../core/escape.ts';
import { assertUsual, yamlProblem } from '../core/yaml-problem.ts';
import { withoutDefaults } from './defaults.ts';
import { unknownFieldsOf } from './decide/known-fields.ts';

export interface TextFile {
  /** From the folder of the project, with `/`. */
  path: string;
  text: string;
}

export const projectFile = 'project.yaml';

/** In the order in which people read them. */
const folders: readonly [folder: string, type: ResourceType][] = [
  ['private-locations', 'private-location'],
  ['alert-channels', 'alert-channel'],
  ['variables', 'variable'],
  ['snippets', 'snippet'],
  ['escalation-policies', 'escalation-policy'],
  ['check-groups', 'check-group'],
  ['checks', 'check'],
  ['services', 'status-page-service'],
  ['status-pages', 'status-page'],
  ['maintenance-windows', 'maintenance-window'],
  ['dashboards', 'dashboard'],
];
const folderOf = new Map(folders.map(([folder, type]) => [type, folder]));
const typeOf = new Map(folders);

/** Whether a file of this path holds a resource. */
export function isResource(path: string): boolean {
  const [folder = '', ...rest] = path.split('/');
  return typeOf.has(folder) && rest.length === 1;
}

/** Where the ids of subscriptions come from. */
const subscriptionId = (type: ResourceType, of: string, channel: string): string =>
  `${type}-alert-channel-subscription#${of}#${channel}`;

/** A mistake in a file: its path, and the line where there is one. */
export class FileProblem extends Error {
  constructor(path: string, problem: string, line?: number) {
    super(`${path}${line === undefined ? '' : `, line ${line}`}: ${problem}`);
  }
}

const plainCharacter = /[\w .-]/;

/** The logical id as the name of a file, and back: what a file system may not take is `%` and its bytes. */
function nameOf(logicalId: string): string {
  const name = [...logicalId]
    .map((one) => (plainCharacter.test(one) ? one : encodeURIComponent(one).replaceAll("'", '%27')))
    .map((one) =>
      /^[!*()~]$/.test(one) ? `%${one.charCodeAt(0).toString(16).toUpperCase()}` : one,
    )
    .join('');
  return name.startsWith('.') ? `%2E${name.slice(1)}` : name;
}

function idOf(path: string, name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    throw new FileProblem(path, 'its name is no logical id: "%" must be written as "%25"');
  }
}

const refOf = (value: unknown): string =>
  typeof value === 'object' && value !== null ? String((value as Fields)['ref']) : '';

/** Channels by what subscribes to them: a name, or a name that is switched off. */
function subscriptionsIn(resources: readonly ProjectResource[]): Map<string, unknown[]> {
  const found = new Map<string, unknown[]>();
  for (const { type, payload } of resources) {
    if (type !== 'alert-channel-subscription' || payload === null) continue;
    const of = payload['checkId'] == null ? 'check-group' : 'check';
    const key = `${of} ${refOf(payload[of === 'check' ? 'checkId' : 'groupId'])}`;
    const channel = refOf(payload['alertChannelId']);
    const shown = payload['activated'] === false ? { ref: channel, activated: false } : channel;
    found.set(key, [...(found.get(key) ?? []), shown]);
  }
  return found;
}

const byText = (one: unknown, other: unknown): number =>
  JSON.stringify(one) < JSON.stringify(other) ? -1 : 1;

const textOf = (value: unknown): string => stringify(value, { lineWidth: 100, indentSeq: true });

/** In a stable order: the same resources give the same bytes. */
export function filesOf({
  project,
  resources,
}: Pick<ProjectBody, 'project' | 'resources'>): TextFile[] {
  const subscriptions = subscriptionsIn(resources);
  const files = resources
    .map(withoutDefaults)
    .flatMap(({ type, logicalId, payload }): TextFile[] => {
      const folder = folderOf.get(type);
      if (folder === undefined || payload === null) return [];
      const channels = subscriptions.get(`${type} ${logicalId}`) ?? [];
      const fields =
        channels.length === 0 ? payload : { ...payload, alertChannels: channels.sort(byText) };
      return [{ path: `${folder}/${nameOf(logicalId)}.yaml`, text: textOf(fields) }];
    });
  return [
    { path: projectFile, text: textOf(project) },
    ...files.sort((one, other) => (one.path < other.path ? -1 : 1)),
  ];
}

/** Where a field stands, by its path. */
function offsetOf(contents: unknown, [step, ...deeper]: readonly string[]): number | undefined {
  if (isSeq(contents)) return offsetOf(contents.items[Number(step)], deeper);
  if (!isMap(contents)) return undefined;
  const pair = contents.items.find(({ key }) => String(key) === step);
  if (deeper.length > 0) return offsetOf(pair?.value, deeper);
  return isScalar(pair?.key) ? pair.key.range?.[0] : undefined;
}

/** The parser goes down a call for each level. */
function parsed<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new FileProblem(path, yamlProblem(error.message));
  }
}

interface Read {
  fields: Fields;
  lineOf: (field: string) => number | undefined;
}

function read({ path, text }: TextFile): Read {
  const lines = new LineCounter();
  const problemAt = (problem: string, range: Range | null | undefined) =>
    new FileProblem(path, problem, lines.linePos(range?.[0] ?? 0).line);
  const document = parsed(path, () =>
    parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: false }),
  );
  // A tag that means nothing here would be dropped.
  const [error] = [...document.errors, ...document.warnings];
  if (error !== undefined) {
    throw new FileProblem(path, yamlProblem(error.message), lines.linePos(error.pos[0]).line);
  }
  if (!isMap(document.contents))
    throw new FileProblem(path, 'must hold fields such as "name: Shop"');
  visit(document, {
    // A few of them make a document of any size.
    Alias(_key, { range }) {
      throw problemAt('aliases such as "*name" are not read', range);
    },
    // JSON has no such number: it would be sent as null.
    Scalar(_key, { value, range, source }) {
      if (typeof value !== 'number' || Number.isFinite(value)) return;
      throw problemAt(`${String(source)} is no number that can be kept`, range);
    },
    Collection(key, collection, ancestors) {
      if (key === 'key') throw problemAt('the name of a field must be text', collection.range);
      assertUsual(collection, ancestors, problemAt);
    },
  });
  return {
    fields: document.toJS({ maxAliasCount: 0 }) as Fields,
    lineOf(field) {
      const offset = offsetOf(document.contents, field.split('.'));
      return offset === undefined ? undefined : lines.linePos(offset).line;
    },
  };
}

/** Refuses a field that would have no effect. */
function refuseUnknown(
  { path }: TextFile,
  { fields, lineOf }: Read,
  type: ResourceType | 'project',
  name: string,
): void {
  const [first, ...more] = unknownFieldsOf(type, fields);
  if (first === undefined) return;
  const hint = first.meant === null ? '' : `; did you mean "${first.meant}"?`;
  const others = more.map((field) => `"${field.path}"`).join(', ');
  const rest = more.length === 0 ? '' : `; nor has it ${others}`;
  const problem = `the ${type} "${name}" has no field "${first.path}"${rest}${hint}`;
  throw new FileProblem(path, problem, lineOf(first.path));
}

function subscriptionsOf(
  path: string,
  type: ResourceType,
  logicalId: string,
  channels: unknown,
): ProjectResource[] {
  if (channels === undefined) return [];
  const problem = 'must be a list of alert channels by the names of their files';
  if (!Array.isArray(channels)) throw new FileProblem(path, `"alertChannels" ${problem}`);
  return channels.map((channel: unknown) => {
    const ref = typeof channel === 'string' ? channel : refOf(channel);
    if (ref === '' || ref === 'undefined')
      throw new FileProblem(path, `"alertChannels" ${problem}`);
    const id = subscriptionId(type, logicalId, ref);
    if (!acceptedId.safeParse(id).success)
      throw new FileProblem(
        path,
        `"alertChannels" has a name that is too long: ${shorten(ref, 40)}`,
      );
    const activated = typeof channel === 'string' || (channel as Fields)['activated'] !== false;
    const field = type === 'check' ? 'checkId' : 'groupId';
    return {
      ...{
        logicalId: id,
        type: 'alert-channel-subscription',
        member: true,
      },
      payload: { alertChannelId: { ref }, [field]: { ref: logicalId }, activated },
    };
  });
}

/** Throws a FileProblem that names the file. */
export function bodyOf(files: readonly TextFile[]): ProjectBody {
  const own = files.find(({ path }) => path === projectFile);
  if (own === undefined) {
    throw new FileProblem(projectFile, 'is missing; it has "logicalId" and "name" of the project');
  }
  const resources = files.flatMap((file): ProjectResource[] => {
    if (file === own) return [];
    const [folder = '', name = '', ...deeper] = file.path.split('/');
    const type = typeOf.get(folder);
    if (type === undefined || deeper.length > 0) {
      const names = folders.map(([each]) => each).join(', ');
      throw new FileProblem(file.path, `resources stand in one of the folders ${names}`);
    }
    const logicalId = idOf(file.path, name.replace(/\.ya?ml$/, ''));
    const content = read(file);
    refuseUnknown(file, content, type, logicalId);
    const { alertChannels, ...payload } = content.fields;
    return [
      { logicalId, type, member: true, payload },
      ...subscriptionsOf(file.path, type, logicalId, alertChannels),
    ];
  });
  const content = read(own);
  const project = content.fields as unknown as ProjectBody['project'];
  refuseUnknown(own, content, 'project', project.logicalId);
  return { project, sharedFiles: [], resources };
}
