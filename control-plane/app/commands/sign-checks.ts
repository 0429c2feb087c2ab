/** Signs the checks of a project by `ssh-keygen`, which knows passphrases, agents and security keys. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type {
  ProjectBody,
  ProjectChange,
  ProjectResource,
} from '@monitor/shared/contract/compatibility/projects.ts';
import { signatureNamespace, type WorkSignature } from '@monitor/shared/contract/work-signature.ts';
import { signedPartOf } from '@monitor/shared/signed-work/signed-part.ts';
import { readSshSignature, SshProblem } from '@monitor/shared/signed-work/ssh-signature.ts';
import { processEnvironment } from '../../core/environment.ts';
import { ApiError } from '../../errors/api-error.ts';
import { describeFailure, OperatorError } from '../../errors/operator-error.ts';
import { type CheckToSign, workToSign } from '../../projects/index.ts';
import type { AccountApi } from './account-api.ts';
import { note } from './output.ts';

const run = promisify(execFile);

/** What it needs to find keys and to ask for a passphrase. */
const environmentOfKeygen = (): NodeJS.ProcessEnv =>
  Object.fromEntries(
    Object.entries(processEnvironment).filter(([name]) =>
      /^(PATH|HOME|TERM|DISPLAY|SSH_.*)$/.test(name),
    ),
  );

const unchanged = '; nothing was changed';
/** A version that is far ahead would keep all later signatures from being taken. */
const maxAheadMs = 86_400_000;

async function keygen(
  keyFile: string,
  args: readonly string[],
  { input = '', ending = unchanged } = {},
): Promise<string> {
  try {
    const running = run('ssh-keygen', [...args], { env: environmentOfKeygen() });
    // It may end without reading; its status says why.
    running.child.stdin?.on('error', () => undefined).end(input);
    return (await running).stdout;
  } catch (error) {
    const { stderr = '' } = error as { stderr?: string };
    const reason = stderr.trim() === '' ? describeFailure(error) : stderr.trim();
    throw new OperatorError(`could not sign with ${keyFile}: ${reason}${ending}`, {
      cause: error,
    });
  }
}

/** `256 SHA256:… comment (ED25519)` */
async function fingerprintOf(keyFile: string): Promise<string> {
  const line = await keygen(keyFile, ['-l', '-f', keyFile]);
  return line.split(' ')[1] ?? '';
}

interface Account {
  id: string;
  runtimeId: string | null;
}

export class Signer {
  readonly #api: AccountApi;
  readonly #what: string;
  readonly #keyFile: string;
  readonly #checks: Map<string, CheckToSign>;
  /** Ids by logical id. */
  readonly #signed = new Map<string, string>();
  readonly #fingerprint: string;
  readonly #account: Account;
  /** That of the account, once it is known whether it has one. */
  #runtimeId: string | null | undefined;
  /** Of what it says when it fails. */
  #ending = unchanged;

  private constructor(
    api: AccountApi,
    what: string,
    { file, fingerprint, account }: { file: string; fingerprint: string; account: Account },
    checks: readonly CheckToSign[],
  ) {
    this.#api = api;
    this.#what = what;
    this.#keyFile = file;
    this.#fingerprint = fingerprint;
    this.#account = account;
    this.#checks = new Map(checks.map((check) => [check.logicalId, check]));
  }

  static async open(
    api: AccountApi,
    what: string,
    body: ProjectBody,
    file: string,
  ): Promise<Signer> {
    const key = { file, fingerprint: await fingerprintOf(file) };
    const account = await api.account(what);
    try {
      return new Signer(api, what, { ...key, account }, workToSign(body));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      throw new OperatorError(`could not ${what}: ${error.message}${unchanged}`);
    }
  }

