/**
 * An account of another installation with the same API, from the answers to its lists. Pure. A field is carried over
 * as it is where the body of a creation has it; every other one is named.
 */
import type { z } from 'zod';
import type { ResourceType } from '@monitor/shared/contract/compatibility/projects.ts';
import { configProblem } from '@monitor/shared/contract/alert-channel.ts';
import { isPinged } from '@monitor/shared/contract/checks/index.ts';
import { contradictionOf } from '@monitor/shared/contract/checks/target.ts';
import { bodyOfResource } from '@monitor/shared/contract/resource-bodies.ts';
import { type Fields, isFields } from '@monitor/shared/fields.ts';
import { knownFields, mapSensitive, unknownFields } from '@monitor/shared/known-fields.ts';
import { mapAt } from '../../core/decide/map-at.ts';
import { attempt, type Entry, Plan, projectId, ref } from '../plan.ts';
import { fieldsOf, recordsIn } from '../source-object.ts';
import { besideOf, type Beside } from './beside.ts';
import { madeAnew, type SourceAccount, type SourceKind, sourceKinds } from './kinds.ts';

export { type Beside, incidentKey, laterUpdates, type MovedIncident } from './beside.ts';
export { type SourceAccount, type SourceList, sourceLists, type SourceListName } from './kinds.ts';

export interface AccountRequest {
  /** Logical id of the project; null for the usual one. */
  project: string | null;
  /** Values of secret variables by key, which nobody can read. */
  values: Readonly<Record<string, string | undefined>>;
  /** Where pings go from now on: the address of this control plane. */
  url: string;
  /** Days of results from before the move; null for none. */
  historyDays: number | null;
}

/** What is lost there and has no list, or no operation that would make it. */
const leftThere = [
  'Members, their roles and API keys: invite people here, and make keys (`control-plane people`, `keys`)',
  'Addresses that trigger checks and groups: make new ones here, they are credentials',
  'Incidents of dashboards: no operation lists them',
  'Occurrences of maintenance windows that people changed, and their updates',
  'Alerts, notifications, error groups, root causes, test sessions: they stay where they are',
];

const says = (value: unknown): boolean =>
  !(value === null || value === undefined || value === '' || value === false || value === 0) &&
  (typeof value !== 'object' || Object.keys(value).length > 0);

const idIn = (type: ResourceType, id: unknown): string =>
  type === 'variable' ? String(id) : `${type}-${String(id)}`;

const gone = Symbol('gone');

/** A copy with what is at a path changed, or left out where `change` gives `gone`. */
function changedAt(
  value: unknown,
  [step, ...rest]: readonly PropertyKey[],
  change: (found: unknown) => unknown,
): unknown {
  if (step === undefined) return change(value);
  const name = String(step);
  if (Array.isArray(value)) {
    return value
      .map((each: unknown, at) => (String(at) === name ? changedAt(each, rest, change) : each))
      .filter((each) => each !== gone);
  }
  if (!isFields(value) || !(name in value)) return value;
  const inner = changedAt(value[name], rest, change);
  const { [name]: _before, ...others } = value;
  return inner === gone ? others : { ...value, [name]: inner };
}

const without = (value: unknown, path: readonly string[]): unknown =>
  changedAt(value, path, () => gone);

/** `cards.0.services.1.name` is `cards.services.name`. */
const withoutIndexes = (path: string): string => path.replaceAll(/\.\d+(?=\.|$)/g, '');

class Conversion {
  readonly plan: Plan;
  readonly #source: SourceAccount;
  readonly #request: AccountRequest;
  /** What becomes something here, by type and id there. */
  readonly #made = new Map<string, { fields: Fields; entry: Entry; kind: SourceKind }>();
  readonly #anew = new Set<string>();

  constructor(source: SourceAccount, request: AccountRequest) {
    this.#source = source;
    this.#request = request;
    const title = `account ${String(source.account['name'] ?? '')} at ${source.host}`;
    this.plan = new Plan(title, projectId(request.project ?? 'import-checkly'), {
      ...{ locations: [], privateLocations: [], prefersLonger: false, environment: {} },
    });
    this.plan.hasFiles = false;
  }

