/**
 * Credentials in files: `{ secret: NAME }` stands in their place, and their values come from the environment.
 * What a role that only reads may not see of a resource is a credential. Pure.
 */
import { type Fields, isFields } from '@monitor/shared/fields.ts';
import type {
  ProjectResource,
  ResourceType,
} from '@monitor/shared/contract/compatibility/projects.ts';
import { presentFields } from '../../core/decide/hidden-values.ts';
import { fieldsOfResource } from './known-fields.ts';

/** The fields as somebody sees them who may only read. */
const seenByReader = (type: ResourceType, fields: Fields): Fields =>
  presentFields(fieldsOfResource(type), fields, 'READ_ONLY');

/** A value that is a template names a variable, and is no credential itself. */
const isTemplate = (text: string): boolean => /^[^{}]*\{\{[^{}]*\}\}[^{}]*$/.test(text);

/** An entry whose value nobody may read: a secret variable. */
const isUnreadable = (holder: Fields, name: string): boolean =>
  name === 'value' && holder['value'] === null && holder['secret'] === true;

/** The names of secrets, each once. */
class Names {
  readonly #taken = new Set<string>();

  of(steps: readonly string[]): string {
    const name = steps
      .join('_')
      .replace(/[^A-Za-z0-9]+/g, '_')
      .toUpperCase();
    let free = name;
    for (let number = 2; this.#taken.has(free); number += 1) free = `${name}_${number}`;
    this.#taken.add(free);
    return free;
  }
}

export interface WithoutSecrets {
  resources: ProjectResource[];
  /** Values by name; null for one that nobody may read. */
  secrets: Map<string, string | null>;
}

/** Puts names in the place of credentials. */
export function withoutSecrets(resources: readonly ProjectResource[]): WithoutSecrets {
  const names = new Names();
  const secrets = new Map<string, string | null>();
  const hide = (value: unknown, seen: unknown, steps: readonly string[]): unknown => {
    if (Array.isArray(value)) {
      const items = seen as unknown[];
      return value.map((each: unknown, index) => {
        const key =
          isFields(each) && typeof each['key'] === 'string' ? each['key'] : String(index + 1);
        return hide(each, items[index], [...steps, key]);
      });
    }
    if (isFields(value)) {
      const fields = seen as Fields;
      return Object.fromEntries(
        Object.entries(value).map(([name, inner]) => {
          const path = name === 'value' ? steps : [...steps, name];
          if (!isUnreadable(value, name)) return [name, hide(inner, fields[name], path)];
          const secret = names.of(path);
          secrets.set(secret, null);
          return [name, { secret }];
        }),
      );
    }
    if (typeof value !== 'string' || value === seen || isTemplate(value)) return value;
    const secret = names.of(steps);
    secrets.set(secret, value);
    return { secret };
  };
  return {
    resources: resources.map((resource) => {
      const { type, logicalId, payload } = resource;
      if (payload === null) return resource;
      const seen = seenByReader(type, payload);
      return { ...resource, payload: hide(payload, seen, [type, logicalId]) as Fields };
    }),
    secrets,
  };
}

const secretIn = (value: unknown): string | null => {
  if (!isFields(value) || Object.keys(value).length !== 1) return null;
  return typeof value['secret'] === 'string' ? value['secret'] : null;
};

/**
 * Puts values in the place of names, and names those that are missing. An empty one is missing too: jobs
 * of continuous integration are given an empty variable for a secret that does not exist.
 */
export function withSecrets(
  resources: readonly ProjectResource[],
  values: Readonly<Record<string, string | undefined>>,
): { resources: ProjectResource[]; missing: string[] } {
  const missing = new Set<string>();
  const show = (value: unknown): unknown => {
    const name = secretIn(value);
    if (name !== null) {
      const found = values[name] ?? '';
      if (found === '') missing.add(name);
      return found;
    }
    if (Array.isArray(value)) return value.map(show);
    if (!isFields(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([field, inner]) => [field, show(inner)]));
  };
  return {
    resources: resources.map((resource) => ({
      ...resource,
      payload: resource.payload === null ? null : (show(resource.payload) as Fields),
    })),
    missing: [...missing].sort(),
  };
}