  /**
   * The runtime that a check inherits: an account shows the newest one also where it leaves the choice to agents, so
   * the check is asked which of the two it is.
   */
  async #inherited(id: string): Promise<string | null> {
    const { text } = await this.#api.signedPart(this.#what, id);
    const { runtimeId = null } = JSON.parse(text) as { runtimeId?: string | null };
    return runtimeId === null ? null : this.#account.runtimeId;
  }

  async #textOf(
    check: CheckToSign,
    id: string,
    { version }: Pick<WorkSignature, 'version'>,
  ): Promise<string> {
    const ids = { id, accountId: this.#account.id };
    const runtime = (inherited: string | null) => check.work(ids, inherited).runtimeId;
    const depends = runtime(null) !== runtime(this.#account.runtimeId);
    if (depends && this.#runtimeId === undefined) this.#runtimeId = await this.#inherited(id);
    const text = signedPartOf(check.work(ids, this.#runtimeId ?? null), { version });
    if (text !== null) return text;
    throw new OperatorError(`could not ${this.#what}: check "${check.logicalId}" cannot be signed`);
  }

  async #isCurrent(check: CheckToSign, id: string, known: WorkSignature): Promise<boolean> {
    if (known.variables.toSorted().join('\n') !== check.variables.join('\n')) return false;
    const of = { text: await this.#textOf(check, id, known), namespace: signatureNamespace };
    try {
      const { fingerprint, isValid } = await readSshSignature(known.value, of);
      return isValid && fingerprint === this.#fingerprint;
    } catch (error) {
      if (error instanceof SshProblem) return false;
      throw error;
    }
  }

  async #sign(check: CheckToSign, id: string, above = 0): Promise<WorkSignature> {
    const now = Date.now();
    if (above >= now + maxAheadMs) {
      throw new OperatorError(
        `could not ${this.#what}: the control plane says that check "${check.logicalId}" has a signature with the version ${above}, which is more than a day from now; correct the clock of this machine, or sign the check by hand if the version is right${this.#ending}`,
      );
    }
    const version = Math.max(now, above + 1);
    const text = await this.#textOf(check, id, { version });
    const args = ['-q', '-Y', 'sign', '-n', signatureNamespace, '-f', this.#keyFile];
    const value = await keygen(this.#keyFile, args, {
      ...{ input: text, ending: this.#ending },
    });
    return { version, variables: check.variables, value };
  }

  /** The signature of a check that is there: the present one where it still holds. */
  async #signatureFor(check: CheckToSign, id: string): Promise<WorkSignature> {
    const known = await this.#api.signatureOf(this.#what, id);
    if (known !== null && (await this.#isCurrent(check, id, known))) return known;
    return this.#sign(check, id, known?.version);
  }

  /** The project with signatures of the checks that are there already. */
  async signKnown(
    body: ProjectBody,
    dryRun: (asked: ProjectBody) => Promise<ProjectChange>,
  ): Promise<ProjectBody> {
    // A signature that no check has changes each of them, so that the answer names their ids.
    const asked = { version: 1, variables: [], value: `none ${Date.now()}` };
    const withSignature = (resource: ProjectResource, signature: WorkSignature | undefined) =>
      signature === undefined || resource.payload === null
        ? resource
        : { ...resource, payload: { ...resource.payload, signature } };
    const isSigned = ({ type, logicalId }: Pick<ProjectResource, 'type' | 'logicalId'>) =>
      type === 'check' && this.#checks.has(logicalId);
    const { diff } = await dryRun({
      ...body,
      resources: body.resources.map((each) =>
        withSignature(each, isSigned(each) ? asked : undefined),
      ),
    });
    const signatures = new Map<string, WorkSignature>();
    for (const { action, logicalId, type, physicalId } of diff) {
      const check = this.#checks.get(logicalId);
      if (action !== 'UPDATE' || type !== 'check' || check === undefined) continue;
      const id = String(physicalId);
      signatures.set(logicalId, await this.#signatureFor(check, id));
      this.#signed.set(logicalId, id);
    }
    return {
      ...body,
      resources: body.resources.map((each) =>
        withSignature(each, isSigned(each) ? signatures.get(each.logicalId) : undefined),
      ),
    };
  }

  async #warnOfOthers(): Promise<void> {
    for (const [logicalId, id] of this.#signed) {
      if ((await this.#api.signedPart(this.#what, id)).state === 'VALID') continue;
      note(
        `warning: check "${logicalId}": the control plane has something else than these files, such as a snippet or a variable of the same name; agents that run only signed work refuse it`,
      );
    }
  }

  /**
   * Signs what was made, and says what agents will refuse all the same. Gives how many are signed, and why others are
   * not.
   */
  async signNew({
    diff,
  }: ProjectChange): Promise<{ count: number; problem: OperatorError | null }> {
    this.#ending = '';
    const made = diff.flatMap(({ action, logicalId, type, physicalId }) => {
      const check = this.#checks.get(logicalId);
      if (action !== 'CREATE' || type !== 'check' || check === undefined) return [];
      return [{ check, id: String(physicalId) }];
    });
    const unsigned = new Set(made.map(({ check }) => check.logicalId));
    for (const name of this.#checks.keys()) {
      if (this.#signed.has(name) || unsigned.has(name)) continue;
      note(
        `warning: check "${name}" is not signed: the control plane says neither that it made nor that it changed it`,
      );
    }
    try {
      for (const { check, id } of made) {
        await this.#api.sign(this.#what, check.type, id, await this.#sign(check, id));
        this.#signed.set(check.logicalId, id);
        unsigned.delete(check.logicalId);
      }
      await this.#warnOfOthers();
      return { count: this.#signed.size, problem: null };
    } catch (error) {
      if (!(error instanceof OperatorError)) throw error;
      const names = unsigned.size === 0 ? '' : `; not signed: ${[...unsigned].join(', ')}`;
      const text = `${error.message}; the change was made${names}. Run the command again to sign what is missing`;
      return { count: this.#signed.size, problem: new OperatorError(text, { cause: error }) };
    }
  }
}
