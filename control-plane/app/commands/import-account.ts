/** What `control-plane import checkly` does. */
import { setTimeout as pause } from 'node:timers/promises';
import type { DiffEntry } from '@monitor/shared/contract/compatibility/projects.ts';
import { type Fields, isFields } from '@monitor/shared/fields.ts';
import { OperatorError, trying, usageError } from '../../errors/operator-error.ts';
import {
  type Beside,
  incidentKey,
  laterUpdates,
  type Plan,
  planAccount,
  projectBodyOf,
  type SourceAccount,
} from '../../movers/index.ts';
import { addressRule, openOutgoing } from '../../notifications/index.ts';
import { readAccount, SourceApi, SourceApiError } from '../../shadow/index.ts';
import { AccountApi, hasKey, ownUrl, RefusedError } from './account-api.ts';
import { keyIn, putShadow, readShadow, stateLines } from './compare-verdicts.ts';
import { variablesIn } from './apply-folder.ts';
import { showOrApply, type PlanOutput, usableName } from './import-project.ts';
import { isLively, note } from './output.ts';

interface AccountOptions extends PlanOutput {
  apiKeyFile: string;
  accountId?: string;
  baseUrl: string;
  delete?: boolean;
  envFile?: string;
  history?: number;
  name?: string;
}

const timeoutMs = 60_000;
const subscribersAtOnce = 100;

/** Progress: in place on a terminal, else a line for each list. */
function progress() {
  let shown = '';
  const isTerminal = isLively();
  return {
    show(path: string, count: number): void {
      const text = `read ${path}: ${count}`;
      if (text === shown) return;
      if (isTerminal) process.stderr.write(`\r\u001b[K${text}`);
      else if (shown !== '' && !shown.startsWith(`read ${path}:`)) note(shown);
      shown = text;
    },
    wait(ms: number): void {
      const text = `the other side asks to wait ${Math.ceil(ms / 1000)} s`;
      if (isTerminal) process.stderr.write(`\r\u001b[K${text}`);
      else note(text);
    },
    end(): void {
      if (isTerminal) process.stderr.write('\r\u001b[K');
      else if (shown !== '') note(shown);
    },
  };
}

async function read(options: AccountOptions, what: string): Promise<SourceAccount> {
  const rule = addressRule('');
  const shown = progress();
  await using outgoing = openOutgoing({ customer: rule, visitor: rule, timeoutMs });
  try {
    const source = {
      ...{ baseUrl: options.baseUrl, key: await keyIn(options.apiKeyFile) },
      accountId: options.accountId ?? null,
    };
    const api = new SourceApi(source, {
      send: outgoing.operator,
      now: () => Date.now(),
      pause: (ms) => pause(ms),
      signal: new AbortController().signal,
      onWait: shown.wait,
    });
    return await readAccount(api, shown.show);
  } catch (error) {
    if (!(error instanceof SourceApiError)) throw error;
    throw new OperatorError(`could not ${what}: ${error.message}; nothing was changed`, {
      cause: error,
    });
  } finally {
    shown.end();
  }
}

/** Finds what is here by what it was made from: in what the deployment made, else by its name. */
class Made {
  readonly #api: AccountApi;
  readonly #ids: ReadonlyMap<string, unknown>;

  constructor(api: AccountApi, diff: readonly DiffEntry[]) {
    this.#api = api;
    this.#ids = new Map(diff.map(({ logicalId, physicalId }) => [logicalId, physicalId]));
  }

  /** Entries of a list by cursor. */
  async list(path: string): Promise<Fields[]> {
    const all: Fields[] = [];
    for (let cursor = ''; ;) {
      const body = await this.#api.call(`read ${path}`, 'GET', `${path}?limit=100${cursor}`);
      const { entries, nextId } = isFields(body) ? body : {};
      all.push(...(Array.isArray(entries) ? entries.filter(isFields) : []));
      if (typeof nextId !== 'string') return all;
      cursor = `&nextId=${encodeURIComponent(nextId)}`;
    }
  }

