/**
 * Lets only work through that somebody signed whom the policy of this agent names. The control plane is taken for
 * one that lies: nothing of a check is used before its signature is verified, and what no signature covers
 * is left out, or has to be in the policy.
 */
import { createHash, X509Certificate } from 'node:crypto';
import { statSync } from 'node:fs';
import type { Clock } from '@monitor/shared/clock.ts';
import type { AssignedCheck } from '@monitor/shared/contract/agent-protocol.ts';
import { definitionSchemaOf } from '@monitor/shared/contract/checks/definition-schema.ts';
import { findAgentType } from '@monitor/shared/contract/checks/index.ts';
import { runSource } from '@monitor/shared/contract/check-trigger.ts';
import { digestOfBundle } from '@monitor/shared/contract/code-bundle.ts';
import { signatureNamespace } from '@monitor/shared/contract/work-signature.ts';
import { readsVariables, signedPartOf } from '@monitor/shared/signed-work/signed-part.ts';
import { readSshSignature, SshProblem } from '@monitor/shared/signed-work/ssh-signature.ts';
import type { Logger } from 'pino';
import { AgentError } from '../errors.ts';
import { addressOfProxy, PolicyProblem, readPolicy, type Policy } from './policy.ts';
import { SeenVersions } from './seen-versions.ts';
import { targetAddressOf } from './target-address.ts';

/** Between two tries to read a policy that has not changed. */
const minPauseMs = 1_000;

const refused = (reason: string, cause?: unknown): AgentError =>
  new AgentError('WORK_REFUSED', `this agent runs only signed work: ${reason}`, { cause });

/** A run as it is to begin. */
interface Work {
  check: AssignedCheck;
  /** Of this agent. */
  location: string;
  /** Of a triggered run. */
  environmentUrl: string | null;
  /** Who asked for it; null for the schedule. */
  source: string | null;
}

/** The words of the protocol; suites read them. */
const sources: ReadonlySet<string> = new Set([...runSource.options, 'RETRY_ELSEWHERE']);

interface Verified {
  policy: Policy;
  check: AssignedCheck;
  digest: string;
}

/** Without what the author did not sign. */
function signedAlone(check: AssignedCheck): AssignedCheck {
  const { environment, signature, type } = check;
  return {
    ...check,
    environment: readsVariables(type)
      ? environment.filter(({ key }) => signature?.variables.includes(key) === true)
      : environment,
    learnedScript: null,
    detectSecrets: true,
  };
}

async function requireSignature(
  check: AssignedCheck,
  { keys, notBefore }: Policy,
): Promise<string> {
  const { signature } = check;
  if (signature === undefined) {
    throw refused('the check has no signature; sign it, for example with "apply --sign-with"');
  }
  const text = signedPartOf(check, signature);
  if (text === null) throw refused('this version cannot read the check; update the agent');
  const of = { text, namespace: signatureNamespace };
  const { fingerprint, isValid } = await readSshSignature(signature.value, of);
  const signer = keys.get(fingerprint);
  if (signer === undefined) {
    throw refused(
      `the check is signed with the key ${fingerprint}, which the policy does not name`,
    );
  }
  if (!isValid) {
    throw refused(
      `the check is not what "${signer}" signed: its script, request, variables, name or locations were changed since. Sign it again, if the change is right`,
    );
  }
  if (signature.version < notBefore) {
    throw refused(`the signature of "${signer}" is from before the notBefore of the policy`);
  }
  return text;
}

function refuseTarget(check: AssignedCheck, { targets }: Policy): void {
  const type = findAgentType(check.type);
  if (targets === null || type === undefined) return;
  const address = targetAddressOf(type.type, definitionSchemaOf(type).parse(check.definition));
  if (address === 'unknown') {
    throw refused('the policy names targets, and the host of this check depends on variables');
  }
  const { certificateTarget } = check;
  const reached = [
    ...(address === 'own' ? [] : [address]),
    ...(certificateTarget === null ? [] : [certificateTarget]),
  ];
  for (const { host, port } of reached) {
    if (!targets(host, port)) throw refused(`the policy does not allow the target ${host}`);
  }
}

