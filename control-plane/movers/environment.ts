/**
 * Values of the operator's environment that files ask for. A file may come from somebody else, so no value
 * becomes readable text: it is filled in as a mark, and once everything is converted, each mark becomes a secret
 * variable, where a check can use one, or the name of the variable.
 */
import { isFields } from '@monitor/shared/fields.ts';
import { variableMark } from './source-object.ts';
import { type Plan, type Resource, variablePrefix } from './plan.ts';

/** Neither YAML nor a URL changes it. One without a value ends in another letter. */
const markOf = (index: number, isSet: boolean): string => `zq7env${index}${isSet ? 'q' : 'u'}7z`;
const marks = new RegExp(variableMark, 'g');
/** Numbers, times and switches decide how a file is read, and hide nothing. */
const isPlain = (value: string): boolean =>
  /^(\d{1,5}|(\d{1,9}(\.\d{1,3})?(ms|s|m|h)){1,4}|true|false|yes|no|on|off)$/i.test(value);
/** Of API checks, where templates are filled in. */
const inRequest =
  /^request\.(url|body|(headers|queryParameters)\.\d+\.value|basicAuth\.(username|password))$/;

export const unsetText = (names: readonly string[]): string =>
  `needs the environment variable ${names.join(', ')} first`;

export class FilledVariables {
  readonly #plan: Plan;
  readonly #filled: { name: string; value: string; wanted: string | null }[] = [];

  constructor(plan: Plan) {
    this.#plan = plan;
  }

  /**
   * Names of variables in a record that have no value: what it becomes cannot be known, so the import needs them.
   * Those of other parts of the files do not matter.
   */
  unsetIn(given: unknown): string[] {
    const found = JSON.stringify(given).matchAll(marks);
    const filled = [...found].flatMap(([, index]) => this.#filled[Number(index)] ?? []);
    const unset = filled.flatMap(({ name, wanted }) => (wanted === null ? [] : [{ name, wanted }]));
    for (const { wanted } of unset) this.#plan.need(wanted);
    return [...new Set(unset.map(({ name }) => name))];
  }

  /** What stands in the place of a variable while its file is read; `wanted` says what is missing. */
  fill(name: string, given: string | undefined, wanted: string | null): string {
    const value = given ?? '';
    if (given !== undefined && isPlain(value)) {
      this.#plan.say('CHANGED', `The environment variable ${name} is filled in as \`${value}\`.`);
      return value;
    }
    // What kind of check it is depends on the scheme.
    const [scheme = ''] = /^[a-z][a-z+]*:\/\//i.exec(value) ?? [];
    const rest = value.slice(scheme.length);
    const known = this.#filled.findIndex((each) => each.name === name);
    const isSet = wanted === null;
    if (known !== -1) return scheme + markOf(known, isSet);
    return scheme + markOf(this.#filled.push({ name, value: rest, wanted }) - 1, isSet);
  }

  /** Replaces the marks of all resources. */
  settle(): void {
    if (this.#filled.length === 0) return;
    const { resources, variables } = this.#plan;
    // Credentials of other fields became variables already.
    for (const variable of variables) {
      variable.value = variable.value.replace(marks, (_mark, index) => this.#at(index).value);
    }
    resources.splice(0, resources.length, ...resources.map((each) => this.#settled(each)));
    for (const line of this.#plan.lines) {
      line.text = this.#named(line.text);
      line.name = line.name && this.#named(line.name);
      line.object = line.object && this.#named(line.object);
    }
  }

  #at(index: unknown): { name: string; value: string } {
    return this.#filled[Number(index)] ?? { name: '', value: '' };
  }

  #named(text: string, before = '$'): string {
    return text.replace(marks, (_mark, index) => before + this.#at(index).name);
  }

  #settled(resource: Resource): Resource {
    const logicalId = this.#named(resource.logicalId, '');
    const of: Resource = { ...resource, logicalId };
    const payload = this.#walk(of, resource.payload, []) as Resource['payload'];
    // A URL monitor has no templates; an API check does what it does.
    const hasMark = JSON.stringify(resource.payload['request'] ?? null).search(marks) !== -1;
    if (payload['checkType'] === 'URL' && hasMark) payload['checkType'] = 'API';
    return { ...of, payload };
  }

  #walk(of: Resource, value: unknown, path: readonly string[]): unknown {
    if (typeof value === 'string' && value.search(marks) !== -1) return this.#text(of, value, path);
    if (Array.isArray(value)) {
      return value.map((each, at) => this.#walk(of, each, [...path, String(at)]));
    }
    if (!isFields(value)) return value;
    const walked = (name: string) => this.#walk(of, value[name], [...path, name]);
    return Object.fromEntries(
      Object.keys(value).map((name) => [this.#named(name), walked(name)]),
    ) as unknown;
  }

  #text({ type, logicalId, payload }: Resource, text: string, path: readonly string[]): string {
    const place = path.join('.');
    const isWeb = payload['checkType'] === 'API' || payload['checkType'] === 'URL';
    const isSecret = type === 'check' && isWeb && inRequest.test(place);
    // Settings of a channel are encrypted, and hidden from those who may only read.
    const isChannel = type === 'alert-channel' && path[0] === 'config';
    const isReference = path.at(-1) === 'ref';
    return text.replace(marks, (_mark, index) => {
      const { name, value } = this.#at(index);
      const what = `The environment variable ${name}`;
      if (isReference) return name;
      if (isSecret) {
        const prefix = variablePrefix(this.#plan.project);
        const key = this.#plan.keepSecret(prefix + name.toUpperCase(), value);
        this.#plan.say('SECRET', `${what} is stored as the secret variable ${key}.`);
        return `{{${key}}}`;
      }
      if (isChannel) {
        this.#plan.say('SECRET', `${what} is stored in ${logicalId}.`);
        return value;
      }
      if (['name', 'tags', 'description'].includes(path[0] ?? '')) {
        const how = 'stands in text that people read, and is not filled in there.';
        this.#plan.say('CHANGED', `${what} ${how}`);
      } else {
        this.#plan.need(
          `the value of the environment variable ${name} in the file itself, since \`${place}\` of ${logicalId} cannot hold a secret`,
        );
      }
      return `$${name}`;
    });
  }
}
