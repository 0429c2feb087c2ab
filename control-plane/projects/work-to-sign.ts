/**
 * What there is to sign of the checks of a project, from its files alone: the control plane that stores them may
 * lie, and is asked for nothing but the ids that it gave and the account.
 */
import { randomUUID } from 'node:crypto';
import type { CheckTypeDefinition } from '@monitor/shared/contract/checks/check-type.ts';
import type { CheckGroupFields } from '@monitor/shared/contract/check-group.ts';
import { findAgentType } from '@monitor/shared/contract/checks/index.ts';
import type {
  ProjectBody,
  ProjectResource,
} from '@monitor/shared/contract/compatibility/projects.ts';
import type { EnvironmentVariable } from '@monitor/shared/contract/primitives.ts';
import { isSecretVariable } from '@monitor/shared/domain/secret-variable.ts';
import { readsVariables, type SignedWork } from '@monitor/shared/signed-work/signed-part.ts';
import {
  applyGroup,
  assembledWork,
  type CheckFields,
  locationsOf,
  type WorkOf,
} from '../checks/index.ts';
import { invalidField } from '../errors/api-error.ts';
import type { Fields } from './kinds/kind.ts';
import { kinds } from './kinds/index.ts';
import { hasNumericId, keyOf, References } from './references.ts';
import { isAssignment, parseAssignment, slugOf } from './relations.ts';

export interface CheckToSign {
  logicalId: string;
  type: CheckTypeDefinition;
  /** The names of the variables that its runs may see. */
  variables: string[];
  /** By its ids, and with the runtime of the account, which counts where check and group name none. */
  work(ids: { id: string; accountId: string }, runtimeId: string | null): SignedWork;
}

interface Parsed {
  snippets: Map<number, { name: string; script: string }>;
  groups: Map<number, CheckGroupFields>;
  variables: EnvironmentVariable[];
}

/** Ids of this process; no number of the control plane is below zero. */
function localReferences({ resources, sharedFiles }: ProjectBody) {
  const references = new References(sharedFiles);
  const ids = new Map<ProjectResource, string>();
  for (const [at, resource] of resources.entries()) {
    const { type, logicalId, payload } = resource;
    const physicalId = hasNumericId(type) ? String(-1 - at) : randomUUID();
    const slugName = payload?.['slugName'];
    ids.set(resource, physicalId);
    references.set(type, logicalId, {
      ...{ physicalId, ...(typeof slugName === 'string' && { slugName }) },
    });
  }
  return { references, numberOf: (of: ProjectResource) => Number(ids.get(of)) };
}

/** The private locations that assignments add to each check and group. What one is called is taken from the files alone. */
function assignedIn(
  resources: readonly ProjectResource[],
  references: References,
): Map<string, string[]> {
  const slugs = new Map<string, string[]>();
  for (const each of resources) {
    if (!isAssignment(each)) continue;
    const { type, logicalId } = parseAssignment(each, () => undefined);
    const slug = slugOf(each, references);
    if (slug === '') {
      throw invalidField(
        'privateLocationId',
        `of "${each.logicalId}" is of a location that is not in these files, so that nobody can sign it; name it by its slug in the check`,
      );
    }
    const key = keyOf(type, logicalId);
    slugs.set(key, [...(slugs.get(key) ?? []), slug]);
  }
  return slugs;
}

function requireKnown({ snippets }: Parsed, holder: Fields): void {
  for (const field of ['setupSnippetId', 'tearDownSnippetId']) {
    const id = holder[field];
    if (id == null || snippets.has(Number(id))) continue;
    throw invalidField(
      field,
      'is of a snippet that is not in these files, so that nobody can sign it',
    );
  }
}

function groupOf({ groups }: Parsed, { groupId }: Fields): CheckGroupFields | null {
  if (groupId == null) return null;
  const group = groups.get(Number(groupId));
  if (group !== undefined) return group;
  throw invalidField(
    'groupId',
    'is of a group that is not in these files, so that nobody can sign it',
  );
}

/** The value of a secret is not signed, and that of another variable has to be known. */
function valueOf(variable: EnvironmentVariable): string {
  if (isSecretVariable(variable)) return '';
  if (variable.value !== null) return variable.value;
  throw invalidField(
    'environmentVariables',
    `has no value for ${variable.key}, so that nobody can sign it`,
  );
}

function toSign(
  logicalId: string,
  type: CheckTypeDefinition,
  body: Fields,
  parsed: Parsed,
): CheckToSign {
  const group = groupOf(parsed, body);
  const fields = applyGroup(body, group) as CheckFields;
  requireKnown(parsed, fields);
  if (group !== null) requireKnown(parsed, { ...group });
  const of: WorkOf = { type, fields, group };
  const assembled = (runtimeId: string | null) =>
    assembledWork(of, { ...parsed, runtimeId }, valueOf);
  const names = assembled(null).environment.map(({ key }) => key);
  return {
    ...{ logicalId, type },
    variables: readsVariables(type.type) ? [...new Set(names)].sort() : [],
    work: (ids, runtimeId) => ({
      ...{ ...ids, type: type.type, name: fields.name, locations: locationsOf(fields) },
      definition: Object.fromEntries(type.definitionKeys.map((key) => [key, fields[key]])),
      ...assembled(runtimeId),
    }),
  };
}

/** The checks that agents run, in order. Throws an ApiError for one that depends on more than its files. */
export function workToSign(body: ProjectBody): CheckToSign[] {
  const { references, numberOf } = localReferences(body);
  // The control plane stores nothing of what a project only refers to.
  const own = body.resources.filter(({ member }) => member);
  const assigned = assignedIn(own, references);
  const parse = (of: ProjectResource, payload: Fields): Fields => {
    const kind = kinds.find((one) => one.type === of.type);
    if (kind === undefined) throw new Error(`there is no kind ${of.type}`);
    return kind.parse(payload, references, assigned.get(keyOf(of.type, of.logicalId)) ?? []);
  };
  const parsed: Parsed = { snippets: new Map(), groups: new Map(), variables: [] };
  for (const resource of own) {
    const { type, payload } = resource;
    if (payload === null) continue;
    if (type === 'check-group') {
      const group = parse(resource, payload) as unknown as CheckGroupFields;
      parsed.groups.set(numberOf(resource), group);
    } else if (type === 'snippet') {
      const snippet = parse(resource, payload) as { name: string; script: string };
      parsed.snippets.set(numberOf(resource), snippet);
    } else if (type === 'variable') {
      parsed.variables.push(parse(resource, payload) as unknown as EnvironmentVariable);
    }
  }
  return own.flatMap((resource) => {
    const { payload } = resource;
    if (resource.type !== 'check' || payload === null) return [];
    const { checkType, ...fields } = parse(resource, payload);
    const type = findAgentType(String(checkType));
    return type === undefined ? [] : [toSign(resource.logicalId, type, fields, parsed)];
  });
}