function refuseProxy({ proxyUrl }: AssignedCheck, { proxies }: Policy): void {
  if (proxyUrl === null) return;
  const address = addressOfProxy(proxyUrl) ?? 'that it cannot read';
  if (!proxies.includes(address)) throw refused(`the policy does not name the proxy ${address}`);
}

const pem = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** Fingerprints of certificates; what is no plain certificate would be trusted without being seen. */
function fingerprintsIn(text: string): string[] {
  const found = text.match(pem) ?? [];
  if (text.split('-----BEGIN').length - 1 !== found.length) {
    throw refused('a client certificate has parts that are none');
  }
  return found.map((one) => new X509Certificate(one).fingerprint256.replaceAll(':', ''));
}

function refuseCertificates({ clientCertificates }: AssignedCheck, policy: Policy): void {
  for (const { host, cert, ca } of clientCertificates) {
    const needed = [...fingerprintsIn(cert).slice(0, 1), ...fingerprintsIn(ca ?? '')];
    const unknown = needed.find((one) => !policy.certificates.includes(one));
    if (unknown === undefined && needed.length > 0) continue;
    throw refused(
      `the policy does not name the client certificate for ${host}, or an authority of it: ${unknown ?? 'it has none'}`,
    );
  }
}

function refuseByPolicy(check: AssignedCheck, policy: Policy): void {
  const { type, environment, definition } = check;
  if (policy.checkTypes?.some((allowed) => allowed === type) === false) {
    throw refused(`the policy does not allow checks of type ${type}`);
  }
  if (readsVariables(type)) {
    const hidden = environment.find(({ key, secret }) => secret && !isAllowed(policy.secrets, key));
    if (hidden !== undefined) throw refused(`the policy does not allow the secret ${hidden.key}`);
  }
  const { codeBundlePath: bundle } = definition;
  if (type === 'PLAYWRIGHT' && digestOfBundle(String(bundle)) === undefined) {
    throw refused('its code bundle is not named by its SHA-256; upload it again');
  }
  refuseTarget(check, policy);
  refuseProxy(check, policy);
  refuseCertificates(check, policy);
}

function isAllowed(allowed: readonly string[] | undefined, name: string): boolean {
  return allowed?.includes(name) ?? true;
}

/** Changes when the file is replaced, written or removed. Null for one that cannot be looked at. */
function stampOf(file: string): string | null {
  try {
    const { ino, size, mtimeMs, ctimeMs } = statSync(file);
    return [ino, size, mtimeMs, ctimeMs].join();
  } catch {
    return null;
  }
}

interface PolicyRead {
  stamp: string | null;
  read: Promise<Policy>;
  at: number;
  /** It failed for a reason that may pass, such as too many open files. */
  isWorthAnother: boolean;
}

export interface SignedWorkOptions {
  /** SIGNED_WORK_POLICY_FILE. */
  file: string;
  /** AGENT_DATA_DIR. */
  directory: string;
  clock: Pick<Clock, 'now'>;
  logger: Logger;
}

export class SignedWork {
  readonly #options: SignedWorkOptions;
  readonly #seen: SeenVersions;
  readonly #verified = new WeakMap<AssignedCheck, Verified>();
  #policy: PolicyRead;
  #refusals = { count: 0, lastAt: 0 };

  private constructor(options: SignedWorkOptions) {
    this.#options = options;
    this.#seen = new SeenVersions(options.directory);
    this.#policy = this.#read();
  }

  /**
   * Throws CONFIG_INVALID for a file that is no policy. One that cannot be read may come later, and everything
   * is refused until then.
   */
  static async open(options: SignedWorkOptions): Promise<SignedWork> {
    const opened = new SignedWork(options);
    try {
      await opened.#policy.read;
    } catch (error) {
      if (!(error instanceof PolicyProblem)) return opened;
      throw new AgentError(
        'CONFIG_INVALID',
        `SIGNED_WORK_POLICY_FILE ${options.file} cannot be used: ${error.message}`,
        { cause: error },
      );
    }
    return opened;
  }

