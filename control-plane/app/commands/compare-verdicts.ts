/** What `control-plane shadow` does. */
import { z } from 'zod';
import {
  shadow,
  shadowDifference,
  type ShadowDifference,
  type ShadowState,
} from '@monitor/shared/contract/shadow.ts';
import { readAtMost } from '@monitor/shared/read-at-most.ts';
import { commandDoors } from '../../core/doors.ts';
import { exitCodes } from '../../errors/exit-codes.ts';
import { trying } from '../../errors/operator-error.ts';
import { gapIn } from '../../shadow/index.ts';
import { AccountApi } from './account-api.ts';
import { instant, note, printJson, printLines } from './output.ts';

interface Where {
  url?: string;
  json?: boolean;
}

interface StartOptions extends Where {
  history?: number;
  apiKeyFile: string;
  accountId?: string;
  baseUrl: string;
  name: string;
  channel?: number[];
}

const pageSize = 100;

export async function keyIn(file: string): Promise<string> {
  const text = await trying(`read the API key in ${file}`, () =>
    readAtMost(file, commandDoors['import checkly'].reads.keyBytes),
  );
  return text.trim();
}

export async function putShadow(options: StartOptions): Promise<ShadowState> {
  const api = new AccountApi(options.url);
  const answer = await api.call('start shadow mode', 'PUT', '/v1/shadow', {
    ...{ baseUrl: options.baseUrl, apiKey: await keyIn(options.apiKeyFile) },
    ...{ otherAccountId: options.accountId ?? null, project: options.name },
    ...{ alertChannelIds: options.channel, historyDays: options.history },
  });
  return shadow.parse(answer);
}

export const readShadow = async (api: AccountApi): Promise<ShadowState> =>
  shadow.parse(await api.call('read shadow mode', 'GET', '/v1/shadow'));

export async function startShadow(options: StartOptions): Promise<void> {
  const state = await putShadow(options);
  if (options.json === true) printJson(state);
  else printLines(stateLines(state));
}

export async function stopShadow(options: Where): Promise<void> {
  await new AccountApi(options.url).call('stop shadow mode', 'DELETE', '/v1/shadow');
  note('verdicts are no longer compared, and the key is forgotten');
}

const at = (timestamp: string | null): string =>
  timestamp === null ? '-' : instant(Date.parse(timestamp));

export function stateLines(state: ShadowState): string[] {
  if (!state.isOn) return ['verdicts are not compared: `control-plane shadow start` begins it'];
  const { baseUrl, checks, project, notCompared, compared, undecided } = state;
  const { problem, readUntil, reportsTo, history } = state;
  const reasons = Map.groupBy(notCompared, ({ why }) => why);
  return [
    `${checks} checks are compared with ${String(baseUrl)} since ${at(state.startedAt)}, all of them up to ${at(readUntil)}`,
    `${compared} results had one of the other side beside them, ${undecided} had none`,
    ...[...reasons].map(([why, of]) => `${of.length} checks are not compared: ${why}`),
    ...(checks > 0 || notCompared.length > 0
      ? []
      : [`the project ${String(project)} has no check of an import: name it with --name`]),
    ...(history === null ? [] : [`history before the move: ${history}`]),
    ...(problem === null ? [] : [`nothing is read at present: ${problem}`]),
    reportsTo.length === 0
      ? 'nobody gets the daily message: name a channel with --channel'
      : `the daily message goes to ${reportsTo.join(', ')}`,
    'stop it with `control-plane shadow stop`',
  ];
}

type Saw = ShadowDifference['saw'];

const sawLine = (who: string, { at: when, location, status, error, responseTime }: Saw): string => {
  const time = responseTime === null ? '' : ` in ${responseTime} ms`;
  return `    ${who}  ${when}  ${location}  ${status}${time}${error === null ? '' : `: ${error}`}`;
};

function differenceLines(difference: ShadowDifference): string[] {
  const { failedAt, firstAt, lastAt, results, fitsBetweenRuns, saw, othersSaw } = difference;
  const [who, other] = failedAt === 'THEIRS' ? ['they', 'we  '] : ['we  ', 'they'];
  const span = results === 1 ? at(firstAt) : `${at(firstAt)} to ${at(lastAt)}, ${results} results`;
  const brief = fitsBetweenRuns ? '; no run of the other lies between' : '';
  return [
    `  only ${who.trim()} saw it failing: ${span}${brief}`,
    sawLine(who, saw),
    ...othersSaw.map((one) => sawLine(other, one)),
  ];
}

export async function showShadow(
  options: Where & { days: number; check?: boolean },
): Promise<void> {
  const api = new AccountApi(options.url);
  const state = await readShadow(api);
  const from = Math.floor(Date.now() / 1000) - options.days * 86_400;
  const differences: ShadowDifference[] = [];
  for (let page = 1; ; page += 1) {
    const path = `/v1/shadow/differences?from=${from}&limit=${pageSize}&page=${page}`;
    const body = await api.call('read differences', 'GET', path);
    const found = z.array(shadowDifference).parse(body);
    differences.push(...found);
    if (found.length < pageSize) break;
  }
  const gap = gapIn(state, Date.now());
  if (options.check === true && (differences.length > 0 || gap !== null)) {
    process.exitCode = exitCodes.failed;
  }
  if (options.json === true) {
    printJson({ ...state, differences });
    return;
  }
  printLines(stateLines(state));
  for (const [, same] of Map.groupBy(differences, ({ checkId }) => checkId)) {
    printLines(['', same[0]?.name ?? '', ...same.flatMap(differenceLines)]);
  }
  if (gap !== null) note(gap);
  const days = options.days === 1 ? 'day' : `${options.days} days`;
  note(`${differences.length} differences in the last ${days}`);
}
