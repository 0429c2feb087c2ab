/** The policy of an agent that runs only signed work: SIGNED_WORK_POLICY_FILE, in JSON or YAML. */
import { checkType } from '@monitor/shared/contract/checks/index.ts';
import { readAtMost } from '@monitor/shared/read-at-most.ts';
import { fingerprintOf, SshProblem } from '@monitor/shared/signed-work/ssh-signature.ts';
import { z } from 'zod';
import { parseNoProxy } from '../link/no-proxy.ts';
import { entriesOfNoHost } from '../misspelt-settings.ts';
import { portOf } from '../net/url-address.ts';

const maxPolicyBytes = 1_048_576;
const maxEntries = 1_000;

const text = z.string().trim().min(1).max(16_384);
const texts = z.array(text).max(maxEntries);
const fingerprint = text
  .transform((given) => given.replaceAll(':', '').toUpperCase())
  .pipe(z.string().regex(/^[0-9A-F]{64}$/, 'must be a SHA-256 in hex'));

/** `host:port` of a proxy, by which the policy names it. */
export function addressOfProxy(url: string): string | null {
  if (!URL.canParse(url)) return null;
  const address = new URL(url);
  return `${address.hostname.toLowerCase()}:${portOf(address)}`;
}

const proxy = text
  .regex(/^[^/@]+:\d+$/, 'must be host:port')
  .transform((given) => addressOfProxy(`http://${given}`) ?? given);

const schema = z.strictObject({
  keys: z
    .array(z.strictObject({ name: text, key: text }))
    .min(1)
    .max(maxEntries),
  /** Of this agent. Absent: what the control plane says. */
  location: text.optional(),
  accountId: text.optional(),
  /** In the notation of NO_PROXY. Absent: whatever is signed. */
  targets: texts
    .refine((entries) => entriesOfNoHost(entries.join(',')).length === 0, {
      error: 'must be names, .names, addresses or networks, each also with :port',
    })
    .optional(),
  checkTypes: z.array(checkType).optional(),
  /** Names of secret variables. Absent: whatever is signed. */
  secrets: texts.optional(),
  /** `host:port` of the proxies that a location may have. */
  proxies: z.array(proxy).max(maxEntries).default([]),
  /** Of client certificates, and of authorities that come with them. */
  certificates: z.array(fingerprint).max(maxEntries).default([]),
  /** Signatures with a lower version are too old. */
  notBefore: z.iso.datetime({ offset: true }).optional(),
});

export interface Policy extends Omit<z.output<typeof schema>, 'keys' | 'targets' | 'notBefore'> {
  /** Names by fingerprint. */
  keys: ReadonlyMap<string, string>;
  targets: ((host: string, port: number) => boolean) | null;
  notBefore: number;
}

/** The file is there and says something that is no policy. */
export class PolicyProblem extends Error {}

async function keysOf(
  keys: readonly { name: string; key: string }[],
): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const { name, key } of keys) {
    try {
      found.set(await fingerprintOf(key), name);
    } catch (error) {
      if (!(error instanceof SshProblem)) throw error;
      throw new PolicyProblem(
        `the key "${name}" must be a line as in authorized_keys, such as "ssh-ed25519 AAAA…": ${error.message}`,
      );
    }
  }
  return found;
}

/** Throws a PolicyProblem. */
export async function parsePolicy(content: string): Promise<Policy> {
  const { parseYaml } = await import('../read-yaml.ts');
  let given: unknown;
  try {
    given = parseYaml(content, { maxAliasCount: 0 });
  } catch (error) {
    throw new PolicyProblem(error instanceof Error ? error.message : String(error));
  }
  const parsed = schema.safeParse(given);
  if (!parsed.success) throw new PolicyProblem(z.prettifyError(parsed.error).replaceAll('\n', ' '));
  const { keys, targets, notBefore, ...rest } = parsed.data;
  return {
    ...rest,
    keys: await keysOf(keys),
    targets: targets === undefined ? null : parseNoProxy(targets.join(',')),
    notBefore: notBefore === undefined ? 0 : Date.parse(notBefore),
  };
}

/** Throws a PolicyProblem, or another error where the file cannot be read. */
export async function readPolicy(file: string): Promise<Policy> {
  return parsePolicy(await readAtMost(file, maxPolicyBytes));
}