  #read(): PolicyRead {
    const { file, logger, clock } = this.#options;
    // Before it is read: what comes between the two is read again.
    const stamp = stampOf(file);
    const read = readPolicy(file);
    const current = { stamp, read, at: clock.now(), isWorthAnother: false };
    read.then(
      ({ keys }) => {
        logger.info({ keys: [...keys.values()] }, 'only work runs that one of these keys signed');
      },
      (error: unknown) => {
        current.isWorthAnother = stamp !== null && !(error instanceof PolicyProblem);
        logger.error(
          { err: error },
          'the policy for signed work cannot be read, all work is refused',
        );
      },
    );
    return current;
  }

  async #current(): Promise<Policy> {
    const { file, clock } = this.#options;
    const { stamp, at, isWorthAnother } = this.#policy;
    // The clock may be set back.
    const isDue = isWorthAnother && Math.abs(clock.now() - at) >= minPauseMs;
    if (isDue || stampOf(file) !== stamp) this.#policy = this.#read();
    try {
      return await this.#policy.read;
    } catch (error) {
      throw refused(`its policy ${file} cannot be read, so that it refuses everything`, error);
    }
  }

  /** For `/health`: nothing that a stranger should not read. */
  get remarks(): Readonly<Record<string, string>> {
    const { count, lastAt } = this.#refusals;
    if (count === 0) return { signedWork: 'only signed work runs' };
    const last = new Date(lastAt).toISOString();
    return { signedWork: `only signed work runs; ${count} runs were refused, the last at ${last}` };
  }

  /** The check as it may run. Throws WORK_REFUSED with the reason in words. */
  async admit(work: Work): Promise<AssignedCheck> {
    try {
      return await this.#admit(work);
    } catch (error) {
      this.#refusals = { count: this.#refusals.count + 1, lastAt: this.#options.clock.now() };
      if (error instanceof AgentError) throw error;
      const isSsh = error instanceof SshProblem;
      throw refused(
        isSsh
          ? `the signature of the check cannot be used: ${error.message}`
          : 'the check could not be verified',
        error,
      );
    }
  }

  /** Whether the check may run, for work that is no run. */
  allows(work: Work): Promise<boolean> {
    return this.#admit(work).then(
      () => true,
      () => false,
    );
  }

  async #admit({ check: given, location, environmentUrl, source }: Work): Promise<AssignedCheck> {
    const policy = await this.#current();
    if (environmentUrl !== null) {
      throw refused('the run has an ENVIRONMENT_URL, which no signature covers');
    }
    if (source !== null && !sources.has(source)) {
      throw refused('the run has a source that this version does not know');
    }
    if (policy.location !== undefined && location !== policy.location) {
      throw refused(`it is of ${policy.location} by its policy, and not of ${location}`);
    }
    if (policy.accountId !== undefined && given.accountId !== policy.accountId) {
      throw refused('the check is of another account than its policy names');
    }
    const known = this.#verified.get(given);
    const verified = known?.policy === policy ? known : await this.#verify(given, policy);
    const { check, digest } = verified;
    if (!check.locations.includes(location)) {
      throw refused(`the check is signed for ${check.locations.join(', ')}, not for ${location}`);
    }
    const version = check.signature?.version ?? 0;
    if (!this.#seen.take(check.id, { version, digest })) {
      throw refused(
        `its signature has the version ${version}, and a newer one of this check was seen`,
      );
    }
    this.#verified.set(given, verified);
    return check;
  }

  async #verify(given: AssignedCheck, policy: Policy): Promise<Verified> {
    const check = signedAlone(given);
    const text = await requireSignature(check, policy);
    refuseByPolicy(check, policy);
    return { policy, check, digest: createHash('sha256').update(text).digest('base64url') };
  }
}