  run(): Beside {
    for (const kind of sourceKinds) {
      for (const given of this.#source.lists[kind.type]) {
        attempt(() => {
          this.#read(kind, given);
        });
      }
    }
    for (const [id, { fields, entry, kind }] of this.#made) {
      const { type } = kind;
      const payload = this.#refer(kind, fields, entry);
      if (type === 'check-group') payload['v'] = 2;
      this.plan.add(type, id, payload, entry);
    }
    this.#subscribe();
    const beside = besideOf(this.plan, this.#source, (type, id) => this.#made.has(idIn(type, id)));
    this.#sayOfAll();
    return beside;
  }

  #read(kind: SourceKind, given: Fields): void {
    const { type, key = 'id' } = kind;
    const id = String(given[key] ?? '');
    const config = fieldsOf(given['config']);
    const title =
      [given['name'], given['key'], given['header'], config['name'], config['address']].find(
        (each) => typeof each === 'string' && each !== '',
      ) ?? type;
    const entry = this.plan.entry(type, id, String(title));
    const body = bodyOfResource(type, given);
    if (body === undefined) {
      return entry.nothing(`type \`${String(given['checkType'])}\` has no counterpart`);
    }
    if (type === 'check' && given['checkType'] === 'PLAYWRIGHT') {
      entry.nothing(
        'its code bundle cannot be read there: deploy the suite from its project (`codeBundlePath`)',
      );
    }
    if (type === 'status-page' && given['isPrivate'] === true) {
      // Without its password everybody could read it.
      entry.nothing(
        'it is private, and its password cannot be read there (`isPrivate`): make it here, with a password',
      );
    }
    const { checkType, ...asGiven } = given;
    const pruned = this.#prune(kind, body, type === 'check' ? asGiven : given, entry);
    const shown = this.#withoutHidden(type, body, pruned, entry);
    const fields = this.#repaired(type, body, shown, entry);
    const contradiction =
      configProblem(fieldsOf(fields['config'])) ?? contradictionOf(String(checkType), fields);
    // What takes a while to find is found when the plan is applied.
    if (contradiction !== null && !(contradiction instanceof Promise)) {
      entry.nothing(`\`${contradiction.field}\` ${contradiction.problem}`);
    }
    if (entry.isDeactivated && type === 'check') fields['activated'] = false;
    if (type === 'check') this.#sayOfCheck(given, entry);
    const made = type === 'check' ? { checkType, ...fields } : fields;
    this.#made.set(idIn(type, id), { fields: made, entry, kind });
  }

