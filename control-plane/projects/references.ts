/** What the resources of a project refer to: other resources of the project, and shared files. */
import { type Fields, isFields } from '@monitor/shared/fields.ts';
import type { ProjectBody, ResourceType } from '@monitor/shared/contract/compatibility/projects.ts';
import { mapAt } from '../core/decide/map-at.ts';
import { invalidField } from '../errors/api-error.ts';

export interface Target {
  physicalId: string;
  /** Of a private location. */
  slugName?: string;
}

/** `{"ref": "checkout-api"}` */
export function refIn(value: unknown): string | null {
  return isFields(value) && typeof value['ref'] === 'string' ? value['ref'] : null;
}

export const keyOf = (type: ResourceType, logicalId: string): string => `${type} ${logicalId}`;

export class References {
  readonly #targets = new Map<string, Target>();
  readonly #byId = new Map<string, Target>();
  readonly #sharedFiles: ProjectBody['sharedFiles'];
  /** Fields of the resource that is being read which are not kept. */
  readonly ignored: string[] = [];

  constructor(sharedFiles: ProjectBody['sharedFiles']) {
    this.#sharedFiles = sharedFiles;
  }

  set(type: ResourceType, logicalId: string, target: Target): void {
    this.#targets.set(keyOf(type, logicalId), target);
    this.#byId.set(keyOf(type, target.physicalId), target);
  }

  /** The target of a reference, or of an id. Refuses what the project does not hold, naming the field. */
  target(value: unknown, type: ResourceType, field: string): Target {
    const ref = refIn(value);
    const isId = typeof value === 'string' || typeof value === 'number';
    if (ref === null && !isId) {
      throw invalidField(field, `must be a reference such as {"ref": "name"}`);
    }
    const target =
      ref === null
        ? this.#byId.get(keyOf(type, String(value)))
        : this.#targets.get(keyOf(type, ref));
    if (target !== undefined) return target;
    const name = ref ?? String(value);
    throw invalidField(field, `refers to the ${type} "${name}", which the project does not hold`);
  }

  /** A value with the id in place of a reference; other values stay as they are. */
  id(value: unknown, type: ResourceType, field: string): unknown {
    if (refIn(value) === null) return value;
    const { physicalId } = this.target(value, type, field);
    return hasNumericId(type) ? Number(physicalId) : physicalId;
  }

  /** The files that a script names by index. */
  files(value: unknown, field: string): unknown {
    if (!Array.isArray(value)) return value;
    return value.map((each: unknown, index) => {
      if (typeof each !== 'number') return each;
      const file = this.#sharedFiles[each];
      if (file !== undefined) return file;
      throw invalidField(
        `${field}.${index}`,
        `names shared file ${each}, which the project does not hold`,
      );
    });
  }
}

const withTextId: ReadonlySet<ResourceType> = new Set([
  'check',
  'private-location',
  'status-page-service',
  'status-page',
  'variable',
  'escalation-policy',
]);

/** Whether the ids of a type are numbers. */
export function hasNumericId(type: ResourceType): boolean {
  return !withTextId.has(type);
}

/** What a kind refers to: the type by the path of the field, in which `*` is each item of a list. */
export type ReferencePaths = Readonly<Record<string, ResourceType>>;

/** The fields with `map` applied to each of their references. */
export function mapReferences(
  fields: Fields,
  paths: ReferencePaths,
  map: (found: unknown, type: ResourceType, field: string) => unknown,
): Fields {
  return Object.entries(paths).reduce<Fields>(
    (mapped, [path, type]) =>
      mapAt(mapped, path.split('.'), '', (found, field) => map(found, type, field)) as Fields,
    fields,
  );
}
