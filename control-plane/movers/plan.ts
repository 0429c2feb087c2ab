/** What an import will do: resources of a project, secret variables, and a report without gaps. */
import { reportClasses } from '@monitor/shared/contract/file-import.ts';
import { dataCenterLocation } from '@monitor/shared/contract/primitives.ts';
import { duration, frequencyFor, requestsPerHour, type Frequency } from './decide/interval.ts';
import { refusalOf } from './acceptable.ts';
import { isFields } from '@monitor/shared/fields.ts';
import { lookUp, placeOf, SourceError, type SourceObject } from './source-object.ts';

/** Every object and every field that says something ends in one of these. */
export type ReportClass = (typeof reportClasses)[number];

export interface PlanOptions {
  /** Data-center locations and slugs of private locations on which the checks will run. */
  locations: readonly string[];
  privateLocations: readonly string[];
  /** Where an interval is not allowed here, take the next longer one. */
  prefersLonger: boolean;
  /** Values for variables that files name, such as `$TOKEN`. */
  environment: Readonly<Record<string, string | undefined>>;
}

export interface ReportLine {
  class: Exclude<ReportClass, 'EXACT'>;
  /** Kind and id of the object in the source; null for the whole source. */
  object: string | null;
  /** Its name; null for the whole source. */
  name: string | null;
  /** File and line of the object, where the file has lines. */
  place: string | null;
  text: string;
}

export interface Ref {
  ref: string;
}

export interface Resource {
  logicalId: string;
  type: string;
  member: true;
  payload: Record<string, unknown>;
}

export interface SecretVariable {
  key: string;
  value: string;
}

const ofSource = { object: null, name: null, place: null };
const nameUpTo = 255;
const descriptionUpTo = 500;
const maxTags = 100;
const maxEntries = 20_000;
export const noCounterpart = ' has no counterpart';

export const ref = (logicalId: string): Ref => ({ ref: logicalId });

/** Letters and digits of any script, dots, hyphens and underscores of a name: for ids. */
export function slug(text: string): string {
  return text
    .trim()
    .replace(/[^\p{L}\p{N}._-]+/gu, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 120);
}

/** The name of a project: lower case, so that names of its variables tell projects apart. */
export function projectId(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
    .slice(0, 100);
}

/** How the keys of the variables of a project begin. No other project has keys that begin so. */
export function variablePrefix(project: string): string {
  return `${project.toUpperCase().replaceAll('-', '_')}__`;
}

class NothingMade extends Error {}

/** What is false, null or empty is not said: a condition may stand before a text. */
type Maybe = string | false | null | undefined;
const isSaid = (text: Maybe): text is string => typeof text === 'string' && text !== '';

/** What an object becomes; null where it is given up. */
export function attempt<T>(convert: () => T): T | null {
  try {
    return convert();
  } catch (thrown) {
    if (thrown instanceof NothingMade) return null;
    throw thrown;
  }
}

/** One object of the source and what the report says about it. */
export class Entry {
  readonly #plan: Plan;
  /** Kind and id in the source. */
  readonly object: string;
  readonly name: string;
  readonly #place: string | null;
  readonly #said = new Set<string>();
  /** Objects without which it is not the same: it is exact where they are. */
  readonly basedOn = new Set<Entry>();
  isDeactivated = false;
  lines = 0;

  constructor(plan: Plan, object: string, name: string, place: string | null) {
    this.#plan = plan;
    this.object = object;
    this.name = name;
    this.#place = place;
  }

  #say(kind: ReportLine['class'], texts: readonly Maybe[]): void {
    for (const text of texts.filter(isSaid)) {
      // The same may be found at each of its targets.
      if (this.#said.has(kind + text)) continue;
      this.#said.add(kind + text);
      this.lines += 1;
      const { object, name } = this;
      const line = { class: kind, object, name, place: this.#place };
      this.#plan.lines.push({ ...line, text: /[.!?]$/.test(text) ? text : `${text}.` });
    }
  }

  get isExact(): boolean {
    return this.lines === 0 && this.basedOn.values().every((one) => one.isExact);
  }

  changed(...texts: Maybe[]): void {
    this.#say('CHANGED', texts);
  }

  /** A text up to its limit, with a line where it is longer. */
  cut(what: string, text: string, limit: number): string {
    this.changed(text.length > limit && `${what} cut to ${limit} characters`);
    return text.slice(0, limit);
  }

  approximate(...texts: Maybe[]): void {
    this.#say('APPROXIMATE', texts);
  }

  /** The check is created, but does not run until somebody has looked at it. */
  deactivated(...texts: Maybe[]): void {
    const said = texts.filter(isSaid);
    this.isDeactivated ||= said.length > 0;
    this.#say(
      'DEACTIVATED',
      said.map((text) => `${text}. Imported switched off`),
    );
  }

