/**
 * Topics of test sessions:
 *
 *   account/{account}/ad-hoc-check-results/{suite}/{sequence id}/{check run id}/{kind}
 */

/** `result` with FINAL, and `error`, end a check. */
export type MessageKind = 'run-start' | 'stream-logs' | 'result' | 'error';

const results = 'ad-hoc-check-results';
const maxFilterLength = 1_000;

export interface TopicFilter {
  filter: string;
  suiteId: string;
}

/** A filter of an account's own topics that names one suite; null for any other. Ids are in lower case. */
export function readFilter(filter: string, accountId: string): TopicFilter | null {
  const [root, account = '', name, suiteId = '', ...rest] = filter.split('/');
  const isOwn = root === 'account' && account.toLowerCase() === accountId && name === results;
  const isNamed = /^[\w-]{1,100}$/.test(suiteId);
  // `#` stands at the end alone, and both wildcards fill a level.
  const isValid = rest.every(
    (level, index) =>
      !/[+#]/.test(level.slice(1) + (level.length > 1 ? level[0] : '')) &&
      (level !== '#' || index === rest.length - 1),
  );
  if (!isOwn || !isNamed || !isValid || filter.length > maxFilterLength) return null;
  return { filter: [root, accountId, name, suiteId, ...rest].join('/'), suiteId };
}

export function topicOf(of: {
  accountId: string;
  suiteId: string;
  runId: string;
  checkRunId: string | null;
  kind: MessageKind;
}): string {
  const { accountId, suiteId, runId, checkRunId, kind } = of;
  return `account/${accountId}/${results}/${suiteId}/${runId}/${checkRunId ?? runId}/${kind}`;
}

/** True for a topic that a filter selects. */
export function matchesFilter(topic: string, filter: string): boolean {
  const levels = topic.split('/');
  const wanted = filter.split('/');
  for (const [index, level] of wanted.entries()) {
    if (level === '#') return true;
    if (level !== '+' && level !== levels[index]) return false;
  }
  return wanted.length === levels.length;
}