  /** Leaves out what no body has, and names it. */
  #prune({ reasons = {} }: SourceKind, body: z.ZodType, given: Fields, entry: Entry): Fields {
    const known = knownFields(body);
    let fields: unknown = given;
    // Each call names a hundred of them.
    for (;;) {
      const unknown = unknownFields(known, fields);
      for (const { path, steps, value } of unknown) {
        fields = without(fields, steps);
        this.#name(withoutIndexes(path), value, reasons, entry);
      }
      if (unknown.length === 0) break;
    }
    for (const [name, value] of Object.entries(fields as Fields)) {
      if (!(name in reasons)) continue;
      fields = without(fields, [name]);
      this.#name(name, value, reasons, entry);
    }
    // Cards have ids of their own there.
    return mapAt(fields, ['cards', '*'], '', (card) => without(card, ['id'])) as Fields;
  }

  #name(
    path: string,
    value: unknown,
    reasons: Readonly<Record<string, string>>,
    entry: Entry,
  ): void {
    const last = path.slice(path.lastIndexOf('.') + 1);
    const why = reasons[path];
    if (why !== undefined) this.plan.say('CHANGED', says(value) && `\`${path}\`${why}.`);
    else if (madeAnew.includes(last)) this.#anew.add(last);
    else if (path === 'heartbeat.pingUrl') return;
    else entry.notCarried(says(value) && `field \`${path}\` has no counterpart`);
  }

  /** Credentials that the answers hide: values of secrets, and all of them from a key that only reads. */
  #withoutHidden(type: ResourceType, body: z.ZodType, fields: Fields, entry: Entry): Fields {
    if (type === 'variable') return this.#variable(fields, entry);
    return mapSensitive(knownFields(body), fields, (_is, value) => {
      if (!isFields(value)) return value;
      const { key, value: shown, secret, locked } = value;
      const name = `\`${String(key)}\``;
      if (shown === null && secret === true) {
        entry.unknownSecret(
          `the secret ${name} cannot be read there: set it here. It is empty until then, and stays as you set it`,
        );
      } else if (shown === null) this.#needsWriter();
      else if (shown === '' && locked === true) {
        entry.approximate(`${name} is locked and empty: a key that only reads sees it so`);
      }
      return value;
    });
  }

  #variable(fields: Fields, entry: Entry): Fields {
    if (fields['value'] !== null) return fields;
    const key = String(fields['key']);
    const value = this.#request.values[key];
    if (value !== undefined) return { ...fields, value };
    if (fields['secret'] !== true) this.#needsWriter();
    entry.unknownSecret(
      'the secret variable cannot be read there (`value`): set it here, or give it with --env-file. It is empty until then, and stays as you set it',
    );
    return fields;
  }

  #needsWriter(): void {
    this.plan.need('a key that may write there (READ_WRITE): this one does not see locked values');
  }

  /** The fields as the API here takes them. What is refused is cut or left out, and named. */
  #repaired(type: ResourceType, body: z.ZodType, given: Fields, entry: Entry): Fields {
    let fields: Fields = { ...given };
    const { retryStrategy } = fields;
    if (isFields(retryStrategy) && retryStrategy['type'] === 'NO_RETRIES') {
      fields = { ...fields, retryStrategy: null, doubleCheck: false };
      entry.changed('`retryStrategy` NO_RETRIES → none');
    }
    // An empty list would say that it applies to nothing.
    if (type === 'maintenance-window' && !says(fields['tags'])) delete fields['tags'];
    const asRead = (): unknown =>
      type === 'variable' && fields['value'] === null ? { ...fields, value: '' } : fields;
    for (let tries = 0; tries < 50; tries += 1) {
      const issue = body.safeParse(asRead()).error?.issues[0];
      if (issue === undefined) return fields;
      const path = issue.path.map(String).join('.');
      const [field = ''] = issue.path.map(String);
      const maximum = issue.code === 'too_big' ? Number(issue.maximum) : null;
      if (maximum !== null && path !== '') {
        fields = changedAt(fields, issue.path, (found) => {
          const isNumber = typeof found === 'number';
          const what = `\`${path}\` ${isNumber ? `${found} → ${maximum}` : `cut to ${maximum}`}, the most here`;
          if (Array.isArray(found)) entry.deactivated(what);
          else entry.changed(what);
          return isNumber ? maximum : (found as string | unknown[]).slice(0, maximum);
        }) as Fields;
        continue;
      }
      if (field === '' || !(field in fields)) break;
      const { [field]: _refused, ...rest } = fields;
      fields = rest;
      const text = `\`${path}\` is not accepted here, and is left out`;
      if (type === 'check') entry.deactivated(text);
      else entry.notCarried(text);
    }
    const [issue] = body.safeParse(fields).error?.issues ?? [];
    return entry.nothing(`\`${(issue?.path ?? []).map(String).join('.')}\` is not accepted here`);
  }

  #sayOfCheck(given: Fields, entry: Entry): void {
    const { pingToken, pingUrl } = fieldsOf(given['heartbeat']);
    if (!isPinged(String(given['checkType']))) return;
    const here = `${this.#request.url}/ping/`;
    if (typeof pingToken !== 'string' || pingToken === '') {
      return this.#needsWriter();
    }
    const there = String(pingUrl ?? '').split(pingToken)[0] ?? '';
    entry.changed(
      `its ping address changes: \`heartbeat.pingUrl\` begins with ${here} in the place of ${there}, and the token stays. Change it in the job`,
    );
  }

  /** The fields with references in place of ids. */
  #refer({ references = {} }: SourceKind, fields: Fields, entry: Entry): Fields {
    let result: unknown = fields;
    for (const [path, type] of Object.entries(references)) {
      result = mapAt(result, path.split('.'), '', (found, field) => {
        const id = isFields(found) ? found['id'] : found;
        if (id === null || id === undefined) return id;
        if (this.#made.has(idIn(type, id))) return ref(idIn(type, id));
        entry.notCarried(`\`${field}\` refers to ${type} ${String(id)}, which is not carried over`);
        return gone;
      });
      const list = path.endsWith('.*') ? path.slice(0, -2) : null;
      if (list === null) {
        result = mapAt(result, path.split('.'), '', (found) => (found === gone ? null : found));
      } else {
        result = mapAt(result, list.split('.'), '', (found) =>
          Array.isArray(found) ? found.filter((each) => each !== gone) : found,
        );
      }
    }
    const { triggerIncident } = result as Fields;
    const isLost = isFields(triggerIncident) && triggerIncident['serviceId'] === null;
    return isLost ? { ...(result as Fields), triggerIncident: null } : { ...(result as Fields) };
  }

  /** Subscriptions, which channels, checks and groups each list. */
  #subscribe(): void {
    const add = (channel: unknown, type: 'check' | 'check-group', id: unknown, isOn: boolean) => {
      const [of, to] = [idIn(type, id), idIn('alert-channel', channel)];
      const logicalId = `${type}-alert-channel-subscription#${of}#${to}`;
      if (this.plan.has(logicalId)) return;
      const entry = this.#made.get(of)?.entry ?? this.#made.get(to)?.entry;
      if (!this.#made.has(of) || !this.#made.has(to)) {
        entry?.notCarried(`the subscription of ${of} to ${to}: one of them is not carried over`);
        return;
      }
      const field = type === 'check' ? 'checkId' : 'groupId';
      const payload = { alertChannelId: ref(to), [field]: ref(of), activated: isOn };
      this.plan.add('alert-channel-subscription', logicalId, payload);
    };
    const { 'alert-channel': channels, check: checks, 'check-group': groups } = this.#source.lists;
    for (const { id, subscriptions } of channels) {
      for (const { checkId, groupId, activated } of recordsIn(subscriptions)) {
        if (checkId != null) add(id, 'check', checkId, activated !== false);
        else if (groupId != null) add(id, 'check-group', groupId, activated !== false);
      }
    }
    for (const [type, list] of [
      ['check', checks],
      ['check-group', groups],
    ] as const) {
      for (const { id, alertChannelSubscriptions } of list) {
        for (const { alertChannelId, activated } of recordsIn(alertChannelSubscriptions)) {
          add(alertChannelId, type, id, activated !== false);
        }
      }
    }
  }

  /** What becomes of results, and about how many there are. */
  #sayOfHistory(): void {
    const { historyDays: days } = this.#request;
    if (days === null) {
      return this.plan.say(
        'NOT_CARRIED',
        'Results, their files and analytics: availability here begins with the first run, unless --history says for how many days it is carried over.',
      );
    }
    const measured = this.#source.lists.check.filter(
      ({ id, checkType }) => this.#made.has(idIn('check', id)) && !isPinged(String(checkType)),
    );
    const groups = new Map(this.#source.lists['check-group'].map((group) => [group['id'], group]));
    const placesOf = (of: Fields = {}) =>
      [of['locations'], of['privateLocations']].flat().filter((place) => place != null).length;
    const running = measured.filter(({ activated }) => activated !== false);
    let [ofDay, parts] = [0, 0];
    for (const { frequency, frequencyOffset, runParallel, ...check } of running) {
      const places = placesOf(check) || placesOf(groups.get(check['groupId'])) || 1;
      const gap = Number(frequency) * 60 || Number(frequencyOffset) || 60;
      ofDay += (86_400 / gap) * (runParallel === true ? places : 1);
      // Of a day; one has at most 720 runs.
      parts += Math.max(1, 120 / gap);
    }
    const results = Math.round(ofDay * days);
    // Shadow mode asks so often in an hour.
    const hours = Math.ceil((results / 100 + parts * days) / 3_000);
    this.plan.say(
      'APPROXIMATE',
      `History: about ${results} results of ${measured.length} checks in ${days} days are summed up by the hour, the newest first, as far as the other side keeps them. The control plane reads them in about ${hours} h, and goes on with shadow mode.`,
    );
    this.plan.say(
      'CHANGED',
      'Shadow mode is turned on: from then on verdicts are compared with the other side, and each day a message says what differed, by mail to the administrators unless `control-plane shadow start --channel` names channels. `control-plane shadow stop` ends it.',
    );
    this.plan.say(
      'NOT_CARRIED',
      'Single results, their files, retries, error groups and pings of heartbeat monitors stay there. Reports with objectives and status pages begin with the first run here.',
    );
  }

  #sayOfAll(): void {
    const { plan } = this;
    const { account, lists, unread } = this.#source;
    if (this.#anew.size > 0) {
      const names = [...this.#anew].sort().map((name) => `\`${name}\``);
      plan.say('CHANGED', `${names.join(', ')} of every object are made anew here.`);
    }
    for (const { path, why } of unread) plan.say('NOT_CARRIED', `${path} was not read: ${why}.`);
    const ofAccount = Object.entries(account).filter(
      ([name, value]) => says(value) && name !== 'name' && !madeAnew.includes(name),
    );
    plan.say(
      'NOT_CARRIED',
      ofAccount.length > 0 &&
        `Settings of the account stay there; set them here by hand: ${ofAccount.map(([name]) => `\`${name}\``).join(', ')}.`,
    );
    for (const text of leftThere) plan.say('NOT_CARRIED', `${text}.`);
    this.#sayOfHistory();
    const served = new Map<string, number>();
    for (const given of [...lists.check, ...lists['check-group']]) {
      const { locations } = given;
      for (const name of Array.isArray(locations) ? locations : []) {
        served.set(String(name), (served.get(String(name)) ?? 0) + 1);
      }
    }
    const names = [...served].sort().map(([name, count]) => `${name} (${count})`);
    plan.say(
      'CHANGED',
      names.length > 0 &&
        `Locations are served by agents of yours; start one for each of ${names.join(', ')}.`,
    );
    const slugs = lists['private-location'].map(({ slugName }) => String(slugName)).sort();
    plan.say(
      'SECRET',
      slugs.length > 0 &&
        `Private locations need new keys: make one for each of ${slugs.join(', ')}, and start an agent with it.`,
    );
    plan.say('SECRET', 'The API key stays in its file: delete the key there once you have moved.');
  }
}

/** The plan, and what no project holds: incidents and subscribers. */
export function planAccount(
  source: SourceAccount,
  request: AccountRequest,
): { plan: Plan; beside: Beside } {
  const conversion = new Conversion(source, request);
  return { beside: conversion.run(), plan: conversion.plan };
}