  notCarried(...texts: Maybe[]): void {
    this.#say('NOT_CARRIED', texts);
  }

  /** A credential that somebody must set. */
  unknownSecret(text: string): void {
    this.#say('SECRET', [text]);
  }

  /** Gives the object up: it becomes nothing. */
  nothing(why: string): never {
    this.notCarried(`${why}. Nothing was created`);
    throw new NothingMade();
  }

  /** Our templates begin with `{{`: a text of another product that has it would change. */
  guardTemplate(field: string, text: string): string {
    this.deactivated(text.includes('{{') && `${field} contains {{, which begins a template here`);
    return text;
  }

  /** Stores a credential as a secret variable and gives the template for it. */
  secret(field: string, value: string): string {
    if (value === '') return '';
    const own = `${this.object}_${field}`.toUpperCase().replace(/[^A-Z0-9]+/g, '_');
    const key = `${variablePrefix(this.#plan.project)}${own}`;
    return `{{${this.#plan.keepSecret(key, value)}}}`;
  }

  /** Names the fields that are given of those that have no counterpart. A reason may follow the name. */
  refuse(
    source: SourceObject,
    reasons: Readonly<Record<string, string>>,
    how: 'approximate' | 'deactivated' | 'notCarried' = 'deactivated',
    prefix = '',
  ): void {
    for (const [field, why] of Object.entries(reasons)) {
      const name = `\`${prefix}${field}\``;
      this[how](source.has(field) && (/^[ :]/.test(why) ? name + why : `${why} (${name})`));
      source.skip(field);
    }
  }

  /** What nothing has read. `reasons` follow the name of a field; the others have no counterpart. */
  leftovers(source: SourceObject, reasons: Readonly<Record<string, string>> = {}): void {
    for (const path of source.unread()) {
      const why = lookUp(reasons, path);
      this.notCarried(`${why === undefined ? 'field ' : ''}\`${path}\`${why ?? noCounterpart}`);
    }
  }

  /** A frequency for an interval in seconds, with a line where it differs. `shortest` is that of a type. */
  frequency(seconds: number, shortest = 0): Frequency {
    const wanted = Math.max(seconds, shortest);
    const chosen = frequencyFor(wanted, this.#plan.options.prefersLonger);
    const [before, after] = [requestsPerHour(seconds), requestsPerHour(chosen.seconds)];
    const load = before === after ? '' : ` (${before} → ${after} requests per hour)`;
    const isLost = seconds < 0.001;
    const given = isLost
      ? 'an interval without unit is in nanoseconds there'
      : `every ${duration(seconds)}`;
    this.changed(
      chosen.seconds !== seconds &&
        `${given} → every ${duration(chosen.seconds)}${isLost ? '' : load}`,
    );
    return chosen;
  }

  /** Limits for a timeout in seconds; without a timeout, the longest. A type may have no limit. */
  timeLimits(
    seconds: number,
    ceilingMs: number | null,
  ): { degradedResponseTime: null; maxResponseTime: number } | Record<string, never> {
    if (ceilingMs === null) return {};
    const wanted = Math.round(seconds * 1000);
    const cut = `timeout ${duration(seconds)} → ${duration(ceilingMs / 1000)}, the longest here`;
    this.changed(wanted > ceilingMs && cut);
    const isUsable = wanted > 0 && wanted <= ceilingMs;
    return { degradedResponseTime: null, maxResponseTime: isUsable ? wanted : ceilingMs };
  }
}

export interface CommonFields {
  name: string;
  description?: string;
  tags?: readonly string[];
  active: boolean;
  groupId?: Ref | null;
}

export class Plan {
  readonly title: string;
  readonly options: PlanOptions;
  /** Logical id of the project. */
  readonly project: string;
  readonly resources: Resource[] = [];
  readonly variables: SecretVariable[] = [];
  readonly lines: ReportLine[] = [];
  /** Its files hold the credentials that it has. */
  hasFiles = true;
  /** What the files need before anything can be written. */
  readonly missing: string[] = [];
  readonly entries: Entry[] = [];
  readonly #secrets = new Map<string, string>();
  readonly #byId = new Map<string, Resource>();
  readonly #said = new Set<string>();
  readonly #owners = new Map<string, unknown>();
  readonly #entryOf = new Map<string, Entry>();

