/**
 * Custom domains of status pages. A domain is served after its owner has proven it, by a TXT record
 * or by a CNAME record to a host below this installation. The operator may list domains that need
 * no proof.
 */
import { Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import { domainToASCII, domainToUnicode } from 'node:url';

/** DNS look-ups; empty without such a record. Rejects when the DNS does not answer. */
export interface DomainResolver {
  txt(name: string): Promise<readonly string[]>;
  cname(name: string): Promise<readonly string[]>;
}

const missing = new Set(['ENODATA', 'ENOTFOUND']);

async function orNone<T>(records: Promise<T[]>): Promise<T[]> {
  try {
    return await records;
  } catch (error) {
    if (error instanceof Error && 'code' in error && missing.has(String(error.code))) return [];
    throw error;
  }
}

/** The resolver of this machine. */
export function systemResolver(): DomainResolver {
  const resolver = new Resolver({ timeout: 2_000, tries: 2 });
  return {
    txt: async (name) => (await orNone(resolver.resolveTxt(name))).map((parts) => parts.join('')),
    cname: (name) => orNone(resolver.resolveCname(name)),
  };
}

/** A requested domain, and the text that proves it. */
export interface Claim {
  domain: string;
  challenge: string;
}

export interface Challenge {
  /** Name of the record. */
  name: string;
  /** Content of the TXT record. */
  txt: string;
  /** Target of the CNAME record; null when this installation has an IP address only. */
  cname: string | null;
}

/** Both spellings of a domain: `xn--mller-kva.example` and `müller.example`. */
export function formsOf(domain: string): string[] {
  return [...new Set([domain, domainToASCII(domain), domainToUnicode(domain)])].filter(
    (form) => form !== '',
  );
}

export class StatusPageDomains {
  readonly #resolver: DomainResolver;
  readonly #allowed: readonly string[];
  readonly #ownHosts: ReadonlySet<string>;
  readonly #host: string;

  /** `allowed` lists domains, or all subdomains with `*.`; `ownHosts` are hosts of the installation. */
  constructor(
    resolver: DomainResolver,
    allowed: readonly string[],
    publicUrl: string,
    ownHosts: readonly string[],
  ) {
    this.#resolver = resolver;
    this.#allowed = allowed;
    this.#host = new URL(publicUrl).hostname;
    this.#ownHosts = new Set([this.#host, ...ownHosts].map((host) => host.toLowerCase()));
  }

  /** True for hosts of the installation and for local host names. */
  isReserved(domain: string): boolean {
    return formsOf(domain).some(
      (form) => this.#ownHosts.has(form) || /(^|\.)localhost$/.test(form),
    );
  }

  /** True for a domain that the operator listed. */
  isAllowed(domain: string): boolean {
    return formsOf(domain).some((form) =>
      this.#allowed.some((one) =>
        one.startsWith('*.') ? form.endsWith(one.slice(1)) : form === one,
      ),
    );
  }

  challengeOf({ domain, challenge }: Claim): Challenge {
    return {
      name: `_monitor-challenge.${domainToASCII(domain)}`,
      txt: `monitor-challenge=${challenge}`,
      cname: isIP(this.#host.replace(/[[\]]/g, '')) === 0 ? `${challenge}.${this.#host}` : null,
    };
  }

  /** True when the DNS has the proof now. Rejects when it does not answer. */
  async isProven(claim: Claim): Promise<boolean> {
    const { name, txt, cname } = this.challengeOf(claim);
    if ((await this.#resolver.txt(name)).some((text) => text.trim() === txt)) return true;
    if (cname === null) return false;
    const targets = await this.#resolver.cname(name);
    return targets.some((target) => target.toLowerCase().replace(/\.$/, '') === cname);
  }
}
