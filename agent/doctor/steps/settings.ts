/** Settings that cannot be meant so. What makes them unusable altogether ends `doctor` before its steps. */
import { join, sep } from 'node:path';
import { describeSettings, type AgentConfig } from '../../config.ts';
import { secretVariables } from '../../guard-process.ts';
import { openLibc } from '../../native/libc.ts';
import { keyProblem } from '../../key-problem.ts';
import { readPolicy } from '../../signed-work/policy.ts';
import { fail, ok, warn, type Finding } from '../finding.ts';
import type { Check } from '../step.ts';

type Environment = Readonly<Record<string, string | undefined>>;

interface Given {
  environment: Environment;
  config: AgentConfig;
  warnings: readonly string[];
  /** The content of a file; null where it cannot be read. */
  read(path: string): string | null;
  /** Why secrets cannot be taken out of the environment that the kernel shows; null where they can. */
  exposedBecause: string | null;
}

const known = describeSettings();

/** The value of a secret as it was given, before white space is taken from its ends. */
function givenSecret(
  name: string,
  { environment, read }: Given,
): { text: string; where: string } | null {
  const file = environment[`${name}_FILE`];
  if (file) {
    const text = read(file);
    return text === null ? null : { text, where: `the file ${file}` };
  }
  const text = environment[name];
  return text ? { text, where: name } : null;
}

function secretStatements(given: Given): Finding[] {
  const found = givenSecret('API_KEY', given);
  const text = found?.text.trim() ?? '';
  const problem = text === '' ? null : keyProblem(text);
  if (found === null || problem === null) return [];
  return fail(
    `API_KEY (${text.length} characters, from ${found.where}) ${problem}`,
    `write the key and nothing else into ${found.where}: in env files of docker quotes are not removed, and YAML needs "|-" or one line`,
  );
}

/** Secrets that stay readable in /proc/PID/environ. */
function exposedSecrets({ environment, exposedBecause }: Given): Finding[] {
  const names = secretVariables.filter((name) => environment[name]);
  if (exposedBecause === null || names.length === 0) return [];
  return warn(
    `code of the same user can read ${names.join(', ')} in /proc/PID/environ of the agent: ${exposedBecause}`,
    `give ${names.map((name) => `${name.toUpperCase()}_FILE`).join(', ')} instead, the path of a file that holds the value`,
  );
}