  constructor(title: string, project: string, options: PlanOptions) {
    this.title = title;
    this.project = project;
    this.options = options;
  }

  /** Registers an object of the source; `given` is its record in the file. */
  entry(kind: string, id: string, name: string, given?: unknown): Entry {
    if (this.entries.length >= maxEntries) {
      throw new SourceError(
        `${kind} ${id}: more than ${maxEntries} objects are not imported at once`,
      );
    }
    const shown = name === '' ? `${kind} ${id}` : name;
    const entry = new Entry(this, `${kind} ${id}`, shown, placeOf(given));
    this.entries.push(entry);
    return entry;
  }

  /** Lines about the whole source, each once. */
  say(kind: ReportLine['class'], ...texts: Maybe[]): void {
    const lines = texts.filter(isSaid).filter((text) => !this.#said.has(text));
    for (const text of new Set(lines)) this.lines.push({ class: kind, ...ofSource, text });
    for (const text of lines) this.#said.add(text);
  }

  /** `place` is where the files name it. */
  need(wanted: string, place: string | null = null): void {
    const what = place === null ? wanted : `${wanted} (${place})`;
    if (!this.missing.includes(what)) this.missing.push(what);
  }

  /** Keeps a value under its key, or one with a number when another value has it; gives the key. */
  keepSecret(key: string, value: string): string {
    let free = key;
    for (let number = 2; (this.#secrets.get(free) ?? value) !== value; number += 1) {
      free = `${key}_${number}`;
    }
    if (!this.#secrets.has(free)) this.variables.push({ key: free, value });
    this.#secrets.set(free, value);
    return free;
  }

  /** An id that begins so, which nothing but `owner` has; what it names is made of `entry`. */
  idFor(wanted: string, owner: unknown, entry?: Entry): string {
    let id = wanted;
    for (let number = 2; (this.#owners.get(id) ?? owner) !== owner; number += 1) {
      id = `${wanted}-${number}`;
    }
    this.#owners.set(id, owner);
    if (entry !== undefined) this.#entryOf.set(id, entry);
    return id;
  }

  /** `entry` is what it is made of. */
  add(type: string, logicalId: string, payload: Record<string, unknown>, entry?: Entry): Ref {
    const resource: Resource = { logicalId, type, member: true, payload };
    if (entry !== undefined) this.#entryOf.set(logicalId, entry);
    this.resources.push(resource);
    this.#byId.set(logicalId, resource);
    return ref(logicalId);
  }

  has(logicalId: string): boolean {
    return this.#byId.has(logicalId);
  }

  change(logicalId: string, fields: Record<string, unknown>): void {
    Object.assign(this.#byId.get(logicalId)?.payload ?? {}, fields);
  }

  /** The check group of a name; null without a name. */
  group(name: string): Ref | null {
    if (name === '') return null;
    const id = this.idFor(`group-${slug(name)}`, name);
    if (!this.has(id)) this.addGroup(id, { name: name.slice(0, nameUpTo) });
    return ref(id);
  }

  /** A group that leaves everything to its checks. */
  addGroup(logicalId: string, fields: Record<string, unknown>): void {
    this.add('check-group', logicalId, {
      ...{ v: 2, useGlobalAlertSettings: null, doubleCheck: false },
      ...fields,
    });
  }

  /**
   * Leaves out what the API would refuse, with what depends on it: the others can be imported. Called
   * once everything is added.
   */
  settle(): void {
    const refused = new Set<string>();
    for (const { logicalId, type, payload } of this.resources) {
      const problem = refusalOf(type, payload);
      if (problem === null) continue;
      refused.add(logicalId);
      const entry = this.#entryOf.get(logicalId);
      const name = String(payload['name'] ?? logicalId);
      const text = `«${name}» (${logicalId}): ${problem}. Nothing was created.`;
      if (entry === undefined) this.say('NOT_CARRIED', text);
      else entry.notCarried(text);
    }
    if (refused.size > 0) this.#drop(refused);
    // What was left out needs no credential.
    const used = JSON.stringify(this.resources);
    const needed = this.variables.filter(({ key }) => used.includes(`{{${key}}}`));
    this.variables.splice(0, this.variables.length, ...needed);
  }

  /** Leaves out a resource that was refused, with what depends on it. False when the plan has no such. */
  leaveOut(logicalId: string, problem: string): boolean {
    if (!this.resources.some((each) => each.logicalId === logicalId)) return false;
    const entry = this.#entryOf.get(logicalId);
    entry?.notCarried(`${problem}. Nothing was created`);
    this.#drop(new Set([logicalId]));
    return true;
  }

  #drop(refused: ReadonlySet<string>): void {
    const isGone = (value: unknown) => isFields(value) && refused.has(String(value['ref']));
    const kept = this.resources.filter(
      ({ logicalId, type, payload: { alertChannelId, checkId, groupId } }) =>
        !refused.has(logicalId) &&
        !(type === 'alert-channel-subscription' && [alertChannelId, checkId, groupId].some(isGone)),
    );
    const withoutGone = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.filter((each) => !isGone(each)).map(withoutGone);
      if (!isFields(value)) return value;
      if (isGone(value)) return null;
      return Object.fromEntries(
        Object.entries(value).map(([name, inner]) => [name, withoutGone(inner)]),
      );
    };
    for (const { logicalId, payload } of kept) {
      for (const [name, value] of Object.entries(payload)) {
        payload[name] = withoutGone(value);
        if (JSON.stringify(payload[name]) === JSON.stringify(value)) continue;
        const entry = this.#entryOf.get(logicalId);
        entry?.notCarried(`\`${name}\` refers to what is not carried over`);
      }
      const incident = payload['triggerIncident'];
      if (isFields(incident) && incident['serviceId'] === null) delete payload['triggerIncident'];
    }
    this.resources.splice(0, this.resources.length, ...kept);
  }

  /** A name within its limit. */
  name(entry: Entry, wanted: string): string {
    return entry.cut('name', wanted.trim() || entry.object, nameUpTo).trim();
  }

  /** Fields of every check. */
  checkFields(entry: Entry, common: CommonFields): Record<string, unknown> {
    const description = entry.cut('description', common.description ?? '', descriptionUpTo);
    const tags = (common.tags ?? []).map((tag) => entry.cut('tags', tag.trim(), nameUpTo));
    const usable = [...new Set(tags)].filter((tag) => tag !== '');
    entry.notCarried(usable.length > maxTags && `tags beyond the first ${maxTags}`);
    return {
      name: this.name(entry, common.name),
      activated: common.active && !entry.isDeactivated,
      description: description.trim() === '' ? null : description,
      tags: usable.slice(0, maxTags),
      groupId: common.groupId ?? null,
      useGlobalAlertSettings: false,
    };
  }

  /** Fields of checks that run in locations. */
  scheduledFields(): Record<string, unknown> {
    const { locations, privateLocations } = this.options;
    if (locations.length + privateLocations.length === 0) {
      this.need('a location for the checks (--location)');
    }
    return { doubleCheck: false, locations, privateLocations };
  }

  /** Counts of objects without a line, then of lines by class. */
  counts(): Record<ReportClass, number> {
    const lines = this.report();
    const of = (kind: ReportClass) => lines.filter((line) => line.class === kind).length;
    const counts = Object.fromEntries(reportClasses.map((kind) => [kind, of(kind)]));
    const exact = this.entries.filter(({ isExact }) => isExact).length;
    return { ...(counts as Record<ReportClass, number>), EXACT: exact };
  }

  /** How much somebody must look at: what is lost, switched off or missing. */
  get findings(): number {
    const { DEACTIVATED, NOT_CARRIED } = this.counts();
    return DEACTIVATED + NOT_CARRIED + this.missing.length;
  }

  /** All lines, with what is said of the secrets. */
  report(): ReportLine[] {
    const said = (count: number, one: string, several: string): ReportLine[] => {
      const what =
        count === 1
          ? `1 credential ${one}; it stands`
          : `${count} credentials ${several}; they stand`;
      const text = `${what} in clear text in your file. Delete the file after the import.`;
      return count === 0 || !this.hasFiles ? [] : [{ class: 'SECRET', ...ofSource, text }];
    };
    const holding = this.resources.filter(
      ({ type, payload }) =>
        type === 'alert-channel' && !['EMAIL', 'SMS'].includes(String(payload['type'])),
    );
    const { size } = new Set(holding.map(({ payload }) => JSON.stringify(payload['config'])));
    return [
      ...this.lines,
      ...said(
        this.variables.length,
        'is stored as a secret variable',
        'are stored as secret variables',
      ),
      ...said(size, 'stays in an alert channel', 'stay in alert channels'),
    ];
  }
}

/** Splits what was given with `--location`: names of data centers, and slugs of private locations. */
export function splitLocations(given: readonly string[]) {
  const isOurs = (name: string) => dataCenterLocation.safeParse(name).success;
  const privateLocations = given.filter((name) => !isOurs(name));
  return { locations: given.filter(isOurs), privateLocations };
}
