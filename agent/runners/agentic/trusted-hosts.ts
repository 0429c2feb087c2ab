/**
 * Where a run may go and where it may type a secret. Text on a page is not trusted: it must be able
 * neither to send the browser somewhere with what it has read, nor to have a password typed there.
 *   - Until the first page is open nothing untrusted has reached the model: it may go anywhere.
 *   - Later it may open only hosts that the prompt names, the first host, or hosts that pages
 *     themselves led to.
 *   - Secrets are typed only on hosts that the prompt names, and on the first host.
 * A host includes its subdomains, and `www.` does not count: a prompt that says `example.com`
 * covers `login.example.com`.
 */
const hostPattern = /(?:https?:\/\/)?((?:[a-z0-9-]+\.)+[a-z0-9-]+|localhost|\[[0-9a-f:]+\])/gi;

function hostOf(url: string): string | null {
  return URL.canParse(url) ? new URL(url).hostname.toLowerCase() : null;
}

function covers(trusted: string, host: string): boolean {
  const base = trusted.replace(/^www\./, '');
  return host === base || host.endsWith(`.${base}`);
}

export class TrustedHosts {
  readonly #named = new Set<string>();
  readonly #visited = new Set<string>();

  /** `texts` are the prompt as the model reads it and the values of the variables it mentions. */
  constructor(texts: readonly string[]) {
    for (const text of texts) {
      for (const [, host = ''] of text.matchAll(hostPattern)) this.#named.add(host.toLowerCase());
      const host = hostOf(text);
      if (host !== null && host !== '') this.#named.add(host);
    }
  }

  /** Records where the browser is after an action. */
  visit(url: string, wasAskedFor: boolean): void {
    const host = hostOf(url);
    if (host === null || host === '') return;
    if (this.#visited.size === 0 && wasAskedFor) this.#named.add(host);
    this.#visited.add(host);
  }

  mayOpen(url: string): boolean {
    const host = hostOf(url);
    if (host === null) return false;
    return this.#visited.size === 0 || this.#visited.has(host) || this.#isNamed(host);
  }

  mayTypeSecret(url: string): boolean {
    const host = hostOf(url);
    return host !== null && this.#isNamed(host);
  }

  #isNamed(host: string): boolean {
    return [...this.#named].some((named) => covers(named, host));
  }
}