function plainStatements({ environment }: Given): Finding[] {
  return known.flatMap(({ name, isSecret }): Finding[] => {
    const text = environment[name];
    if (isSecret || !text) return [];
    if (/^(["']).*\1$/s.test(text.trim())) {
      return warn(
        `${name} has quotes around it, which are taken as part of it: ${text.trim()}`,
        `set ${name} without quotes; env files of docker do not remove them`,
      );
    }
    return text === text.trim()
      ? []
      : warn(`${name} begins or ends with white space`, `set ${name} without it`);
  });
}

const lowerCased = ['HTTPS_PROXY', 'HTTP_PROXY', 'ALL_PROXY', 'NO_PROXY'];

function duplicates({ environment }: Given): Finding[] {
  return lowerCased.flatMap((name) => {
    const [upper, lower] = [environment[name], environment[name.toLowerCase()]];
    if (!upper || !lower || upper === lower) return [];
    return warn(
      `${name} and ${name.toLowerCase()} differ; the agent uses ${name.toLowerCase()}`,
      'set both to the same, or only one of them',
    );
  });
}

function isInside(inner: string, outer: string): boolean {
  return join(inner, sep).startsWith(join(outer, sep));
}

function contradictions({ config, environment }: Given): Finding[] {
  const { AGENT_DATA_DIR: data, AGENT_WORK_DIR: work, AGENT_RUNTIMES_DIR: runtimes } = config;
  const url = new URL(config.CONTROL_PLANE_URL);
  const isLocal = /^(localhost|127\.|\[::1\])/.test(url.hostname);
  const hasHttpProxy = config.HTTP_PROXY !== undefined || config.ALL_PROXY !== undefined;
  const found: readonly (readonly [isSo: boolean, Finding[]])[] = [
    [
      isInside(data, work),
      fail(
        `AGENT_DATA_DIR (${data}) lies in AGENT_WORK_DIR (${work}), whose content is deleted`,
        'set them to folders beside each other',
      ),
    ],
    [
      isInside(runtimes, work),
      warn(
        `AGENT_RUNTIMES_DIR (${runtimes}) lies in AGENT_WORK_DIR (${work}), whose content is deleted`,
        'set them to folders beside each other',
      ),
    ],
    [
      url.protocol === 'http:' && !isLocal,
      warn(
        'CONTROL_PLANE_URL is http: the key and all results travel unencrypted',
        'use https outside of a network that is yours alone',
      ),
    ],
    [
      config.HTTPS_PROXY !== undefined && !hasHttpProxy && url.protocol === 'http:',
      warn(
        'HTTPS_PROXY is set, but CONTROL_PLANE_URL is http: the proxy is not used',
        'set HTTP_PROXY, or make CONTROL_PLANE_URL https',
      ),
    ],
    [
      environment['NODE_TLS_REJECT_UNAUTHORIZED'] === '0',
      warn(
        'NODE_TLS_REJECT_UNAUTHORIZED=0: every certificate is accepted, so anybody in between can read the key',
        'remove it, and set NODE_EXTRA_CA_CERTS to a file with the authority that is missing',
      ),
    ],
    [
      config.PROBE_CONFIG_FILE !== undefined && !config.PROBE_ENDPOINT,
      uselessWithout('PROBE_CONFIG_FILE', 'PROBE_ENDPOINT=on'),
    ],
    [
      config.OTEL_EXPORTER_OTLP_HEADERS !== undefined &&
        config.OTEL_EXPORTER_OTLP_ENDPOINT === undefined,
      uselessWithout('OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_EXPORTER_OTLP_ENDPOINT'),
    ],
    [
      config.LLM_API_KEY !== undefined && config.LLM_MODEL === undefined,
      uselessWithout('LLM_API_KEY', 'LLM_MODEL'),
    ],
  ];
  return found.flatMap(([isSo, finding]) => (isSo ? finding : []));
}

function uselessWithout(setting: string, other: string): Finding[] {
  return warn(`${setting} has no effect without ${other}`, 'set both or none');
}

/** What looks wrong in settings that can be used. */
export function judgeSettings(given: Given): Finding[] {
  const found = [
    ...secretStatements(given),
    ...exposedSecrets(given),
    ...contradictions(given),
    ...plainStatements(given),
    ...duplicates(given),
    ...given.warnings.flatMap((text) =>
      warn(text, / is not set: /.test(text) ? 'set it if that is wrong' : 'correct or remove it'),
    ),
  ];
  const order = { fail: 0, unknown: 0, warn: 1, ok: 2, skip: 3 };
  if (found.length > 0) return found.toSorted((a, b) => order[a.verdict] - order[b.verdict]);
  const names = known.filter(({ name }) => given.environment[name]).map(({ name }) => name);
  return ok(`${names.join(', ')} given`);
}

/** Whether the policy for signed work is read, and whose keys are in it. */
export async function judgePolicy(file: string | undefined): Promise<Finding[]> {
  if (file === undefined) return [];
  try {
    const { keys } = await readPolicy(file);
    const names = [...keys.values()].join(', ');
    return ok(`only work runs that one of these keys signed (${keys.size}): ${names}`);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return fail(
      `the policy ${file} cannot be read, so that all work is refused: ${reason}`,
      'correct SIGNED_WORK_POLICY_FILE, or give the file to the user of the agent',
    );
  }
}

export const checkSettings: Check = async ({ environment, config, warnings, machine }) => {
  const opened = openLibc();
  const settings = judgeSettings({
    ...{ environment, config, warnings, read: (path) => machine.read(path) },
    exposedBecause: opened.libc === null ? opened.problem : null,
  });
  return [...settings, ...(await judgePolicy(config.SIGNED_WORK_POLICY_FILE))];
};
