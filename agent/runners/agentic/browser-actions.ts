/**
 * What both a model and a learned script do with the browser: values go into placeholders, the
 * rules of `trusted-hosts.ts` are kept, everything is written down.
 */
import type { RunnerContext } from '../runner.ts';
import type { BrowserSession, ToolAnswer } from './browser-session.ts';
import type { PromptVariables } from './prompt-variables.ts';
import type { Transcript } from './transcript.ts';
import type { TrustedHosts } from './trusted-hosts.ts';

type Input = Readonly<Record<string, unknown>>;

const refused = (problem: string): ToolAnswer => ({ ok: false, code: 'REFUSED', problem });

const maxActualChars = 1_000;

/** Around the place where a text stands, since a whole page says little. */
function shownActual(actual: string, expected: string): string {
  if (actual.length <= maxActualChars) return actual;
  const at = actual.toLowerCase().indexOf(expected.toLowerCase());
  const from = Math.max(0, at - 100);
  return actual.slice(from, from + (at < 0 ? maxActualChars : expected.length + 200));
}

export class BrowserActions {
  readonly #session: BrowserSession;
  readonly #variables: PromptVariables;
  readonly #hosts: TrustedHosts;
  readonly #transcript: Transcript;
  readonly #artifacts: RunnerContext['artifacts'];
  #url = 'about:blank';
  /** Hosts on which a secret was not typed, because the prompt does not name them. */
  readonly refusedHosts = new Set<string>();
  readonly manifest: Record<string, string> = {};

  constructor(parts: {
    session: BrowserSession;
    variables: PromptVariables;
    hosts: TrustedHosts;
    transcript: Transcript;
    artifacts: RunnerContext['artifacts'];
  }) {
    this.#session = parts.session;
    this.#variables = parts.variables;
    this.#hosts = parts.hosts;
    this.#transcript = parts.transcript;
    this.#artifacts = parts.artifacts;
  }

  /** Of the page that was looked at last. */
  get url(): string {
    return this.#url;
  }

  /** Does one thing. Placeholders in `input` stay in what is written down. */
  async perform(tool: string, input: Input): Promise<ToolAnswer> {
    const shown = withoutTargets(input);
    this.#transcript.call(tool, shown);
    const answer = await this.#carryOut(tool, input);
    this.#transcript.result(tool, shown, answer.ok ? withoutTargets(answer.output) : answer);
    return answer;
  }

  /** Keeps a picture of the page with the result. A page that cannot be pictured is no failure. */
  async screenshot(name: string): Promise<ToolAnswer> {
    this.#transcript.call('screenshot', { name });
    const answer = await this.#session.call('screenshot');
    const file = answer.ok ? await this.#session.fileOf(answer.output['file']) : null;
    if (file === null) return answer;
    const plain =
      name
        .toLowerCase()
        .replace(/[^a-z0-9]+/g, '-')
        .replace(/^-|-$/g, '') || 'page';
    await this.#keep(file, `screenshots/${plain}.png`, 'screenshot', 'image/png');
    this.#transcript.result('screenshot', { name }, { name: plain });
    return { ok: true, output: { kept: plain } };
  }

  /** Ends the browser; keeps its trace when asked to. */
  async close(keepTrace: boolean): Promise<void> {
    const trace = await this.#session.close(keepTrace);
    if (trace !== null) await this.#keep(trace, 'trace.zip', 'trace', 'application/zip');
  }

  async #keep(
    path: string,
    name: string,
    type: 'screenshot' | 'trace',
    contentType: string,
  ): Promise<void> {
    const reference = await this.#artifacts.add({ path, name, type, contentType });
    // A name that is taken gets a number: it stands in the reference.
    this.manifest[reference.startsWith('artifact:') ? reference.slice(9) : name] = reference;
  }

  async #carryOut(tool: string, input: Input): Promise<ToolAnswer> {
    const filled = await this.#fill(tool, input);
    if ('ok' in filled) return filled;
    const answer = await this.#session.call(tool, filled.input);
    if (tool === 'assert' && answer.ok) {
      const actual = shownActual(String(answer.output['actual']), String(input['expected']));
      return { ok: true, output: { ...answer.output, actual } };
    }
    const url = answer.ok ? answer.output['url'] : undefined;
    if (typeof url === 'string') {
      this.#url = url;
      this.#hosts.visit(url, tool === 'navigate');
    }
    return answer;
  }

  async #fill(
    tool: string,
    input: Input,
  ): Promise<ToolAnswer | { input: Record<string, unknown> }> {
    if (tool === 'navigate') {
      const { text: url, isSecret } = this.#variables.fill(String(input['url']));
      if (isSecret && !this.#hosts.mayTypeSecret(url)) return this.#refuseSecret(url);
      if (!this.#hosts.mayOpen(url)) {
        return refused(
          `${String(input['url'])} was refused: the check does not name this host, and no page has led there`,
        );
      }
      return { input: { url } };
    }
    if (tool === 'type') {
      const { text, isSecret } = this.#variables.fill(String(input['text']));
      if (isSecret) {
        // The field may be in a frame of another site.
        const { ref, target } = input;
        const place = await this.#session.call('where', { ref, target });
        if (!place.ok) return place;
        const url = String(place.output['url']);
        if (!this.#hosts.mayTypeSecret(url)) return this.#refuseSecret(url);
      }
      return { input: { ...input, text, isSecret } };
    }
    const texts = ['expected', 'text'].filter((key) => typeof input[key] === 'string');
    const values = texts.map((key) => [key, this.#variables.fill(String(input[key])).text]);
    return { input: { ...input, ...Object.fromEntries(values) } };
  }

  #refuseSecret(url: string): ToolAnswer {
    const host = URL.canParse(url) ? new URL(url).host : url;
    this.refusedHosts.add(host);
    return refused(
      `the secret was not typed: the check does not name ${host || 'this place'}; its prompt must, for secrets to be typed there`,
    );
  }
}

function withoutTargets(values: Input): Input {
  const { target, timeoutMs: _timeoutMs, snapshot, ...rest } = values;
  const title =
    typeof target === 'object' && target !== null && 'title' in target ? target.title : undefined;
  return {
    ...rest,
    ...(title === undefined ? {} : { element: title }),
    ...(typeof snapshot === 'string' ? { snapshot } : {}),
  };
}