  async idOf(logicalId: string, path: string, field: string, name: string): Promise<unknown> {
    const made = this.#ids.get(logicalId);
    if (made !== undefined) return made;
    return (await this.list(path)).find((each) => each[field] === name)?.['id'];
  }
}

const pages = '/v1/status-pages';

interface Added {
  incidents: number;
  updates: number;
  subscribers: number;
}

/** Runs a step; one that is refused is noted, and the next one goes on. */
type Attempt = (step: () => Promise<void>) => Promise<void>;

/** Incidents that are not here, and what was said since of those that are. */
async function applyIncidents(
  api: AccountApi,
  made: Made,
  { incidents }: Beside,
  added: Added,
  attempt: Attempt,
): Promise<void> {
  const path = `${pages}/incidents`;
  // Both lists have the newest first, and the first of theirs is made first.
  const here = incidents.length > 0 ? (await made.list(path)).toReversed() : [];
  const known = Map.groupBy(here, incidentKey);
  for (const incident of incidents) {
    const what = `import the incident «${incident.name}»`;
    const same = known.get(incidentKey(incident))?.shift();
    await attempt(async () => {
      if (same !== undefined) {
        for (const update of laterUpdates(incident, same)) {
          await api.call(what, 'POST', `${path}/${String(same['id'])}/incident-updates`, update);
          added.updates += 1;
        }
        return;
      }
      const services: { id: unknown }[] = [];
      for (const { logicalId, name } of incident.services) {
        services.push({ id: await made.idOf(logicalId, `${pages}/services`, 'name', name) });
      }
      await api.call(what, 'POST', path, { ...incident, services });
      added.incidents += 1;
    });
  }
}

async function applySubscribers(
  api: AccountApi,
  made: Made,
  { subscribers }: Beside,
  added: Added,
  attempt: Attempt,
): Promise<void> {
  for (const list of Map.groupBy(subscribers, ({ page }) => page.url).values()) {
    for (let at = 0; at < list.length; at += subscribersAtOnce) {
      const some = list.slice(at, at + subscribersAtOnce);
      const [{ page } = { page: { logicalId: '', url: '' } }] = some;
      await attempt(async () => {
        const id = await made.idOf(page.logicalId, pages, 'url', page.url);
        const answer = await api.call(
          `import subscribers of the page ${page.url}`,
          'POST',
          `${pages}/${String(id)}/subscriptions/bulk`,
          {
            subscriptions: some.map(({ address }) => ({ type: 'EMAIL', config: address })),
            // They have confirmed it there.
            autoVerify: true,
          },
        );
        added.subscribers += isFields(answer) ? Number(answer['created']) : 0;
      });
    }
  }
}

/** Makes what is beside the project, unless it is there already. What is refused keeps nothing else from being made. */
async function applyBeside(api: AccountApi, made: Made, beside: Beside): Promise<void> {
  const added: Added = { incidents: 0, updates: 0, subscribers: 0 };
  const refused: string[] = [];
  const attempt: Attempt = async (step) => {
    try {
      await step();
    } catch (error) {
      if (!(error instanceof RefusedError)) throw error;
      refused.push(error.message);
    }
  };
  try {
    await attempt(() => applyIncidents(api, made, beside, added, attempt));
    await applySubscribers(api, made, beside, added, attempt);
  } finally {
    const updates = added.updates === 0 ? '' : `; updates of other incidents: ${added.updates}`;
    note(
      `${added.incidents} incidents and ${added.subscribers} subscribers of status pages were added${updates}`,
    );
    for (const one of refused) note(one);
  }
  if (refused.length > 0) {
    throw new OperatorError(
      'what is listed above was not imported, and all else was: change it there or here, and import again',
    );
  }
}

const mostRefusals = 100;

/**
 * Leaves out what the control plane refuses, one by one: it must not keep all others from being moved. Gives what would
 * change then.
 */
async function leaveOutRefused(
  plan: Plan,
  what: string,
  options: AccountOptions,
): Promise<readonly DiffEntry[]> {
  if (!hasKey() || options.check === true || plan.missing.length > 0) return [];
  const api = new AccountApi(options.url);
  for (let tries = 0; tries < mostRefusals; tries += 1) {
    try {
      return (await api.deploy(what, projectBodyOf(plan), true)).diff;
    } catch (error) {
      const message = error instanceof OperatorError ? error.message : '';
      const [, logicalId = '', problem = ''] = /: [a-z-]+ "([^"]+)": (.*)$/s.exec(message) ?? [];
      if (!plan.leaveOut(logicalId, problem)) throw error;
    }
  }
  return [];
}

const mostNamed = 10;

/** Another account, or the key of one, would delete what the first import made. */
function refuseDeletions(
  { project }: Plan,
  diff: readonly DiffEntry[],
  what: string,
  options: AccountOptions,
): void {
  const deleted = diff.filter(({ action }) => action === 'DELETE');
  if (deleted.length === 0 || options.delete === true) return;
  const names = deleted.slice(0, mostNamed).map(({ logicalId }) => logicalId);
  const more = deleted.length > mostNamed ? ' and more' : '';
  const text = `project ${project} has ${deleted.length} resources that this account does not have (${names.join(', ')}${more}): name another project with --name if it is another account, or delete them with --delete`;
  if (options.yes !== true) return note(text);
  throw usageError(`could not ${what}: ${text}. Nothing was changed`);
}

/** Says which comparison ends for the history to be read. One with another address is not replaced. */
async function planShadow(plan: Plan, what: string, options: AccountOptions): Promise<void> {
  if (options.history === undefined || !hasKey() || options.check === true) return;
  const state = await readShadow(new AccountApi(options.url));
  const { isOn, baseUrl, otherAccountId, project, mostHistoryDays } = state;
  const isOther = isOn && baseUrl !== options.baseUrl.replace(/\/+$/, '');
  const problem = isOther
    ? `verdicts are compared with ${String(baseUrl)}: end that first with \`control-plane shadow stop\`, or leave out --history`
    : options.history > mostHistoryDays
      ? `sums are kept for ${mostHistoryDays} days: ask for no more with --history, or raise ANALYTICS_RETENTION_DAYS first`
      : null;
  if (problem !== null) {
    if (options.yes !== true) return note(problem);
    throw usageError(`could not ${what}: ${problem}. Nothing was changed`);
  }
  if (!isOn) return;
  if (project === plan.project && otherAccountId === (options.accountId ?? null)) return;
  const account = otherAccountId === null ? '' : ` of the account ${otherAccountId}`;
  plan.say('CHANGED', `The comparison of the project ${String(project)}${account} ends.`);
}

export async function importAccount(options: AccountOptions): Promise<void> {
  const what = `import the account at ${options.baseUrl}`;
  const project = options.name === undefined ? null : usableName(options.name);
  const values = options.envFile === undefined ? {} : await variablesIn(options.envFile);
  const source = await read(options, what);
  const url = (options.url ?? ownUrl()).replace(/\/+$/, '');
  const { plan, beside } = await trying(what, () =>
    planAccount(source, { project, values, url, historyDays: options.history ?? null }),
  );
  const name = `${what} as project ${plan.project}`;
  await planShadow(plan, name, options);
  refuseDeletions(plan, await leaveOutRefused(plan, name, options), name, options);
  const applied = await showOrApply(plan, name, options);
  if (applied === null) return;
  const { api, change } = applied;
  try {
    await applyBeside(api, new Made(api, change.diff), beside);
  } finally {
    // What is refused beside the project keeps no history from being read.
    if (options.history !== undefined) {
      const state = await putShadow({ ...options, name: plan.project });
      for (const line of stateLines(state)) note(line);
    }
  }
}
